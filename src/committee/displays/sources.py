"""Where the numbers of a display come from: fitted committees and combiners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from committee._typing import FloatArray, IntArray
from committee._validation import check_predictions, check_targets
from committee.combiners import Combiner, EPPruner
from committee.displays.measures import Measure, error_of, measure_of
from committee.ensembles import roster_of
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
    if not isinstance(estimator, (list, tuple)):
        check_is_fitted(estimator)
    return getattr(estimator, "combiner_", None)


def kind_of(estimator: Any) -> str:
    """Return a committee and its combiner in words, for an error."""
    combiner = combiner_of(estimator)
    if combiner is None:
        return f"{type(estimator).__name__} without a combiner"
    return type(combiner).__name__


def fit_combiner(
    combiner: Combiner | None, F: Any, y: Any, held_out: Any, sample_weight: Any
) -> Combiner:
    """Return a fitted copy of the combiner, an `EPPruner` unless given."""
    fresh: Combiner = EPPruner() if combiner is None else clone(combiner)
    return fresh.fit(F, y, held_out=held_out, sample_weight=sample_weight)


def predictions_of(
    estimator: Any, X: Any, y: Any
) -> tuple[FloatArray, FloatArray | IntArray]:
    """Return F of the members on X, and y as the codes or floats that go with it."""
    y = column_or_1d(y)
    F = member_predictions(estimator, X)
    if F.ndim == 2:
        return F, y.astype(np.float64)
    return F, codes_of(classes_of(estimator), y)


def classes_of(estimator: Any) -> Any:
    """Return the classes on the last axis of F."""
    if hasattr(estimator, "classes_"):
        return estimator.classes_
    return roster_of(estimator).classes


def codes_of(classes: Any, y: Any) -> IntArray:
    """Return where the labels stand among the classes, or name a stranger."""
    position = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    labels = np.asarray(y).tolist()
    strange = [label for label in labels if label not in position]
    if strange:
        raise ValueError(
            f"y has the label {strange[0]!r}, which is not among the classes "
            f"{list(position)[:10]} of the ensemble."
        )
    return np.array([position[label] for label in labels], dtype=np.intp)


def weights_of(estimator: Any) -> FloatArray | None:
    """Return the weights of an ensemble; None where it does not average."""
    if hasattr(estimator, "weights_"):
        weights: FloatArray = estimator.weights_
        return weights
    return roster_of(estimator).weights


def path_errors(
    path: Any, F: Any, y: Any, measure: Measure | None = None
) -> FloatArray:
    """Return the error of every committee of a path on other rows.

    Parameters
    ----------
    path : path
        Of EP, of a greedy or ordering pruner, or of a pruned committee.
    F : array of shape (N, M) or (N, M, K)
        Predictions of all members that the path was made from.
    y : array of shape (N,)
    measure : Measure, optional
        What the error is: that of the path unless given.

    Returns
    -------
    error : array of shape (steps,)
    """
    F = check_predictions(F)
    y = check_targets(F, y)
    measure = measure_of(path) if measure is None else measure
    if hasattr(path, "order"):
        return _ordered_errors(path, F, y)
    return measure.errors(F, y, list(_steps(path, F.shape[1])))


def _ordered_errors(path: Any, F: FloatArray, y: Any) -> FloatArray:
    """Return the errors of the first 1, 2, ... members, which vote as equals."""
    _check_width(path.n_members, F.shape[1])
    total = np.zeros_like(F[:, 0])
    errors = np.empty(len(path.order))
    for k, m in enumerate(path.order):
        total += F[:, m]
        errors[k] = error_of(total / (k + 1), y)
    return errors


def _steps(path: Any, width: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the members and the weights of every committee."""
    if hasattr(path, "weights"):
        _check_width(path.weights.shape[1], width)
        for w in path.weights:
            m = np.flatnonzero(w)
            equal = getattr(path, "equal_votes", False)
            yield m, np.full(len(m), 1.0 / len(m)) if equal else w[m]
    else:
        _check_width(1 + max(step.members.max() for step in path.steps), width)
        yield from ((step.members, step.weights) for step in path.steps)


def _check_width(n_members: int, width: int) -> None:
    """Refuse predictions of fewer members than the path has."""
    if width < n_members:
        raise ValueError(
            f"The path goes through {n_members} members, and the test error needs the "
            f"predictions of all of them. Got those of {width}: pass F_test of the "
            "whole ensemble to from_path."
        )
