"""Probabilities that are no means, as the curves of a `CalibratedClassifierCV`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

from committee._typing import FloatArray
from committee._validation import calibrated_classifier

#: Of a line between two points of a curve, and how often points are put between them.
_ERROR, _MOST_ROUNDS = 1e-6, 30


def with_curves(model: Any, committee: Any) -> CalibratedClassifierCV:
    """Return the model of means s with the committee's probabilities of them.

    Of two classes p is a function of s_1; of more it is p_k ~ c_k(s_k).
    """
    frozen = FrozenEstimator(model)
    calibrated = CalibratedClassifierCV(frozen, method="isotonic", ensemble=False)
    calibrated.classes_ = model.classes_
    calibrated.calibrated_classifiers_ = [
        calibrated_classifier(frozen, _curves(committee), model.classes_)
    ]
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(calibrated, name, getattr(model, name))
    return calibrated


def _curves(committee: Any) -> list[IsotonicRegression]:
    """Return one curve for two classes, or one for each."""
    K, total = len(committee.classes_), float(committee.weights_.sum())
    ends = _ends(committee)
    if K > 2:
        return [_curve(partial(_of_class, committee, k, total), ends) for k in range(K)]

    def second(s: FloatArray) -> FloatArray:
        p: FloatArray = committee._probabilities(total * np.column_stack([1 - s, s]))
        return p[:, 1]

    return [_curve(second, ends)]


def _ends(committee: Any) -> tuple[float, float]:
    """Return the least and the largest mean: beyond 0 and 1 for refined leaves only."""
    if not hasattr(committee, "refined_"):
        return 0.0, 1.0
    values = [tree.tree_.value for tree in committee.members_]
    w = committee.weights_ / committee.weights_.sum()
    low, high = (w @ [end(v) for v in values] for end in (np.min, np.max))
    return min(0.0, float(low)), max(1.0, float(high))


def _of_class(committee: Any, k: int, total: float, s: FloatArray) -> FloatArray:
    """Return c_k(s), (n,)."""
    found = committee.calibration_
    slopes = np.broadcast_to(found.slope, len(committee.classes_))
    offsets = np.zeros(len(slopes)) if found.offset is None else found.offset
    if found.floor is not None:
        z, largest = np.log(np.maximum(s, found.floor)), offsets.max()
    else:
        z, largest = total * s, np.max(total * slopes + offsets)
    return np.asarray(np.exp(slopes[k] * z + offsets[k] - largest))


def _curve(
    p: Callable[[FloatArray], FloatArray], ends: tuple[float, float]
) -> IsotonicRegression:
    """Return p(s) as lines between points, with more of them where it bends."""
    s = np.union1d(np.linspace(0.0, 1.0, 65), ends)
    for _ in range(_MOST_ROUNDS):
        middle = (s[1:] + s[:-1]) / 2
        known = p(s)
        off = np.abs(p(middle) - (known[1:] + known[:-1]) / 2) > _ERROR / 2
        if not off.any():
            break
        s = np.sort(np.concatenate([s, middle[off]]))
    return IsotonicRegression(out_of_bounds="clip").fit(s, p(s))
