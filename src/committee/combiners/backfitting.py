"""Reduce-error pruning with back-fitting."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners.ballots import TIE, Ballots, Tally, least
from committee.combiners.selection import OrderingPruner
from committee.votes import Votes

#: Rounds of replacements after each addition, as in the paper.
_ROUNDS = 100


class ReduceErrorPruner(OrderingPruner):
    """Add the member that reduces the committee's error most, and revise.

        s_u = argmin_k  error( {s_1, ..., s_u-1, k} )

    After each addition the members chosen so far are taken out one at a time
    and replaced by the one that makes the error smaller, until none is replaced,
    for at most 100 rounds (back-fitting).

    For classification the error is that of the vote of equals; a tie counts one
    half and rows on which none of them votes do not count. For regression it is
    the squared error of the mean, w'Cw with equal weights and the error
    correlation C of `error_correlation` (with `held_out` from the rows that both
    members left out).

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    order_ : array of shape (M,)
        The chosen members, a replacement in the place of whom it replaced, then
        the others as they would be added, without back-fitting. Because of the
        replacements the first k need not be what `n_members=k` would choose.
    weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    The best two are not the best one and another: it is replaced.

    >>> from committee import ReduceErrorPruner
    >>> F = [[1.0, 3.0, -3.0], [1.0, 3.0, -3.0]]
    >>> ReduceErrorPruner(2).fit(F, [0.0, 0.0]).support_.tolist()
    [1, 2]
    """

    takes_chunks: ClassVar[bool] = True
    needs_all: ClassVar[str] = "votes on all rows anew for every exchange of members"

    def _sees_all(self, n_classes: int | None) -> bool:
        return n_classes is not None

    def _order(self, problem: Votes) -> IntArray:
        if problem.n_classes is None:
            mean = _Mean(problem)
            chosen = _Chosen(mean, np.arange(problem.n_members))
        else:
            ballots = Ballots(problem)
            chosen = _Chosen(Tally(ballots), ballots.rank, unit=1.0)
        for u in range(problem.n_members):
            chosen.grow()
            if 0 < u < min(self.n_members, problem.n_members - 1):
                chosen.revise()
        return np.array(chosen.members, dtype=np.intp)


class _Chosen:
    """Members chosen so far, in order, and those that are free.

    Errors that differ by a part of 1e-10 of `unit`, or of the least error if it
    is None, are equal.
    """

    def __init__(
        self, committee: Tally | _Mean, rank: IntArray, unit: float | None = None
    ) -> None:
        self.committee, self.rank, self.unit = committee, rank, unit
        self.members: list[int] = []
        self.free: BoolArray = np.ones(len(rank), dtype=bool)

    def grow(self) -> None:
        """Add the member of least error."""
        error = self.committee.errors_with()
        self._put(len(self.members), self._best(error))

    def revise(self) -> None:
        """Replace members in turn while that makes the error smaller.

        The newest member is the best in its place, and so is the one that was put or
        stayed in a place since the last replacement: those are not tried again.
        """
        u = len(self.members)
        settled = 1
        for turn in range(_ROUNDS * u):
            if settled == u:
                return
            settled = 1 if self._replace(turn % u) else settled + 1

    def _replace(self, place: int) -> bool:
        """Put the best member in the place; return whether it is another one."""
        m = self.members.pop(place)
        self.committee.remove(m)
        self.free[m] = True
        error = self.committee.errors_with()
        stays = error[m] <= error[self.free].min() + TIE * self._unit(error)
        self._put(place, m if stays else self._best(error))
        return not stays

    def _best(self, error: FloatArray) -> int:
        return least(error, self.rank, self.free, unit=self._unit(error))

    def _unit(self, error: FloatArray) -> float:
        return float(error[self.free].min()) if self.unit is None else self.unit

    def _put(self, place: int, m: int) -> None:
        self.members.insert(place, m)
        self.committee.add(m)
        self.free[m] = False


class _Mean:
    """The mean of the chosen members, judged by 1'C1 / u^2.

    cross (M,) holds C 1, each member's products with the chosen, so that a change
    costs O(M). Differences round, and are summed anew after u of them.
    """

    def __init__(self, problem: Votes) -> None:
        self.C, _ = problem.error_correlation()
        self.diagonal, self.cross = np.diag(self.C).copy(), np.zeros(len(self.C))
        self.members: list[int] = []
        self._rounded = 0

    def add(self, m: int) -> None:
        self.members.append(m)
        self.cross += self.C[m]

    def remove(self, m: int) -> None:
        self.members.remove(m)
        self._rounded += 1
        if self._rounded > len(self.members):
            self.cross = self.C[self.members].sum(axis=0)
            self._rounded = 0
        else:
            self.cross -= self.C[m]

    def errors_with(self) -> FloatArray:
        # 1'C1 with k added: sum over the chosen, twice k's row with them, and C_kk.
        total = self.cross[self.members].sum() + 2 * self.cross + self.diagonal
        error: FloatArray = np.maximum(total, 0.0) / (len(self.members) + 1) ** 2
        return error
