"""refine(): a few trees of a forest, with leaves refitted; shrink(): no fit at all."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from committee._typing import RandomState
from committee.calibration import check_method
from committee.combiners import Average
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.ensembles import Roster, roster_of
from committee.ensembles.member_features import OnColumns
from committee.pruning.assessment import learn
from committee.pruning.pruned import PrunedClassifier, PrunedRegressor, recipe_of
from committee.pruning.refined_sizes import (
    Kept,
    Limits,
    check_trees,
    checked_limits,
    kept_of,
    refine_kept,
    refuse_chunks,
)
from committee.pruning.refiner import assembled, nodes_of
from committee.pruning.seen_rows import Oob, check_oob
from committee.refining import shrunk_values


def refine(
    ensemble: Any,
    X: Any,
    y: Any,
    *,
    max_members: int | None = None,
    max_leaves: int | None = None,
    max_bytes: float | None = None,
    tolerance: float | None = None,
    oob: Oob = "auto",
    sample_weight: Any = None,
    calibration: str | None = "slope",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return some trees of an ensemble, with fewer leaves and better values in them.

        f(x) = sum_m c_{m, leaf_m(x)},   c0 = w_m v_ml,
        c = argmin sum_n |t_n - a_n sum_{m: n not seen} c_{m, leaf_m(x_n)}|^2
                 + mu sum_s |T(x_s) - sum_m c_{m, leaf_m(x_s)}|^2 + lambda |c - c0|^2

    What a few trees of a forest lack is not better splits but better leaves. Subtrees of
    few rows become leaves, those of classes that hardly differ are merged, and
    the values of all leaves are fitted together: on rows that
    a tree has not seen, with a_n so that these stand for all, or on all rows. For numbers
    t = y. For classes the whole ensemble T is a teacher: on made-up rows, four for each row
    and 20,000 at most, and on the rows themselves, where t is a mean of the label and of
    T's out-of-bag output. The cut, lambda, the rows and the part of the labels are chosen
    on honest rows: judged by trees that did not see them, with values and a teacher that
    did not either. Trees of classes stay as they are where refining clearly makes more
    errors.

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
        Trees to keep: those of the largest weight; where weights are equal, one after the
        other that which lowers the squared error of their mean the most. All unless given.
    max_leaves : int, optional
        Leaves of all kept trees together. Subtrees whose refined values differ least go
        first.
    max_bytes : float, optional
        Bytes of the pickled committee. Sizes of 5, 10, 20, 40, 80 trees, up to
        `max_members`, are cut to it, and the one of least error on honest rows is taken.
    tolerance : float, optional
        Take the committee of fewest bytes whose error on honest rows is at most
        1 + tolerance times that of the whole ensemble. The same sizes are tried, smallest
        first, then fewer leaves of the first that is good enough; ValueError where none is.
    oob : bool or "auto", default="auto"
        As in `prune`: True for the rows that the ensemble was trained on, in their order.
    sample_weight : array-like of shape (N,), optional
    calibration : {"slope", "vector"} or None, default="slope"
        Of class probabilities, on the same honest rows: see `prune`.
    n_jobs : int, optional
        Members that predict at the same time, now and in the committee.
    random_state : int, RandomState or None
        Of the made-up rows.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        Of plain trees, so that `to_sklearn`, `to_onnx` and `save` work as for any other.
        `support_` are the numbers of the trees in the ensemble. `summary()` has errors
        and costs before and after; `summary().refinement.path` has the sizes that were
        tried. `predict_interval` and `predict_set` use the same held-out rows. Classes of a leaf sum to one, but
        single values may be below zero: probabilities are cut there and calibrated, for
        which `to_sklearn` puts the forest into a `CalibratedClassifierCV`; with
        `calibration=None` it is a plain forest, whose probabilities are not cut. A clone
        trains the ensemble again and refines it in the same way.

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
    refuse_chunks(X, y)
    check_method(calibration)
    kept = kept_of(ensemble)
    limits = Limits(max_members, max_leaves, max_bytes, tolerance)
    limits = checked_limits(limits, len(kept.members))
    small, note = refine_kept(
        *(kept, _template(kept, X, limits, n_jobs, calibration), X, y),
        limits=limits,
        oob=check_oob(oob),
        sample_weight=sample_weight,
        random_state=random_state,
    )
    if note:
        warnings.warn(note, UserWarning, stacklevel=2)
    made: CommitteeClassifier | CommitteeRegressor = small
    return made


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
    w = check_trees(ensemble, roster)
    template = _averaging(ensemble, roster, None, n_jobs)
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


def _template(
    kept: Kept, X: Any, limits: Limits, n_jobs: int | None, calibration: str | None
) -> Any:
    """Return a committee that knows its labels and columns; a clone of it refines."""
    if kept.template is None:
        made = _averaging(kept.whole, kept.roster, X, n_jobs)
    else:
        made = copy.copy(kept.template)
        made.n_jobs = n_jobs
        made.roster_ = replace(made.roster_, link="mean")
    if kept.roster.classes is not None:
        made.calibration = calibration
    if isinstance(made, (PrunedClassifier, PrunedRegressor)):
        made.set_params(refine=True, **limits._asdict())
    return made


def _averaging(ensemble: Any, roster: Roster, X: Any, n_jobs: int | None) -> Any:
    """Return a committee that knows its labels and columns, and takes the mean."""
    made = recipe_of(ensemble, roster, combiner=Average(), scoring=None, n_jobs=n_jobs)
    learn(made, ensemble, roster, X, Average())
    return made
