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
from committee.pruning.refined_sizes import Limits, check_refinable, checked_limits
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
    """Return a committee of the few members of a fitted ensemble that matter.

        F = member predictions on X,   w = combiner(F, y),   keep {m : w_m != 0}

    Parameters
    ----------
    ensemble : fitted ensemble
        RandomForest*, ExtraTrees*, Bagging*, AdaBoost*, Voting*, Stacking* (its first
        layer), GradientBoosting*, HistGradientBoosting*, LightGBM, XGBoost or CatBoost
        (their rounds are the members); a committee; a Pipeline or a search around one of
        these; or fitted estimators of any kinds: a list, (name, estimator) pairs or a
        dict. Members keep their names: see `member_names_`.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows that the ensemble was not trained on, or its training rows with `oob`.
        Weights learned on the training rows of the members are of little use. All rows
        of a Dask collection are weighed, chunk by chunk; the summary and held-out
        errors use about 10,000 of them.
    y : array-like of shape (N,)
        Class labels that the ensemble was trained on, or regression targets.
    combiner : combiner or str, default=None
        How members are chosen and weighed; None means `EPPruner()`. A name such as
        "greedy" means the combiner with its default settings.
    oob : bool or "auto", default="auto"
        True: X and y are the training rows in their order, and each member votes only
        on rows that it was not trained on (forests and bagging with bootstrap samples,
        committees). False: X and y are fresh rows; this is not checked. "auto": if X
        has the training rows, they are used out of bag, with a warning. ValueError is
        raised if every member was trained on every row, or if X has only part of the
        training rows, or has them in another order. With fewer than about 60 trees,
        this may not be detected. Trees recognise training rows by the counts in their
        leaves, committees by a digest, and members that memorise rows by their errors.
        Dask collections count as fresh rows.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    scoring : str, default=None
        Error shown by `path_` and `summary()` and used by `path_.choose`. For classes
        "accuracy" (the default), "neg_log_loss", "neg_brier_score" or "roc_auc"; for
        numbers "neg_root_mean_squared_error" (the default) or
        "neg_mean_absolute_error". It does not change the objective of the combiner.
    refine : bool, default=False
        Refit the leaves of the kept members, which must be trees: see
        `committee.refine`, which also has more limits. The committee then has no
        `path_`; `summary()` shows the refinement.
    max_members : int, default=None
        Return the committee of the path with at most this many members, as
        `path_.choose(max_members=...)` does.
    calibration : {"slope", "vector"} or None, default="slope"
        Calibration of class probabilities on rows that were not used to choose the
        members: p(k | x) ~ p_0(k | x)^t, where the combiner turns weighted sums into
        p_0. "slope" has one t for all classes and changes no decision. "vector" has a
        slope and an offset for each class, shrunk towards the common slope. None
        returns p_0. "slope" is fitted on first use of `predict_proba`. See
        `committee.calibration`.
    n_jobs : int, default=None
        Number of members that predict in parallel, now and in the committee.
    random_state : int, RandomState instance or None, default=None
        Controls a combiner that is given by name, and the generated rows of `refine`.
        Pass an int for reproducible results.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted, with the kept members only. In addition to the usual attributes it has

        - `support_`: indices of the kept members in the ensemble.
        - `path_`: committees of other sizes; `path_.choose` returns one. It keeps all
          members, F and up to 1,000 rows of X in memory. A copy or a file keeps only
          the sizes that need no other members.
        - `summary()`: errors and costs before and after, measured on first use.
        - `transformer_`: the steps of a pipeline before its ensemble.

        Class probabilities are calibrated. For a booster, the first rounds with the
        smallest error are returned, unless the choice of the combiner is clearly
        better: see `docs/guide/prune.md`. Its probabilities are the softmax of its
        scores, with a slope that is fitted on held-out rows for any `calibration`.

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
    checked_limits(Limits(max_members), len(roster))
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
        random_state=random_state,
        verbose=verbose,
    )
    if max_members is not None:
        small = small.path_.choose(max_members=max_members)
    if not refine:
        return small
    return refine_trees(
        *(small, X, y),
        oob=small.path_.assessment.data.votes.masked,
        max_members=max_members,
        sample_weight=sample_weight,
        calibration=calibration,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
