"""prune(): any fitted ensemble, one line."""

from __future__ import annotations

from typing import Any

from committee._typing import RandomState
from committee.calibration import check_method
from committee.combiners import Combiner, EPPruner
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.ensembles import roster_of
from committee.pruning.assessment import keep_few
from committee.pruning.pruned import recipe_of
from committee.pruning.refine import refine as refine_trees
from committee.pruning.refined_sizes import check_refinable
from committee.pruning.seen_rows import Oob, check_oob


def prune(
    ensemble: Any,
    X: Any,
    y: Any,
    *,
    combiner: Combiner | str | None = None,
    oob: Oob = "auto",
    sample_weight: Any = None,
    scoring: str | None = None,
    refine: bool = False,
    max_members: int | None = None,
    calibration: str | None = "slope",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: bool = False,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return the few members of a fitted ensemble that matter, as a committee.

        F = member predictions on X,   w = combiner(F, y),   keep {m : w_m != 0}

    Parameters
    ----------
    ensemble : fitted ensemble
        RandomForest*, ExtraTrees*, Bagging*, AdaBoost*, Voting*, Stacking* (its
        first layer), GradientBoosting*, HistGradientBoosting*, LightGBM, XGBoost
        or CatBoost (their rounds are the members); a committee; a Pipeline or a search around
        one of these; or fitted estimators of mixed kinds: a list, (name, estimator)
        pairs or a dict. Names, also those of Voting*, Stacking* and a `Pool`, stay
        with the members: `member_names_`.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows that the ensemble was not trained on; with `oob` those it was trained
        on. Weights learned on rows that the members have memorised are worth little.
        Of Dask collections all rows are weighed, chunk by chunk; the summary, and
        errors that the combiner does not estimate itself, are of about 10,000 of them.
    y : array-like of shape (N,)
        Labels that the ensemble knows, or numbers.
    combiner : combiner or str, optional
        `EPPruner()` unless given; a name such as "greedy" is that combiner with its
        default settings.
    oob : bool or "auto", default="auto"
        True: X and y are the rows the ensemble was trained on, in their order, and
        every member votes only on rows that it did not see. For forests and bagging
        with bootstrap samples, and for committees. False: X and y are taken as rows
        that no member has seen, without a look at them. "auto": rows that the ensemble
        was trained on, where they are recognised, are used out of bag with a warning, and
        refused where members have seen all of them, and where they are a part of the
        training rows or in another order. Trees recognise their rows by the numbers in
        their leaves, committees by a digest, and members that learn by heart by what
        they never get wrong; some training rows among fresh ones, and rows on which all
        members are right, are warned of. Dask collections are taken as fresh.
    sample_weight : array-like of shape (N,), optional
    scoring : str, optional
        What the errors of `path_` and `summary()` are, and so what `choose` goes by:
        "accuracy" (the error rate, unless given), "neg_log_loss", "neg_brier_score",
        "roc_auc"; for numbers "neg_root_mean_squared_error" (unless given) or
        "neg_mean_absolute_error". The combiner has its own objective.
    refine : bool, default=False
        Refit the leaves of the members, which must be trees, and merge some: see
        `committee.refine`, which takes what this returns, too, and has more limits. The
        committee then has no `path_`; `summary()` shows the refinement.
    max_members : int, optional
        Take the committee of the path with at most so many members:
        `path_.choose(max_members=...)`.
    calibration : {"slope", "vector"} or None, default="slope"
        Of class probabilities, on rows that did not choose the members, found on first
        use: p(k | x) ~ p_0(k | x)^t, with p_0 what the combiner makes of the weighted
        sums. "slope" has one t for all classes and changes no decision; "vector" a slope
        and an offset for each, shrunk to that, and may. None: p_0 itself. See
        `committee.calibration`.
    n_jobs : int, optional
        Members that predict at the same time, now and in the committee.
    random_state : int, RandomState or None
        Of the made-up rows of `refine`.
    verbose : bool, default=False
        Show a progress bar on standard error.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted, with the kept members only. Beside the usual attributes:
        `support_`, the numbers of the kept members in the ensemble; `path_`, whose
        `choose(max_members=..., max_bytes=..., within_se=...)` returns the other
        sizes on the way (all members, F and up to 1,000 rows of X stay in memory with
        it; a copy or a file has the sizes whose members are all in it); `transformer_`, what a pipeline does to X before its
        ensemble; and `summary()`, what it cost and gained, measured when it is
        called. Its probabilities are calibrated, or for a booster the softmax of its
        scores, which are scaled to the least log-loss.

    See Also
    --------
    member_predictions : The matrix F.
    refine : Refit the leaves of trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import prune
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    >>> small = prune(forest, X, y, oob=True)
    >>> small.n_members_ < 40
    True
    >>> small.summary().n_members_before
    100
    """
    roster = roster_of(ensemble)
    check_method(calibration)
    if refine:
        check_refinable(ensemble, roster, X, y)
    recipe = recipe_of(
        ensemble,
        roster,
        combiner=EPPruner() if combiner is None else combiner,
        scoring=scoring,
        n_jobs=n_jobs,
        calibration=calibration,
    )
    small: CommitteeClassifier | CommitteeRegressor = keep_few(
        recipe,
        ensemble,
        roster,
        X,
        y,
        oob=check_oob(oob),
        sample_weight=sample_weight,
        scoring=scoring,
        verbose=verbose,
    )
    if max_members is not None:
        small = small.path_.choose(max_members=max_members)
    if not refine:
        return small
    return refine_trees(
        *(small, X, y),
        oob=small.path_.assessment.data.votes.masked,  # type: ignore[union-attr]
        max_members=max_members,
        sample_weight=sample_weight,
        calibration=calibration,
        n_jobs=n_jobs,
        random_state=random_state,
    )
