"""Pruners of a distributed system: by class specialty, by correlation with the whole."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners.ballots import Ballots, grid, least
from committee.combiners.selection import VotePruner

#: Numbers in a row block of one-hot votes: 1 MB, for the cache.
_BLOCK = 2**17


class SpecialtyPruner(VotePruner):
    """Add specialists for one class after the other, on rows not yet covered.

        J_mk = P( vote_m = k | y = k ) - P( vote_m = k | y != k )
        s_u  = argmax_m J_mk   on the rows that no member chosen before gets right

    for k = 1, ..., K in turn: true positives minus false positives. A row is covered by
    a member that votes for its class; once none is left in a share, or no free member
    votes there, the share is over all rows. The rows are those that m votes on.

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
    Prodromidis, Stolfo and Chan, Effective and efficient pruning of meta-classifiers in
    a distributed data mining system, Columbia University 1998, whose metrics of
    specialty and coverage are joined here.

    Examples
    --------
    Each of two members knows one class; the third is right in the middle of both.

    >>> import numpy as np
    >>> from committee import SpecialtyPruner
    >>> votes = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 1, 1]])
    >>> SpecialtyPruner(2).fit(np.eye(2)[votes], [0, 0, 1, 1]).order_.tolist()
    [0, 1, 2]
    """

    needs_all: ClassVar[str] = "looks for uncovered rows anew for every member it adds"

    def _order_votes(self, ballots: Ballots) -> IntArray:
        y = np.asarray(ballots.problem.y)
        M, K = ballots.choice.shape[1], ballots.n_classes
        uncovered = np.ones(len(y), dtype=bool)
        free = np.ones(M, dtype=bool)
        order = np.empty(M, dtype=np.intp)
        rank = ballots.rank
        for u in range(M):
            k = u % K
            own, other = (
                _share(ballots, k, is_k, uncovered, free) for is_k in (y == k, y != k)
            )
            m = least(other - own, rank, free)
            order[u], free[m] = m, False
            uncovered &= ballots.right[:, m] == 0
        return order


def _share(
    ballots: Ballots, k: int, rows: BoolArray, uncovered: BoolArray, free: BoolArray
) -> FloatArray:
    """Return the share of some rows on which each member votes for class k, (M,)."""
    for some in (np.flatnonzero(rows & uncovered), np.flatnonzero(rows)):
        s = ballots.s[some]
        counted = s @ ballots.voting[some]
        if np.any(counted[free] > 0):
            break
    votes = (ballots.choice[some] == k) & ballots.present[some]
    # A member without a vote there knows nothing of it.
    return np.where(counted > 0, s @ votes / np.where(counted > 0, counted, 1.0), 0.0)


class CorrelationPruner(VotePruner):
    """Keep the members whose votes correlate most with those of the whole committee.

        R_m = cov(V_m, V) / sqrt( cov(V_m, V_m) cov(V, V) )
        cov(A, B) = sum_k cov over rows of [A = k] and [B = k]

    with V_m the vote of member m and V that of all members: the phi coefficient for two
    classes, Gorodkin's coefficient for more. The rows are those that m votes on; a
    member whose vote never changes has R = 0. What is dropped first has least to do
    with what the committee says, be it right or wrong: y decides among equals only.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    correlation_ : array of shape (M,)
        R_m.
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Prodromidis and Stolfo, Cost complexity-based pruning of ensemble classifiers,
    Knowledge and Information Systems 3, 2001. Gorodkin, Comparing two K-category
    assignments by a K-category correlation coefficient, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CorrelationPruner
    >>> votes = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 1, 0]])
    >>> pruner = CorrelationPruner(2).fit(np.eye(2)[votes], [0, 1, 0, 1])
    >>> pruner.correlation_.round(3).tolist(), pruner.support_.tolist()
    ([1.0, 0.577, 0.0], [0, 1])
    """

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"correlation_": np.nan}
    correlation_: FloatArray

    def _order_votes(self, ballots: Ballots) -> IntArray:
        n = ballots.total(_confusions)
        self.correlation_ = _correlation(n)
        return np.lexsort((ballots.rank, grid(-self.correlation_)))


def _confusions(ballots: Ballots) -> FloatArray:
    """Return the weight of rows with vote i of member m and j of all, (M, K, K)."""
    N, M = ballots.choice.shape
    K = ballots.n_classes
    total = np.zeros((M, K, K))
    for start in range(0, N, step := max(1, _BLOCK // (M * K))):
        rows = slice(start, start + step)
        one_hot = ballots.choice[rows, :, None] == np.arange(K)
        votes = (one_hot & ballots.present[rows, :, None]).astype(np.float64)
        whole = votes.sum(axis=1)
        # Several classes with the most votes share the row.
        top = whole == whole.max(axis=1, keepdims=True)
        share = top / top.sum(axis=1, keepdims=True) * ballots.s[rows, None]
        total += np.einsum("nmi,nj->mij", votes, share, optimize=True)
    return total


def _correlation(n: FloatArray) -> FloatArray:
    """Return the correlation of the two sides of each table (M, K, K)."""
    count = n.sum(axis=(1, 2))
    p = n / np.where(count > 0, count, 1.0)[:, None, None]
    own, whole = p.sum(axis=2), p.sum(axis=1)
    cov = np.trace(p, axis1=1, axis2=2) - (own * whole).sum(axis=1)
    spread = (own.sum(axis=1) - (own**2).sum(axis=1)) * (
        whole.sum(axis=1) - (whole**2).sum(axis=1)
    )
    rounding = 4 * np.finfo(np.float64).eps
    return np.where(spread > rounding, cov / np.sqrt(np.maximum(spread, rounding)), 0.0)
