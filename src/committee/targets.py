"""What targets of a committee may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from committee._typing import FloatArray

#: Types of None and of the missing values of pandas, which may not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}


def require_y(estimator: BaseEstimator, y: Any) -> None:
    """Refuse to be fitted without targets."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but "
            "the target y is None."
        )


def labels_of(y: Any) -> Any:
    """Return y as a 1-D array of labels."""
    y = _finite(y)
    check_classification_targets(y)
    return y


def numbers_of(y: Any) -> FloatArray:
    """Return y as a 1-D array of finite numbers."""
    return _finite(y).astype(np.float64)  # type: ignore[no-any-return]


def _finite(y: Any) -> Any:
    """Return y as a 1-D array of values that are all there."""
    y = without_missing(y)
    assert_all_finite(y, input_name="y")
    return y


def without_missing(y: Any) -> Any:
    """Return y as a 1-D array; None is no label."""
    y = column_or_1d(y, warn=True)
    if y.dtype == object and any(type(label).__name__ in _MISSING for label in y):
        raise ValueError("Input y contains None: drop or fill rows without a target.")
    return y


def at_least_two(classes: Any) -> Any:
    """Refuse a classification of nothing."""
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs at least 2 classes in y. Got 1 class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes
