"""Orderings by one score for each member, and the random order beside them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee.combiners.ballots import Ballots, grid, places
from committee.combiners.selection import OrderingPruner, VotePruner
from committee.votes import Votes

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17


class BestPruner(OrderingPruner):
    """Keep the members that err least on their own.

        e_m = mean_n [ vote_m(n) != y_n ],   or   mean_n (f_m(n) - y_n)^2

    over the rows that member m votes on, smallest first. It looks at no two
    members at once: twins are kept both.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal on the chosen members.
    order_ : array of shape (M,)
        All members that vote on some row, best first; equal ones by their own error,
        then by number.
    path_ : Path
        Error of the first 1, 2, ..., M members of the order.
    support_ : array
        The chosen members.

    Examples
    --------
    >>> from committee import BestPruner
    >>> F = [[1.0, 0.0, 3.0], [1.0, 0.5, 3.0]]
    >>> BestPruner(2).fit(F, [0.0, 0.0]).order_.tolist()
    [1, 0, 2]
    """

    takes_chunks: ClassVar[bool] = True

    def _order(self, problem: Votes) -> IntArray:
        if problem.n_classes is not None:
            return np.argsort(Ballots(problem).rank)
        mean_weight = problem.mean_weight()
        # Logarithms: members tie whose errors differ by a part of 1e-10.
        with np.errstate(divide="ignore"):
            log_error = np.log(problem.total(_squares, mean_weight).root_mean())
        return np.argsort(places(log_error))


class RandomPruner(OrderingPruner):
    """Keep members at random: what any other choice must beat.

        order = a uniform permutation of 1..M

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    order_ : array of shape (M,)
        All members in random order.
    weights_, path_, support_
        As in `BestPruner`.

    Examples
    --------
    >>> from committee import RandomPruner
    >>> pruner = RandomPruner(2, random_state=0).fit([[1.0, 0.0, 3.0]], [0.0])
    >>> sorted(pruner.order_.tolist()), len(pruner.support_)
    ([0, 1, 2], 2)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrderingPruner._parameter_constraints,
        "random_state": ["random_state"],
    }

    takes_chunks: ClassVar[bool] = True

    def __init__(
        self, n_members: int = 25, *, random_state: RandomState = None
    ) -> None:
        super().__init__(n_members)
        self.random_state = random_state

    def _order(self, problem: Votes) -> IntArray:
        rng = check_random_state(self.random_state)
        order: IntArray = rng.permutation(problem.n_members)
        return order


class ContributionPruner(VotePruner):
    """Order members by what each contributes to the whole committee's vote.

        IC_m = mean_n   2 v_max - v_m      m is right, in the minority
                        v_sec              m is right, in the majority
                        v_y - v_m - v_max  m is wrong

    largest first (EPIC). On row n, v_m is the share of members that vote as m
    does, v_y the share for the right class, v_max and v_sec the largest and the
    second largest share; m is in the minority if v_m < v_max. Being right counts
    most where the committee is wrong, and nothing where all are right. Shares are
    of the members that vote on the row, and the mean is over the rows that m
    votes on; without abstentions the order is that of the authors' sums of votes.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    contribution_ : array of shape (M,)
        IC_m.
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Lu, Wu, Zhu and Bongard, Ensemble pruning via individual contribution ordering,
    KDD 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import ContributionPruner
    >>> votes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0]])
    >>> pruner = ContributionPruner(1).fit(np.eye(2)[votes], [0, 0, 0])
    >>> (9 * pruner.contribution_).round(6).tolist()
    [-2.0, -2.0, 2.0]
    """

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"contribution_": np.nan}
    contribution_: FloatArray

    def _order_votes(self, ballots: Ballots) -> IntArray:
        self.contribution_ = ballots.total(_contributions) / ballots.counted
        return np.lexsort((ballots.rank, grid(-self.contribution_)))


class _Squares(NamedTuple):
    """Sums of s e^2 in units of the largest e^2 of each member, and of s."""

    largest: FloatArray
    squares: FloatArray
    counted: FloatArray

    def plus(self, other: _Squares) -> _Squares:
        largest = np.maximum(self.largest, other.largest)
        unit = np.where(largest > 0, largest, 1.0)
        one, two = self.largest / unit, other.largest / unit
        return _Squares(
            largest,
            one**2 * self.squares + two**2 * other.squares,
            self.counted + other.counted,
        )

    def root_mean(self) -> FloatArray:
        """Return each member's root mean square; infinite if it never votes."""
        mean = self.squares / np.where(self.counted > 0, self.counted, 1.0)
        return np.where(self.counted > 0, self.largest * np.sqrt(mean), np.inf)


def _squares(problem: Votes, mean_weight: float) -> _Squares:
    """Return the sums of the squares of half the errors."""
    # Halved, so that a difference of large numbers stays in range.
    E = np.asarray(problem.F, dtype=np.float64) / 2 - problem.y[:, None] / 2
    if problem.held_out is not None:
        E[~problem.held_out] = 0.0
    largest = np.abs(E).max(axis=0)
    s = problem.row_weights / mean_weight
    counted = s.sum() if problem.held_out is None else s @ problem.held_out
    squares = s @ (E / np.where(largest > 0, largest, 1.0)) ** 2
    return _Squares(largest, squares, np.broadcast_to(counted, largest.shape))


def _contributions(ballots: Ballots) -> FloatArray:
    """Return the sum of what each member contributes, by blocks of rows."""
    N, M = ballots.choice.shape
    total = np.zeros(M)
    for start in range(0, N, step := max(1, _BLOCK // M)):
        rows = slice(start, start + step)
        total += ballots.s[rows] @ _row_contributions(ballots, rows)
    return total


def _row_contributions(ballots: Ballots, rows: slice) -> FloatArray:
    """Return what each member contributes to each row, from the shares v, (n, K)."""
    choice, present = ballots.choice[rows], ballots.present[rows]
    N, K = len(choice), ballots.n_classes
    # One box for each row and class; votes (N, K) counts what falls in it.
    box = (np.arange(N)[:, None] * K + choice)[present]
    votes = np.bincount(box, minlength=N * K).reshape(N, K)
    v = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    v_sec, v_max = np.partition(v, K - 2, axis=1)[:, K - 2 :].T[:, :, None]
    y = np.asarray(ballots.problem.y, dtype=np.intp)[rows, None]
    v_y = np.take_along_axis(v, y, axis=1)
    v_m = v[np.arange(N)[:, None], choice]
    when_right = np.where(v_m < v_max, 2 * v_max - v_m, v_sec)
    parts: FloatArray = np.where(choice == y, when_right, v_y - v_m - v_max) * present
    return parts
