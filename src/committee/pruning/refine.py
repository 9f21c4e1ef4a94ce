"""refine(): a few trees of a forest, with leaves refitted; shrink(): no fit at all."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray, RandomState
from committee.calibration import check_method
from committee.combiners import Average
from committee.distributed import refuse_dask
from committee.ensembles import Roster, roster_of
from committee.ensembles.column_subsets import OnColumns
from committee.ensembles.forests import is_tree
from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.pruning.keep import learn
from committee.pruning.oob_choice import Oob, check_oob
from committee.pruning.pruning_data import PruningData
from committee.pruning.recipe import recipe_of
from committee.pruning.refined_trees import assembled, nodes_of, refined
from committee.refining import shrunk_values


def refine(
    ensemble: Any,
    X: Any,
    y: Any,
    *,
    max_members: int | None = None,
    max_leaves: int | None = None,
    oob: Oob = "auto",
    sample_weight: Any = None,
    calibration: str | None = "slope",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return some trees of an ensemble, with fewer leaves and better values in them.

        f(x) = sum_m c_{m, leaf_m(x)},   c0 = w_m v_ml,
        c = argmin sum_n |y_n - a_n sum_{m: n not seen} c_{m, leaf_m(x_n)}|^2
                 + mu sum_s |T(x_s) - sum_m c_{m, leaf_m(x_s)}|^2 + lambda |c - c0|^2

    What a few trees of a forest lack is not better splits but better leaves. Subtrees of
    few rows become leaves, and the values of all leaves are fitted together: on rows that
    a tree has not seen, with a_n so that these stand for all, or on all rows. For classes
    the whole ensemble T is a teacher on made-up rows, four for each row and 20,000 at
    most, and settings are fixed. For numbers the cut, lambda and the rows are chosen on
    honest rows: judged by trees that did not see them, with values fitted without them.

    Parameters
    ----------
    ensemble : fitted ensemble of decision trees
        RandomForest*, ExtraTrees*, Bagging* of trees, a committee of trees, or a Pipeline
        or search around one. A committee that `prune` has just returned is refined
        with the ensemble that it came from as the teacher.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows as for `prune`. Sparse rows are refined without a teacher.
    y : array-like of shape (N,)
    max_members : int, optional
        Trees to keep: those of the largest weight, the first where weights are equal. All
        unless given.
    max_leaves : int, optional
        Leaves of all kept trees together. Subtrees whose refined values differ least go
        first.
    oob : bool or "auto", default="auto"
        As in `prune`: True for the rows that the ensemble was trained on, in their order.
    sample_weight : array-like of shape (N,), optional
    calibration : {"slope", "vector"} or None, default="slope"
        Of class probabilities, as in `prune`, on outputs of trees that have not seen a row,
        with values that were fitted without it.
    n_jobs : int, optional
        Members that predict at the same time, now and in the committee.
    random_state : int, RandomState or None
        Of the made-up rows.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        Of plain trees, so that `to_sklearn`, `to_onnx` and `save` work as for any other.
        `support_` are the numbers of the trees in the ensemble, `refinement_` is what
        refining cost and gained; it prints as a table. Classes of a leaf sum to one, but
        single values may be below zero: probabilities are cut there and calibrated, for
        which `to_sklearn` puts the forest into a `CalibratedClassifierCV`. A clone
        trains the ensemble again and keeps all of it, as it is.

    See Also
    --------
    prune : Choose members; `refine=True` refines them.
    shrink : Shrink leaves without a fit.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from committee import refine
    >>> X, y = make_friedman1(1200, random_state=0)
    >>> forest = RandomForestRegressor(100, random_state=0).fit(X[:600], y[:600])
    >>> small = refine(forest, X[:600], y[:600], max_members=10, oob=True)
    >>> small.n_members_
    10
    >>> small.score(X[600:], y[600:]) > forest.score(X[600:], y[600:])
    True
    """
    _refuse_chunks(X, y)
    check_method(calibration)
    whole, roster, members, w = _kept(ensemble, max_members)
    _check_max_leaves(max_leaves, len(members))
    template = _averaging(whole, roster, X, n_jobs, calibration)
    data = PruningData(
        whole, roster, template, check_oob(oob), False, X, y, sample_weight
    )
    small: CommitteeClassifier | CommitteeRegressor
    small = refined(data, members, w, max_leaves=max_leaves, random_state=random_state)
    if data.note:
        warnings.warn(data.note, UserWarning, stacklevel=2)
    return small


