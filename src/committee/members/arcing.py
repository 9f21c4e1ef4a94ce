"""Arcing: resampling that leans towards the rows that were wrong (Breiman 1998)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import BoolArray, FloatArray, Member, Output, RandomState
from committee._validation import Interval
from committee.members.base import (
    BatchedGenerator,
    Generation,
    Sample,
    TrainingData,
    draw_seeds,
)
from committee.members.boosting import refuse_regression
from committee.members.training import fit_member, run_in_turn
from committee.predictions import predict_one


class Arcing(BatchedGenerator):
    """Draw the rows of each member by how often earlier ones were wrong (arc-x4).

        P_tn ~ 1 + m_n^4,    m_n: earlier members that are wrong on row n

    N rows are drawn with replacement by P, in proportion to `sample_weight` too where
    there is one. Rows that a member did not draw are its held-out rows: later members
    leave out easy rows rather than hard ones, so that each is weighed on its own rows.
    Members vote as equals with `combiner=None`.

    Parameters
    ----------
    n_members : int, default=100

    References
    ----------
    L. Breiman. Arcing classifiers. Annals of Statistics 26, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from committee import Arcing, CommitteeClassifier
    >>> X, y = make_classification(flip_y=0.1, random_state=0)
    >>> committee = CommitteeClassifier(generator=Arcing(10), random_state=0)
    >>> committee.fit(X, y).n_members_
    10
    """

    output: ClassVar[Output] = "hard"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [Interval(Integral, 1, None, closed="left")]
    }

    def __init__(self, n_members: int = 100) -> None:
        self.n_members = n_members

    def batches(
        self,
        estimator: Member,
        data: TrainingData,
        *,
        size: int,
        held_out: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> Iterator[Generation]:
        """Train the members of `generate`, `size` of them at a time and on demand."""
        self._validate_params()
        refuse_regression(self, data)
        seeds = draw_seeds(check_random_state(random_state), self.n_members)
        mistakes = np.zeros(len(data))
        jobs = (
            (_fit_and_vote, estimator, data, mistakes.copy(), int(seed))
            for seed in seeds
        )
        batch: list[tuple[Member, FloatArray, BoolArray]] = []
        results = run_in_turn(jobs, self.n_members, label="arcing", verbose=verbose)
        for m, (member, votes, unseen) in enumerate(results):
            mistakes += votes.argmax(axis=1) != data.y
            batch.append((member, votes, unseen))
            if len(batch) == size or m == self.n_members - 1:
                members, slabs, masks = zip(*batch, strict=True)
                F, mask = np.stack(slabs, axis=1), np.stack(masks, axis=1)
                yield Generation(list(members), *((F, mask) if held_out else ()))
                batch = []


def _fit_and_vote(
    estimator: Member, data: TrainingData, mistakes: FloatArray, seed: int
) -> tuple[Member, FloatArray, BoolArray]:
    """Train a member on rows drawn by P; return its votes and the rows not drawn."""
    N, s = len(data), data.sample_weight
    P = 1.0 + mistakes**4
    if s is not None:
        P *= s
    sample = Sample.drawn(np.random.RandomState(seed).choice(N, N, p=P / P.sum()), N)
    member = fit_member(estimator, data, sample, seed)
    votes = predict_one(member, data.X, classes=data.classes, output="hard")
    unseen = np.ones(N, dtype=bool)
    unseen[sample.rows] = False
    return member, votes, unseen
