"""Members that see all rows, weighed on predictions of clones that did not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, Member, RandomState, Votes
from committee._validation import safe_indexing
from committee.members.base import Generation, Sample, TrainingData, draw_seeds
from committee.members.training import fit_member, run_parallel
from committee.predictions import predict_one

Fold = tuple[IntArray, IntArray]


def cross_fitted(
    estimators: Sequence[Member],
    data: TrainingData,
    *,
    n_splits: int,
    votes: Votes,
    held_out: bool,
    keep_seeds: bool,
    n_jobs: int | None,
    random_state: RandomState,
    verbose: bool,
) -> Generation:
    """Fit every estimator on all rows, and make F by clones, fold by fold.

        F[n, m] = prediction of row n by a clone of m trained without n's fold

    Folds are the same for all members, and stratified where every class has a
    row for each. The mask is None: F counts everywhere.
    """
    rng = check_random_state(random_state)
    seeds = draw_seeds(rng, len(estimators))
    folds = _folds(data, n_splits, rng) if held_out else []
    jobs = (
        (_fit_and_cross_fit, estimator, data, folds, int(seed), votes, keep_seeds)
        for estimator, seed in zip(estimators, seeds, strict=True)
    )
    members: list[Member] = []
    slabs: list[FloatArray] = []
    for member, P in run_parallel(
        jobs, len(estimators), label="training", n_jobs=n_jobs, verbose=verbose
    ):
        members.append(member)
        slabs.append(P)
    F = np.moveaxis(np.stack(slabs), 0, 1) if held_out else None
    return Generation(members, F)


def _folds(data: TrainingData, n_splits: int, rng: np.random.RandomState) -> list[Fold]:
    """Return (train, test) rows of each fold."""
    N = len(data)
    if n_splits > N:
        raise ValueError(
            f"Cannot cross-fit {n_splits} folds on {N} rows (n_samples={N}). Take "
            "fewer folds, or weigh_on='train'."
        )
    splitter = KFold
    if data.n_classes is not None and np.bincount(data.y).min() >= n_splits:
        splitter = StratifiedKFold
    splits = splitter(n_splits, shuffle=True, random_state=rng)
    return list(splits.split(np.zeros(N), data.y))


def _fit_and_cross_fit(
    estimator: Member,
    data: TrainingData,
    folds: list[Fold],
    seed: int,
    votes: Votes,
    keep_seeds: bool,
) -> tuple[Member, FloatArray]:
    """Return the member fitted on all rows, and its out-of-fold predictions."""

    def fit(rows: IntArray) -> Member:
        sample = Sample.of(rows, data)
        return fit_member(estimator, data, sample, seed, keep_seeds=keep_seeds)

    member = fit(np.arange(len(data)))
    P = data.empty_predictions()
    for train, test in folds:
        X = safe_indexing(data.X, test)
        P[test] = predict_one(fit(train), X, classes=data.classes, votes=votes)
    return member, P