def shrink(
    ensemble: Any, *, strength: float = 10.0, n_jobs: int | None = None
) -> CommitteeClassifier | CommitteeRegressor:
    """Return an ensemble of trees after hierarchical shrinkage, which needs no rows.

        v'_t = v'_parent + (v_t - v_parent) / (1 + strength / n_parent)

    Parameters
    ----------
    ensemble : fitted ensemble of decision trees
        As for `refine`.
    strength : float, default=10.0
        In rows; 0 changes nothing.
    n_jobs : int, optional
        Members that predict at the same time.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor

    See Also
    --------
    refine : Fit the values of leaves, and cut subtrees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from committee import shrink
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X[:300], y[:300])
    >>> shrunk = shrink(forest)
    >>> shrunk.score(X[300:], y[300:]) > forest.score(X[300:], y[300:])
    True
    """
    if not 0 <= strength < np.inf:
        raise ValueError(
            f"strength must be a number of rows, 0 or more. Got {strength}."
        )
    roster = roster_of(ensemble)
    w = _check_trees(ensemble, roster)
    template = _averaging(ensemble, roster, None, n_jobs, None)
    nodes = nodes_of(roster, roster.members)
    values = shrunk_values(nodes, strength)
    made: CommitteeClassifier | CommitteeRegressor
    every, width = np.arange(len(w)), _width(template, roster)
    made = assembled(template, nodes, every, w, values, nodes.leaf, width)
    return made


def _width(template: Any, roster: Roster) -> int:
    """Return the number of columns that the members see, each some or all of them."""
    if roster.transformer is None and hasattr(template, "n_features_in_"):
        return int(template.n_features_in_)
    whole = [m.n_features_in_ for m in roster.members if not isinstance(m, OnColumns)]
    if whole:
        return int(whole[0])
    return 1 + max(int(np.max(member.columns)) for member in roster.members)


def check_refinable(ensemble: Any, roster: Roster, X: Any, y: Any) -> None:
    """Refuse, before any work, what `refine` would refuse after it."""
    _refuse_chunks(X, y)
    _check_trees(ensemble, roster)


def _refuse_chunks(X: Any, y: Any) -> None:
    refuse_dask(
        "refine takes rows in memory. Give a sample of the collections, computed.", X, y
    )


def _averaging(
    ensemble: Any, roster: Roster, X: Any, n_jobs: int | None, calibration: str | None
) -> Any:
    """Return a committee that knows its labels and columns, and takes the mean."""
    made = recipe_of(
        *(ensemble, roster),
        combiner=Average(),
        scoring=None,
        n_jobs=n_jobs,
        calibration=calibration,
    )
    learn(made, ensemble, roster, X, Average())
    return made


def _kept(ensemble: Any, max_members: Any) -> tuple[Any, Roster, IntArray, FloatArray]:
    """Return the whole ensemble, its roster, the members to keep and their weights."""
    whole, roster = ensemble, roster_of(ensemble)
    path = getattr(ensemble, "path_", None)
    before = None if path is None else path.assessment.before
    w = _check_trees(ensemble, roster)
    members = np.arange(len(w))
    if before is not None:  # just pruned: the whole is known, and its rows are
        whole, roster = before
        members = np.asarray(ensemble.support_)
        _check_trees(whole, roster)
    if max_members is None:
        return whole, roster, members, w
    if not isinstance(max_members, Integral) or max_members < 1:
        raise ValueError(
            f"max_members must be a whole number, 1 or more. Got {max_members!r}."
        )
    kept = np.sort(np.argsort(-np.abs(w), kind="stable")[:max_members])
    return whole, roster, members[kept], w[kept] * (w.sum() / w[kept].sum())


def _check_trees(ensemble: Any, roster: Roster) -> FloatArray:
    """Return the weights of the members, which must be trees that are averaged."""
    if not all(map(is_tree, roster.members)):
        others = sorted({type(m).__name__ for m in roster.members if not is_tree(m)})
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined: give a "
            "RandomForest*, ExtraTrees*, Bagging* of trees, or a committee of trees. Got "
            f"members of the kind {', '.join(others)}."
        )
    if getattr(ensemble, "gate_", None) is not None:
        raise ValueError(
            "Leaves are refitted for trees whose weights are the same everywhere. This "
            "committee has a gate; refine the ensemble first, then call with_gate."
        )
    if roster.weights is None or roster.votes != "soft":
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined. Those of "
            f"a {type(ensemble).__name__} have one vote each; use prune."
        )
    return roster.weights


def _check_max_leaves(max_leaves: int | None, k: int) -> None:
    if max_leaves is not None and max_leaves < k:
        raise ValueError(
            f"{k} trees have at least {k} leaves. Got max_leaves={max_leaves}; give "
            "max_members too, or more leaves."
        )
