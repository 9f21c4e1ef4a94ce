"""prune(): any fitted ensemble, one line."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from committee.combiners import Combiner, EPPruner
from committee.distributed import is_dask
from committee.ensembles import roster_of
from committee.predictions import ask
from committee.pruning.costs import MemberBytes, few_rows, member_seconds
from committee.pruning.partitions import fit_chunks, sample_rows
from committee.pruning.path import CommitteePath, chosen_step, steps_of
from committee.pruning.rows import checked_rows
from committee.pruning.workshop import Workshop, empty_committee


def prune(
    ensemble: Any,
    X: Any,
    y: Any,
    *,
    combiner: Combiner | None = None,
    oob: bool = False,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Any:
    """Return the few members of a fitted ensemble that matter, as a committee.

        F = member predictions on X,   w = combiner(F, y),   keep {m : w_m != 0}

    Parameters
    ----------
    ensemble : fitted ensemble
        RandomForest*, ExtraTrees*, Bagging*, AdaBoost*, Voting*, Stacking* (its
        first layer), GradientBoosting*, HistGradientBoosting*, LightGBM or XGBoost
        (their rounds are the members); a committee; a Pipeline or a search around
        one of these; or a list of fitted estimators of mixed kinds.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows that the ensemble was not trained on; with `oob` those it was trained
        on. Weights learned on rows that the members know by heart are worth little.
        Of Dask collections all rows are weighed, chunk by chunk; the summary, and
        errors that the combiner does not estimate itself, are of about 10,000 of them.
    y : array-like of shape (N,)
        Labels that the ensemble knows, or numbers.
    combiner : combiner, optional
        `EPPruner()` unless given.
    oob : bool, default=False
        X and y are the rows the ensemble was trained on, in their order, and every
        member speaks only on rows that it did not see. For forests and bagging
        with bootstrap samples, and for committees.
    sample_weight : array-like of shape (N,), optional
    n_jobs : int, optional
        Members asked at the same time, now and by the committee.
    verbose : bool, default=False
        Show a progress bar on standard error.

    Returns
    -------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted, with the kept members only. Beside the usual attributes:
        `support_`, the numbers of the kept members in the ensemble; `path_`, whose
        `choose(max_members=..., max_bytes=..., within_se=...)` returns the other
        sizes on the way; `transformer_`, what a pipeline does to X before its
        ensemble; and `summary()`, what it cost and gained. Its probabilities are
        the weighted mean of the members', or for a booster the softmax of its
        scores.

    See Also
    --------
    member_predictions : The matrix F.

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
    combiner = EPPruner() if combiner is None else combiner
    empty = empty_committee(ensemble, roster, X, combiner=combiner, n_jobs=n_jobs)
    fitted = None
    if is_dask(X, y):
        _refuse_oob(oob)
        fitted = fit_chunks(ensemble, roster, clone(combiner), X, y, sample_weight)
        X, y, sample_weight = sample_rows(X, y, sample_weight)
    X = empty._check_X(X, reset=not hasattr(empty, "n_features_in_"))
    rows = checked_rows(roster, X, y, oob=oob, sample_weight=sample_weight)
    ready = roster.prepared(X)
    F = ask(roster, ready, n_jobs=n_jobs, verbose=verbose)
    rows.refuse_strangers(roster, F)
    if fitted is None:
        fitted = clone(combiner).fit(
            F, rows.y, held_out=rows.held_out, sample_weight=rows.weight
        )
    workshop = Workshop(ensemble, roster, empty, fitted, X, rows, F)
    steps = steps_of(fitted, rows.error_of(F))
    seconds = np.full(len(roster), workshop.seconds_before / len(roster))
    if roster.staged_predictions is None:
        seconds = member_seconds(roster, few_rows(ready))
    path = CommitteePath(
        [workshop.finished(step, F) for step in steps],
        roster.members,
        MemberBytes.of(roster.members),
        seconds,
        workshop,
        workshop.crossfit.errors(),
        "error rate" if F.ndim == 3 else "mean squared error",
    )
    chosen = workshop.finished(chosen_step(fitted, steps, rows.error_of(F)), F)
    members = [roster.members[m] for m in chosen.members]
    return workshop.committee(members, chosen, path, F[:, chosen.members])


def _refuse_oob(oob: bool) -> None:
    if oob:
        raise ValueError(
            "oob=True needs the training rows in memory, in their order. Give Dask "
            "collections of rows that the ensemble was not trained on, without oob."
        )
