"""Weights, paths, names and predictions of fitted committees and combiners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from committee._typing import FloatArray, IntArray
from committee._validation import label_codes
from committee.combiners import Combiner
from committee.ensembles import Roster, roster_of
from committee.path import Path
from committee.predictions import member_predictions, predict_members


def core_of(ensemble: Any) -> Any:
    """Return the ensemble itself, without the pipeline or the search around it."""
    while True:
        if isinstance(ensemble, Pipeline):
            ensemble = ensemble[-1]
        elif hasattr(ensemble, "best_estimator_"):
            ensemble = ensemble.best_estimator_
        else:
            return ensemble


def gate_weights_of(ensemble: Any, X: Any) -> FloatArray | None:
    """Return the weights G (N, M) of a gated committee or a mixture on the rows of X.

    The ensemble may be inside a pipeline or a search. None if it has no gate.
    """
    if getattr(core_of(ensemble), "gate_", None) is None:
        return None
    if isinstance(ensemble, Pipeline):
        X = ensemble[:-1].transform(X) if len(ensemble) > 1 else X
        return gate_weights_of(ensemble[-1], X)
    if hasattr(ensemble, "best_estimator_"):
        return gate_weights_of(ensemble.best_estimator_, X)
    G: FloatArray = ensemble.gate_weights(X)
    return G


def combiner_of(estimator: Any) -> Any:
    """Return the fitted combiner of a committee, or the combiner itself, or None."""
    if isinstance(estimator, Combiner):
        check_is_fitted(estimator, "weights_")
        return estimator
    if not isinstance(estimator, (list, tuple, dict)):
        check_is_fitted(estimator)
    return getattr(estimator, "combiner_", None)


def path_of(core: Any) -> Path | None:
    """Return the path of a pruned committee or of its combiner; None without one."""
    path = getattr(core, "path_", None)
    if path is None:
        path = getattr(getattr(core, "combiner_", None), "path_", None)
    return path


def numbers_of(estimator: Any, n_members: int) -> IntArray:
    """Return the numbers of the members among all that were trained or pruned from."""
    numbers: IntArray = getattr(estimator, "support_", np.arange(n_members))
    return numbers


def known_names(core: Any) -> Any:
    """Return the names of all members that were trained or pruned from, or None."""
    combiner = core if isinstance(core, Combiner) else getattr(core, "combiner_", None)
    if combiner is None:
        return roster_of(core).names
    of_columns = getattr(combiner, "feature_names_in_", None)
    return getattr(combiner, "member_names_", of_columns)


def member_names(core: Any, n_members: int) -> list[str]:
    """Return the name of each member, or its number if it has no name."""
    known = known_names(core)
    numbers = numbers_of(core, n_members).tolist()
    return [str(m if known is None else known[m]) for m in numbers]


def known_members(core: Any, roster: Roster) -> tuple[IntArray, Roster]:
    """Return the numbers of all available members, and their roster.

    The result of `prune` itself still has the members that pruning left out; they have
    weight zero here. A copy or a file has the members of the committees it can make.
    `roster` is the roster of the committee, or of a pipeline around it.
    """
    numbers = numbers_of(core, len(roster))
    source = getattr(getattr(core, "path_", None), "assessment", None)
    if source is None:
        return numbers, roster
    everyone = source.members_by_number
    everyone |= dict(zip(numbers.tolist(), roster.members, strict=True))
    known = np.array(sorted(everyone))
    w = np.zeros(len(known))
    w[np.searchsorted(known, numbers)] = roster.weights
    members, names = [everyone[m] for m in known], known_names(core)
    if names is not None:
        names = [str(names[m]) for m in known]
    return known, replace(roster, members=members, weights=w, names=names)


def predictions_of(
    estimator: Any, X: Any, y: Any
) -> tuple[FloatArray, FloatArray | IntArray]:
    """Return F of the members on X, and y as class codes or floats."""
    y = column_or_1d(y)
    F = member_predictions(estimator, X)
    classes = getattr(estimator, "classes_", None)
    if classes is None and F.ndim == 3:
        classes = roster_of(estimator).classes
    return F, _targets(y, classes)


def _targets(y: Any, classes: Any) -> FloatArray | IntArray:
    """Return y (N,) as class codes, or as floats for regression."""
    return y.astype(np.float64) if classes is None else label_codes(y, classes)


def all_predictions_of(
    estimator: Any, X: Any, y: Any
) -> tuple[IntArray, FloatArray, FloatArray | IntArray]:
    """Return the numbers of all available members, their F on X, and y as codes or floats.

    See `known_members`.
    """
    core, own = core_of(estimator), roster_of(estimator)
    numbers, roster = known_members(core, own)
    if len(roster) == len(own):
        return numbers, *predictions_of(estimator, X, y)
    X = core._check_X(X, reset=False) if estimator is core else X
    F = predict_members(roster, roster.prepared(X), n_jobs=core.n_jobs)
    return numbers, F, _targets(column_or_1d(y), roster.classes)


def weights_of(estimator: Any) -> FloatArray | None:
    """Return the weights of an ensemble; None if it does not average its members."""
    if getattr(estimator, "gate_", None) is None and hasattr(estimator, "weights_"):
        weights: FloatArray = estimator.weights_
        return weights
    return roster_of(estimator).weights
