"""Every member predicts once: what a page is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.base import BaseCommittee
from committee.diagnostics import error_correlation
from committee.ensembles import Roster, roster_of
from committee.predictions import iter_predictions, vote_counts
from committee.pruning.summary import paired_difference
from committee.pruning.weighing_rows import WeighingRows as Rows
from committee.pruning.weighing_rows import checked_rows, decided

#: Numbers of F that are kept, 128 MB: rows are drawn where all would be more.
_KEPT_NUMBERS = 2**24
_FEWEST_ROWS = 200
#: Pairs grow with the square: so many members at most are compared with each other.
_MOST_IN_PAIRS = 1000

#: Half the width of a 95 % interval in standard errors.
_NORMAL = 1.959964


@dataclass(frozen=True)
class Score:
    """An error with its 95 % interval, and its gap to that of the committee.

    The interval is Wilson's for rows that are right or wrong, normal otherwise, and NaN
    for a single row. The gap is paired by rows.
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

    roster: Roster
    #: As the members take it.
    X: Any
    #: Targets and weights of the rows.
    rows: Rows
    #: What the ensemble predicts, (N,) or (N, K).
    output: FloatArray
    #: By row, (3, N): of the ensemble, of equal votes, of the member of least error.
    losses: FloatArray
    #: Of each member alone, (M,): share of wrong rows, or mean squared error.
    errors: FloatArray
    #: The rows that F is kept of, (n,), and F on these, (M, n) or (M, n, K).
    drawn: IntArray
    slabs: FloatArray

    @property
    def measure(self) -> str:
        """What the errors are."""
        return "error rate" if self.output.ndim == 2 else "mean squared error"

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
        return self.rows.y[self.drawn]

    @property
    def drawn_weight(self) -> FloatArray | None:
        """Weights of the drawn rows."""
        s = self.rows.weight
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

    def scores(self) -> list[Score]:
        """Return the errors of the ensemble, of equal votes and of the best member."""
        return [self._score(losses) for losses in self.losses]

    def _score(self, losses: FloatArray) -> Score:
        error, se = self.rows.mean(losses, np.ones(len(losses), dtype=bool))
        gap, gap_se = paired_difference(losses, self.losses[0], self.rows.weight)
        s = self.rows.weight
        # Rows of unequal weight count as (sum s)^2 / sum s^2 of equal ones (Kish).
        n = float(len(losses) if s is None else s.sum() ** 2 / (s @ s))
        if n < 1 + 1e-9:
            return Score(error, np.nan, np.nan, gap, np.nan)
        if self.output.ndim == 2:
            return Score(error, *_wilson(error, n), gap, gap_se)
        low = max(0.0, error - _NORMAL * se)
        return Score(error, low, error + _NORMAL * se, gap, gap_se)


def _wilson(p: float, n: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval for a share p of n rows.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    z2 = _NORMAL**2 / n
    middle = p + z2 / 2
    half = np.sqrt(z2 * max(p * (1 - p), 0.0) + z2**2 / 4)
    low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
    return max(0.0, float(low)), min(1.0, float(high))


def evaluate_members(
    ensemble: Any, X: Any, y: Any, *, sample_weight: Any = None, n_jobs: Any = None
) -> EvaluatedMembers:
    """Let every member of a fitted ensemble, of any kind that `prune` takes, predict."""
    roster = roster_of(ensemble)
    if isinstance(ensemble, BaseCommittee):
        X = ensemble._check_X(X, reset=False)
    elif not hasattr(X, "shape"):
        X = np.asarray(X)
    rows = checked_rows(roster, X, y, oob=False, sample_weight=sample_weight)
    prepared = roster.prepared(X)
    stream = iter_predictions(
        roster.members,
        prepared,
        classes=roster.member_classes,
        votes=roster.votes,
        n_jobs=n_jobs,
    )
    output, losses, errors, drawn, slabs = _sums(roster, rows, stream)
    if roster.weights is None:
        output = _own_prediction(ensemble, roster, X)
        losses[0] = rows.losses(decided(output))
    return EvaluatedMembers(
        roster, prepared, rows, output, losses, errors, drawn, slabs
    )


def _sums(
    roster: Roster, rows: Rows, stream: Iterator[FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
    """Add up what members predict, one after the other."""
    N, M = len(rows.y), len(roster)
    K = () if roster.classes is None else (len(roster.classes),)
    drawn = _drawn(N, M * (K[0] if K else 1))
    w = np.zeros(M) if roster.weights is None else roster.weights
    counts, unit = vote_counts(w)
    output, mean = np.zeros((N, *K)), np.zeros((N, *K))
    slabs, errors = np.empty((M, len(drawn), *K)), np.full(M, np.inf)
    everywhere, best = np.ones(N, dtype=bool), np.zeros(N)
    for m, P in enumerate(stream):
        mean += P
        if counts[m]:
            output += counts[m] * P
        slabs[m] = P[drawn]
        losses = rows.losses(decided(P))
        error = rows.mean(losses, everywhere)[0]
        if error < errors.min():
            best = losses
        errors[m] = error
    output *= unit
    mean *= 1.0 / M
    combined = [rows.losses(decided(sums)) for sums in (output, mean)]
    return output, np.stack([*combined, best]), errors, drawn, slabs


def _drawn(n_rows: int, width: int) -> IntArray:
    """Return all rows, or as many of them as F may have, in order."""
    most = max(_FEWEST_ROWS, _KEPT_NUMBERS // width)
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def _own_prediction(ensemble: Any, roster: Roster, X: Any) -> FloatArray:
    """Return what an ensemble predicts that does not average its members."""
    predicted = np.asarray(ensemble.predict(X))
    if roster.classes is None:
        return predicted.astype(np.float64)
    votes: FloatArray = predicted[:, None] == np.asarray(roster.classes)
    return votes.astype(np.float64)
