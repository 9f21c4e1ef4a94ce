"""Hard votes while members are chosen: errors, the tally of a set, ties as one half."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from committee._typing import BoolArray, FloatArray, IntArray
from committee.votes import Sums, Votes

#: Scores, of order one, that differ by less are equal: sums of N terms round.
TIE = 1e-10
#: Shares k/N of many rows fall on halves of that unit; of shifted units none does.
_SHIFT = 1 / np.pi


class Ballots:
    """Hard votes of a classification problem, with abstentions and row weights.

    choice (N, M) is the class of each member's largest entry, present (N, M) False
    where it abstains, s (N,) the row weights divided by `unit` (default: their mean).
    Arrays with rows belong to problems in memory; of a problem in chunks there are
    only sums, by `total`.
    """

    def __init__(self, votes: Votes, unit: float | None = None) -> None:
        if votes.n_classes is None:
            raise ValueError(
                "This combiner needs votes of classifiers: F of shape (N, M, K). Got "
                f'shape (N, {votes.n_members}). For regression use combiner="best".'
            )
        self.votes = votes
        self.unit = votes.mean_weight() if unit is None else unit
        self._counts: FloatArray | None = None
        if votes.in_memory:
            # Small codes: all that follows is bound by memory.
            code = np.int16 if votes.F.shape[2] <= 2**15 else np.int32
            choice = votes.F.argmax(axis=2).astype(code)
            self.choice: npt.NDArray[np.signedinteger] = np.ascontiguousarray(choice)
            mask, s = votes.held_out, votes.sample_weight
            shape = choice.shape
            self.present: BoolArray = np.ones(shape, bool) if mask is None else mask
            self.s: FloatArray = np.ones(shape[0]) if s is None else s / self.unit

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(ballots, *args), a sum over rows, as `Votes.total` does.

        In chunks the members' own counts come from the same pass.
        """
        if self.votes.in_memory:
            return function(self, *args)
        total = self.votes.total(_counted_too, self.unit, function, args)
        found, self._counts = total
        return found

    @property
    def n_classes(self) -> int:
        """K."""
        assert self.votes.n_classes is not None
        return self.votes.n_classes

    @cached_property
    def right(self) -> FloatArray:
        """1 where a member votes for the right class."""
        correct: BoolArray = self.choice == np.asarray(self.votes.y)[:, None]
        return (correct & self.present).astype(np.float64)

    @cached_property
    def wrong(self) -> FloatArray:
        """1 where a member votes for a wrong class."""
        return self.present - self.right

    @cached_property
    def by_member(self) -> tuple[npt.NDArray[np.signedinteger], BoolArray, BoolArray]:
        """Choices, who votes and who is right, members first: (M, N) each."""
        choice, present = self.choice.T.copy(), self.present.T.copy()
        return choice, present, present & (choice == np.asarray(self.votes.y))

    @cached_property
    def voting(self) -> FloatArray:
        """1 where a member votes."""
        return self.present.astype(np.float64)

    def counted_by(self, d: FloatArray) -> FloatArray:
        """Return the weight, by d, of the rows that each member votes on."""
        if self.votes.held_out is None:
            return np.full(self.choice.shape[1], d.sum())
        return d @ self.voting

    @property
    def counts(self) -> FloatArray:
        """Weight of the rows that each member votes on, and is wrong on, (2, M)."""
        # No cached_property here, nor for what reads it: until Python 3.12 its lock
        # is one for all, and threads that count the chunks would wait for it.
        if self._counts is None:
            self._counts = self.total(_counts)
        return self._counts

    @property
    def counted(self) -> FloatArray:
        """Weight of the rows that each member votes on, 1 if there are none."""
        counted = self.counts[0]
        return np.where(counted > 0, counted, 1.0)

    def errors(self) -> FloatArray:
        """Return each member's error on the rows that it votes on.

        A member that never votes has the error of chance.
        """
        counted, wrong = self.counts
        chance = 1.0 - 1.0 / self.n_classes
        return np.where(counted > 0, wrong / self.counted, chance)

    @property
    def rank(self) -> IntArray:
        """Places of the members by error, then by number: this decides ties."""
        return places(self.errors())


def _counts(ballots: Ballots) -> FloatArray:
    return np.array([ballots.counted_by(ballots.s), ballots.s @ ballots.wrong])


def _counted_too(
    votes: Votes, unit: float, function: Callable[..., Any], args: Any
) -> Sums:
    """Return the function of a chunk's ballots, and their counts."""
    ballots = Ballots(votes, unit)
    return Sums((function(ballots, *args), ballots.counts))


def grid(score: FloatArray) -> FloatArray:
    """Return scores in whole units of TIE: what differs by rounding is equal."""
    return np.round(score / TIE + _SHIFT)


