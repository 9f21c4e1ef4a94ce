"""Orderings that watch where the committee so far is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.combiners.ballots import TIE, Ballots, Tally, least
from committee.combiners.selection import VotePruner


class ComplementarityPruner(VotePruner):
    """Add the member that is right most often where the committee is wrong.

        s_u = argmax_k  mean_n [ vote_k(n) = y_n ] b_n

    b_n is 1 where the u - 1 members chosen before vote for another class than
    y_n, 1/2 at a tie and 0 where they are right; before any of them votes on a
    row it is 1, so the first member is the one of least error. The mean is over
    the rows that member k votes on. Defined on right and wrong votes, so for
    any number of classes.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Martinez-Munoz and Suarez, Aggregation ordering in bagging, IASTED 2004.

    Examples
    --------
    The third member wins the row that the first loses.

    >>> import numpy as np
    >>> from committee import ComplementarityPruner
    >>> votes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    >>> ComplementarityPruner(2).fit(np.eye(2)[votes], [0] * 4).support_.tolist()
    [0, 2]
    """

    needs_all: ClassVar[str] = "votes on all rows anew for every member it adds"

    def _order_votes(self, ballots: Ballots) -> IntArray:
        tally = Tally(ballots)
        watch = _Failures(tally, ballots.right)
        free = np.ones(len(ballots.rank), dtype=bool)
        order = np.empty(len(free), dtype=np.intp)
        for u in range(len(order)):
            k = least(-watch.sums / ballots.counted, ballots.rank, free)
            order[u], free[k] = k, False
            watch.after(tally.add, k)
        return order


class ConcurrencyPruner(VotePruner):
    """Remove, one by one, the member that helps the others least.

        con_k = mean_n   2 [ k right, committee wrong ] + [ k right, committee right ]
                       - 2 [ k wrong, committee wrong ]

    The committee is that of all members left, k among them, and is voted anew
    after every removal; a tie is half right, half wrong. The mean is over the
    rows that member k votes on. The order is that of removal, last first.
    Defined on right and wrong votes, so for any number of classes.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    order_ : array of shape (M,)
        All members, removed last first; of equal ones that of larger error, then
        of larger number is removed.
    weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Banfield, Hall, Bowyer and Kegelmeyer, Ensemble diversity measures and their
    application to thinning, Information Fusion 6 (2005).

    Examples
    --------
    Three members outvote the one that knows the last row: one of them goes first.

    >>> import numpy as np
    >>> from committee import ConcurrencyPruner
    >>> votes = np.array([[0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]])
    >>> ConcurrencyPruner(3).fit(np.eye(2)[votes], [0] * 4).support_.tolist()
    [0, 1, 3]
    """

    needs_all: ClassVar[str] = "votes on all rows anew for every member it removes"

    def _order_votes(self, ballots: Ballots) -> IntArray:
        tally = Tally(ballots)
        M = len(ballots.rank)
        for m in range(M):
            tally.add(m)
        watch = _Failures(tally, ballots.right - 2 * ballots.wrong)
        # con = [right] + b ([right] - 2 [wrong]), b where the committee fails.
        rights = ballots.s @ ballots.right
        free = np.ones(M, dtype=bool)
        order = np.empty(M, dtype=np.intp)
        for u in reversed(range(M)):
            concurrency = (rights + watch.sums) / ballots.counted
            k = least(concurrency, -ballots.rank, free)
            order[u], free[k] = k, False
            watch.after(tally.remove, k)
        return order


class BoostingOrderPruner(VotePruner):
    """Order members as boosting would choose them, from those at hand.

        s_u = argmin_k  e_k = sum_n d_n [ vote_k(n) != y_n ] / sum_n d_n
        d_n <- d_n (K - 1) / (K e)  where s_u is wrong,   d_n / (K (1 - e))  elsewhere

    over the rows that member k votes on; d starts as the row weights. This is
    the update of AdaBoost for K = 2 and of SAMME for more classes: afterwards
    s_u is no better than chance. Where even the best error is that of chance,
    1 - 1/K, or worse, d starts anew and the choice is made again; after an error
    of zero d starts anew as well.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal on the chosen members: it is the order that boosting gives.
    order_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Martinez-Munoz and Suarez, Using boosting to prune bagging ensembles, Pattern
    Recognition Letters 28 (2007). Zhu et al., Multi-class AdaBoost (2009).

    Examples
    --------
    After the first member only its mistake, the last row, counts one half.

    >>> import numpy as np
    >>> from committee import BoostingOrderPruner
    >>> votes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    >>> BoostingOrderPruner().fit(np.eye(2)[votes], [0] * 4).order_.tolist()
    [0, 2, 1]
    """

    needs_all: ClassVar[str] = "weighs all rows anew for every member it adds"

    def _order_votes(self, ballots: Ballots) -> IntArray:
        # A twin of the last member errs by chance, up to rounding.
        chance = 1.0 - 1.0 / ballots.n_classes - TIE
        free = np.ones(len(ballots.rank), dtype=bool)
        order = np.empty(len(free), dtype=np.intp)
        d = ballots.s
        for u in range(len(order)):
            error = _weighted_errors(ballots, d)
            k = least(error, ballots.rank, free)
            if error[k] >= chance and d is not ballots.s:
                d = ballots.s
                error = _weighted_errors(ballots, d)
                k = least(error, ballots.rank, free)
            order[u], free[k] = k, False
            d = _reweighted(ballots, d, k, float(error[k]))
        return order


class _Failures:
    """sum_n s_n b_n A_nk for all members k, kept while the committee changes.

    b is 1 where the committee fails; only rows on which it changes are visited.
    """

    def __init__(self, tally: Tally, A: FloatArray) -> None:
        self.tally, self.A = tally, A
        self.b = tally.failing
        self.sums: FloatArray = (tally.ballots.s * self.b) @ A

    def after(self, change: Callable[[int], None], k: int) -> None:
        """Change the committee by member k and bring the sums up to date."""
        change(k)
        b = self.tally.failing
        rows = np.flatnonzero(b != self.b)
        step = self.tally.ballots.s[rows] * (b[rows] - self.b[rows])
        self.sums += step @ self.A[rows]
        self.b = b


def _weighted_errors(ballots: Ballots, d: FloatArray) -> FloatArray:
    """Return sum d [wrong] / sum d over rows with votes; chance where there are none."""
    wrong, counted = d @ ballots.wrong, ballots.counted_by(d)
    chance = np.full(len(wrong), 1.0 - 1.0 / ballots.n_classes)
    error: FloatArray = np.divide(wrong, counted, out=chance, where=counted > 0)
    return error


def _reweighted(ballots: Ballots, d: FloatArray, k: int, error: float) -> FloatArray:
    """Return d after member k of the given error; the start where it has no end."""
    K = ballots.n_classes
    if not 0 < error < 1.0 - 1.0 / K - TIE:
        return ballots.s
    _, present, right = (of[k] for of in ballots.by_member)
    factor = np.where(right, 1 / (K * (1 - error)), 1.0)
    factor[present & ~right] = (K - 1) / (K * error)
    changed: FloatArray = d * factor
    return changed
