"""Every member predicts once: what a page is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.base import BaseCommittee
from committee.diagnostics import error_correlation
from committee.displays.sources import core_of, gate_weights_of, known_members
from committee.ensembles import Roster, roster_of
from committee.losses import (
    NORMAL,
    Score,
    classification_scores,
    decided,
    effective_rows,
    error_losses,
    mean_and_se,
    regression_scores,
    wilson,
)
from committee.predictions import iter_members, vote_counts
from committee.probabilities import pooled_terms
from committee.reporting.answers import ANSWERS, Answer, answer, constant, own_answer
from committee.votes import checked_rows

#: Numbers of F that are kept, 128 MB: rows are drawn where all would be more.
_KEPT_NUMBERS = 2**24
_FEWEST_ROWS = 200
#: Pairs grow with the square: so many members at most are compared with each other.
_MOST_IN_PAIRS = 1000


@dataclass(frozen=True)
class Comparison:
    """An error with its 95 % interval, and its gap to that of the committee.

    The interval is Wilson's for rows that are right or wrong, normal for squared errors
    (and the root of its ends), and NaN for a single row. The gap is paired by rows.
    """

    error: float
    low: float
    high: float
    gap: float
    gap_se: float


@dataclass(frozen=True, eq=False)
class EvaluatedMembers:
    """The predictions of the members on N rows, alone and combined.

    F as a whole may not fit into memory: sums over all rows are kept, and F itself
    for n rows drawn at random.
    """

    #: All members at hand, those that pruning left out with weight zero.
    roster: Roster
    #: Their numbers in the ensemble that they come from.
    numbers: IntArray
    #: As the members take it.
    X: Any
    #: Targets (N,): class codes, or numbers.
    y: FloatArray | IntArray
    #: Row weights (N,), or None.
    sample_weight: FloatArray | None
    #: By the keys of ANSWERS; "before" only where the ensemble before pruning is known.
    answers: dict[str, Answer]
    #: Of each member alone, (M,): share of wrong rows, or root mean squared error.
    errors: FloatArray
    #: The rows that F is kept of, (n,), and F on these, (M, n) or (M, n, K).
    drawn: IntArray
    slabs: FloatArray
    #: Whether the members are known to have been trained on these rows.
    is_training: bool
    #: The weights of a gate on the rows, (N, M); None where they do not depend on x.
    gate: FloatArray | None = None

    @property
    def is_classifier(self) -> bool:
        """Whether the rows have classes."""
        return self.roster.classes is not None

    @property
    def measure(self) -> str:
        """What the errors are."""
        return "error rate" if self.is_classifier else "RMSE"

    @property
    def own(self) -> Answer:
        """What the committee predicts."""
        return self.answers["committee"]

    @property
    def best(self) -> int:
        """The member of least error, picked in hindsight."""
        return int(self.errors.argmin())

    @property
    def F(self) -> FloatArray:
        """Predictions on the drawn rows, (n, M) or (n, M, K)."""
        return np.moveaxis(self.slabs, 0, 1)

    @property
    def drawn_y(self) -> FloatArray | IntArray:
        """Targets of the drawn rows."""
        return self.y[self.drawn]

    @property
    def drawn_weight(self) -> FloatArray | None:
        """Weights of the drawn rows."""
        s = self.sample_weight
        return None if s is None else s[self.drawn]

    @cached_property
    def leading(self) -> IntArray:
        """The members that are compared in pairs: all, or the largest weights."""
        M, w = len(self.errors), self.roster.weights
        if M <= _MOST_IN_PAIRS:
            return np.arange(M)
        order = np.arange(M) if w is None else np.argsort(-np.abs(w), kind="stable")
        return np.sort(order[:_MOST_IN_PAIRS])

    @cached_property
    def correlation(self) -> FloatArray:
        """The error correlation C of the leading members on the drawn rows."""
        F = self.F[:, self.leading]
        return error_correlation(F, self.drawn_y, sample_weight=self.drawn_weight)

    @cached_property
    def scores(self) -> dict[str, dict[str, Score]]:
        """The scores of each answer, by their names; the first is `measure`."""
        y: Any = self.y
        s = self.sample_weight
        if not self.is_classifier:
            return {
                key: regression_scores(y, answer.predicted, s)
                for key, answer in self.answers.items()
            }
        return {
            key: classification_scores(y, answer.predicted, answer.p, s)
            for key, answer in self.answers.items()
        }

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """The errors of all answers, against that of the committee."""
        return {key: self._compared(key) for key in self.answers}

    def _compared(self, key: str) -> Comparison:
        score = self.scores[key][self.measure]
        gap = score - self.scores["committee"][self.measure]
        n = effective_rows(self.sample_weight, len(self.y))
        if n < 1 + 1e-9:
            return Comparison(score.value, np.nan, np.nan, gap.value, np.nan)
        if self.is_classifier:
            low, high = wilson(score.value, n)
        else:
            mean, half = score.value**2, NORMAL * 2 * score.value * score.se
            low, high = (
                float(np.sqrt(max(0.0, mean - half))),
                float(np.sqrt(mean + half)),
            )
        return Comparison(score.value, low, high, gap.value, gap.se)


def evaluate_members(
    ensemble: Any, X: Any, y: Any, *, sample_weight: Any = None, n_jobs: Any = None
) -> EvaluatedMembers:
    """Let every member of a fitted ensemble, of any kind that `prune` takes, predict.

    Of what `prune` returned, the members that were left out predict as well.
    """
    own, core = roster_of(ensemble), core_of(ensemble)
    numbers, roster = known_members(core, own)
    G = gate_weights_of(ensemble, X)
    if G is not None:
        # What a gate gives the members on these rows stands for their weights.
        roster = replace(roster, weights=G.mean(axis=0))
    given = X
    if isinstance(ensemble, BaseCommittee):
        X = ensemble._check_X(X, reset=False)
    elif not hasattr(X, "shape"):
        X = np.asarray(X)
    y, _, s = checked_rows(roster, X, y, oob=False, sample_weight=sample_weight)
    prepared = roster.prepared(X)
    stream = iter_members(roster, prepared, n_jobs=n_jobs)
    source = getattr(getattr(core, "path_", None), "assessment", None)
    before = None if source is None else source.before
    sums = _Sums.of(y, s, roster, stream, None if before is None else before[1])
    plain = replace(own, probabilities=None)
    answers = {
        "committee": own_answer(ensemble, own, given, sums.own),
        "equal": answer(plain, sums.equal),
        "best": answer(plain, sums.best),
        "constant": constant(y, s, own.classes),
    }
    if before is not None and ensemble is core:
        answers["before"] = own_answer(before[0], before[1], given, sums.before)
    recognise = own.recognise if before is None else before[1].recognise
    return EvaluatedMembers(
        roster,
        numbers,
        prepared,
        y,
        s,
        {key: answers[key] for key in ANSWERS if key in answers},
        sums.errors,
        sums.drawn,
        sums.slabs,
        recognise is not None and recognise(prepared) in ("same", "another order"),
        G,
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """What members predict, added up in several ways, (N,) or (N, K)."""

    own: FloatArray
    equal: FloatArray
    best: FloatArray
    before: FloatArray
    errors: FloatArray
    drawn: IntArray
    slabs: FloatArray

    @classmethod
    def of(
        cls,
        y: FloatArray | IntArray,
        s: FloatArray | None,
        roster: Roster,
        stream: Iterator[FloatArray],
        before: Roster | None,
    ) -> Self:
        """Add up one member after the other."""
        N, M = len(y), len(roster)
        K = () if roster.classes is None else (len(roster.classes),)
        drawn = _drawn(N, M * (K[0] if K else 1))
        w = roster.weights
        members = np.ones(M) if w is None else (w != 0).astype(np.float64)
        weights = [
            np.zeros(M) if w is None else w,
            members / max(1.0, members.sum()),
            np.zeros(M) if before is None or before.weights is None else before.weights,
        ]
        # Equal votes are those for probabilities, whatever the committee weighs.
        floors = [roster.floor, None, None if before is None else before.floor]
        counted = [vote_counts(w) for w in weights]
        sums = np.zeros((len(weights), N, *K))
        slabs, errors = np.empty((M, len(drawn), *K)), np.full(M, np.inf)
        best = sums[0]
        for m, P in enumerate(stream):
            for total, (counts, _), floor in zip(sums, counted, floors, strict=True):
                if counts[m]:
                    total += counts[m] * pooled_terms(P, floor)
            slabs[m] = P[drawn]
            error, _ = mean_and_se(error_losses(decided(P), y), s)
            if error < errors.min():
                best = P
            errors[m] = error
        own, equal, whole = (
            total * unit for total, (_, unit) in zip(sums, counted, strict=True)
        )
        errors = errors if K else np.sqrt(errors)
        return cls(own, equal, best, whole, errors, drawn, slabs)


def _drawn(n_rows: int, width: int) -> IntArray:
    """Return all rows, or as many of them as F may have, in order."""
    most = max(_FEWEST_ROWS, _KEPT_NUMBERS // width)
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
