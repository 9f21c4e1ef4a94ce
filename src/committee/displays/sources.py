"""Where the numbers of a display come from: fitted committees and combiners."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from committee._typing import FloatArray, IntArray
from committee._validation import label_codes
from committee.combiners import Combiner
from committee.combiners.by_name import as_combiner
from committee.ensembles import roster_of
from committee.path import Path
from committee.predictions import member_predictions


def core_of(ensemble: Any) -> Any:
    """Return the ensemble itself, without the pipeline or the search around it."""
    while True:
        if isinstance(ensemble, Pipeline):
            ensemble = ensemble[-1]
        elif hasattr(ensemble, "best_estimator_"):
            ensemble = ensemble.best_estimator_
        else:
            return ensemble


def combiner_of(estimator: Any) -> Any:
    """Return the fitted combiner of a committee, or the combiner itself, or None."""
    if isinstance(estimator, Combiner):
        check_is_fitted(estimator, "weights_")
        return estimator
    if not isinstance(estimator, (list, tuple, dict)):
        check_is_fitted(estimator)
    return getattr(estimator, "combiner_", None)


def path_of(core: Any) -> Path | None:
    """Return the path of a pruned committee, or of its combiner, None without one."""
    path = getattr(core, "path_", None)
    if path is None:
        path = getattr(getattr(core, "combiner_", None), "path_", None)
    return path


def numbers_of(estimator: Any, n_members: int) -> IntArray:
    """Return the numbers of the members among all that were trained or pruned from."""
    numbers: IntArray = getattr(estimator, "support_", np.arange(n_members))
    return numbers


def kind_of(estimator: Any) -> str:
    """Return the names of a committee and its combiner, for an error."""
    combiner = combiner_of(estimator)
    if combiner is None:
        return f"{type(estimator).__name__} without a combiner"
    return type(combiner).__name__


def fit_combiner(
    combiner: Combiner | str | None, F: Any, y: Any, held_out: Any, sample_weight: Any
) -> Combiner:
    """Return a fitted copy of the combiner, an `EPPruner` unless given."""
    fresh: Combiner = clone(as_combiner("ep" if combiner is None else combiner))
    return fresh.fit(F, y, held_out=held_out, sample_weight=sample_weight)


def predictions_of(
    estimator: Any, X: Any, y: Any
) -> tuple[FloatArray, FloatArray | IntArray]:
    """Return F of the members on X, and y as the codes or floats that go with it."""
    y = column_or_1d(y)
    F = member_predictions(estimator, X)
    if F.ndim == 2:
        return F, y.astype(np.float64)
    return F, label_codes(y, classes_of(estimator))


def classes_of(estimator: Any) -> Any:
    """Return the classes on the last axis of F."""
    if hasattr(estimator, "classes_"):
        return estimator.classes_
    return roster_of(estimator).classes


def weights_of(estimator: Any) -> FloatArray | None:
    """Return the weights of an ensemble; None where it does not average."""
    if hasattr(estimator, "weights_"):
        weights: FloatArray = estimator.weights_
        return weights
    return roster_of(estimator).weights
