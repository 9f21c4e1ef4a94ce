"""refine(): a few trees of a forest, with leaves refitted."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

from committee._typing import RandomState
from committee.calibration import check_method
from committee.combiners import Average
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.ensembles import Roster
from committee.pruning.assessment import learn
from committee.pruning.pruned import PrunedClassifier, PrunedRegressor, recipe_of
from committee.pruning.refined_sizes import (
    Kept,
    Limits,
    checked_limits,
    kept_of,
    refine_kept,
    refuse_chunks,
)
from committee.pruning.seen_rows import Oob, check_oob


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
    verbose: bool = False,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return some trees of an ensemble, with fewer leaves and better values in them.

        f(x) = sum_m c_{m, leaf_m(x)},   c0 = w_m v_ml,
        c = argmin sum_n |t_n - sum_m c_{m, leaf_m(x_n)}|^2
                 + mu sum_s |T(x_s) - sum_m c_{m, leaf_m(x_s)}|^2 + lambda |c - c0|^2

    A few trees of a forest have good splits but poor leaf values. Subtrees with few
    rows become leaves, subtrees whose class probabilities hardly differ are merged, and
    the values of all leaves are fitted together.

    * Targets: t = y for numbers. For classes the whole ensemble T is a teacher. It
      labels generated rows, twelve for each row and at most 60,000 (a third of these
      while settings are compared), and t is a mean of the label and the out-of-bag
      output of T.
    * Cut, lambda and the share of the labels are chosen by the error on held-out rows:
      trees, leaf values and teacher that predict a row were fitted without it.

    If refining increases the held-out error, the trees are returned unrefined. The
    reported error accounts for this choice and for the choice of the size. Monotonic
    constraints of the trees (`monotonic_cst`) are kept.

    Parameters
    ----------
    ensemble : fitted ensemble of decision trees
        RandomForest*, ExtraTrees*, Bagging* of trees, a committee of trees, or a Pipeline
        or search around one. If `prune` has just returned the committee, the ensemble
        that it was pruned from is the teacher.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows as for `prune`. Sparse rows are refined without a teacher.
    y : array-like of shape (N,)
    max_members : int, default=None
        Number of trees to keep, the ones with the largest weights. Among equal weights
        trees are added one by one, each lowering the squared error of the mean most.
    max_leaves : int, default=None
        Number of leaves of all kept trees together. Subtrees whose refined values differ
        least are cut first.
    max_bytes : float, default=None
        Size of the pickled committee. Committees of 5, 10, 20, 40 and 80 trees, up to
        `max_members`, are cut to this size, and the one with the smallest held-out
        error is returned.
    tolerance : float, default=None
        Return the smallest committee whose held-out error is at most 1 + tolerance times
        the error of the whole ensemble. Tries the same sizes, smallest first, and then
        fewer leaves. Raises ValueError if no size is good enough.
    oob : bool or "auto", default="auto"
        As in `prune`: True for the training rows of the ensemble, in their order.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    calibration : {"slope", "vector"} or None, default="slope"
        Calibration of class probabilities on the same held-out rows: see `prune`.
    n_jobs : int, default=None
        Number of members that predict in parallel, now and in the committee.
    random_state : int, RandomState instance or None, default=None
        Controls the generated rows. Pass an int for reproducible results.
    verbose : bool, default=False
        Show progress bars on standard error: trees that predict, trees that label
        made-up rows and, for each size that is tried, settings that are compared.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        A committee of plain trees: `to_sklearn`, `to_onnx` and `save` take it.

        - `support_`: indices of the trees in the ensemble.
        - `summary()`: errors and costs before and after, measured on first use. Its
          `refinement.path` has the sizes that were tried.
        - `predict_interval` and `predict_set` use the same held-out rows.

        Leaf values of classes sum to one, but single values may be negative, so
        probabilities are cut at zero and calibrated. `to_sklearn` returns the forest
        inside a `CalibratedClassifierCV`, and with `calibration=None` the plain one. A
        clone trains the ensemble again and refines it in the same way.

    See Also
    --------
    prune : Choose members; `refine=True` also refines them.

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
        verbose=verbose,
    )
    if note:
        warnings.warn(note, UserWarning, stacklevel=2)
    made: CommitteeClassifier | CommitteeRegressor = small
    return made


def _template(
    kept: Kept, X: Any, limits: Limits, n_jobs: int | None, calibration: str | None
) -> Any:
    """Return a committee with labels and columns set; a clone of it refines."""
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
    """Return an averaging committee with labels and columns set."""
    made = recipe_of(ensemble, roster, combiner=Average(), scoring=None, n_jobs=n_jobs)
    learn(made, ensemble, roster, X, Average())
    return made