def places(score: FloatArray) -> IntArray:
    """Return each member's place by score, least first; equal ones by number."""
    rank = np.empty(len(score), dtype=np.intp)
    rank[np.argsort(grid(score), kind="stable")] = np.arange(len(score))
    return rank


def least(
    score: FloatArray, rank: IntArray, free: BoolArray, *, unit: float = 1.0
) -> int:
    """Return the free member with the smallest score; among equal scores, the lowest rank."""
    members = np.flatnonzero(free)
    tied = members[score[members] <= score[members].min() + TIE * unit]
    return int(tied[rank[tied].argmin()])


def one_by_one(M: int, choose: Callable[[BoolArray, int], int]) -> IntArray:
    """Return choose(free, 0), choose(free, 1), ..., each time of the free members."""
    free = np.ones(M, dtype=bool)
    order = np.empty(M, dtype=np.intp)
    for u in range(M):
        order[u] = k = choose(free, u)
        free[k] = False
    return order


class Tally:
    """The votes of a changing set of members, which vote as equals.

    The margin of a row is the number of votes for the right class minus the most
    for any other. The committee is right above zero; a tie counts one half. By row:
    own, the votes for the right class; others (K, N), those for wrong classes; top,
    the most of these; count, all votes.
    """

    def __init__(self, ballots: Ballots) -> None:
        self.ballots = ballots
        N = len(ballots.s)
        self.own = np.zeros(N, dtype=np.int32)
        self.others = np.zeros((ballots.n_classes, N), dtype=np.int32)
        self.top = np.zeros(N, dtype=np.int32)
        self.count = np.zeros(N, dtype=np.int32)

    def add(self, m: int) -> None:
        """Let member m vote."""
        wrong, classes = self._change(m, 1)
        self.top[wrong] = np.maximum(self.top[wrong], self.others[classes, wrong])

    def remove(self, m: int) -> None:
        """Take back the votes of member m."""
        wrong, _ = self._change(m, -1)
        self.top[wrong] = self.others[:, wrong].max(axis=0)

    def _change(self, m: int, by: int) -> tuple[IntArray, IntArray]:
        """Count member m's votes; return its wrong rows and its votes there."""
        choice, present, right = (of[m] for of in self.ballots.by_member)
        change = np.add if by > 0 else np.subtract
        change(self.count, present, out=self.count)
        change(self.own, right, out=self.own)
        wrong = np.flatnonzero(present & ~right)
        classes = choice[wrong].astype(np.intp)
        self.others[classes, wrong] += by
        return wrong, classes

    @property
    def failing(self) -> FloatArray:
        """1 where the committee is wrong or has no vote, 1/2 at a tie, (N,)."""
        margin = self.own - self.top
        return np.where(self.count > 0, 0.5 - 0.5 * np.sign(margin), 1.0)

    def errors_with(self) -> FloatArray:
        """Return the error of the committee with each member added, (M,).

        Rows without votes do not count. Only rows of margin -1, 0 or 1 can change.
        """
        b = self.ballots
        margin, voted = self.own - self.top, self.count > 0
        right = float(b.s @ (voted * (0.5 + 0.5 * np.sign(margin))))
        # A vote for the right class wins half a row at margins 0 and -1, a whole one
        # where nobody has voted yet; a vote for the strongest rival loses half.
        rises = np.flatnonzero((margin == 0) | (margin == -1))
        falls = np.flatnonzero(voted & ((margin == 0) | (margin == 1)))
        gain = b.s[rises] * np.where(voted[rises], 0.5, 1.0)
        rights = right + gain @ b.right[rises] - 0.5 * self._losses(falls)
        empty = np.flatnonzero(~voted)
        counted = float(b.s @ voted) + b.s[empty] @ b.voting[empty]
        return 1.0 - rights / np.where(counted > 0, counted, 1.0)

    def _losses(self, rows: IntArray) -> FloatArray:
        """Return the weight of rows on which a member adds to the strongest rival."""
        b = self.ballots
        if b.n_classes == 2:
            return b.s[rows] @ b.wrong[rows]
        n = np.arange(len(rows))
        strongest = (self.others[:, rows] == self.top[rows]).T * b.s[rows, None]
        strongest[n, np.asarray(b.votes.y)[rows]] = 0.0
        box = b.choice[rows] + b.n_classes * n[:, None]
        added = strongest.ravel().take(box)
        if b.votes.held_out is not None:
            added *= b.present[rows]
        losses: FloatArray = added.sum(axis=0)
        return losses


def equal_weights(members: IntArray, n_members: int) -> FloatArray:
    """Return 1/k for the k members given, 0 for the others."""
    w = np.zeros(n_members)
    w[members] = 1.0 / len(members)
    return w


def votes_tags(tags: Any) -> Any:
    """Declare in scikit-learn's tags that F has three axes."""
    tags.input_tags.two_d_array = False
    tags.input_tags.three_d_array = True
    return tags
