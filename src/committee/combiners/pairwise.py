"""Pruners that look at how alike the members are, pair by pair."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.ballots import TIE, Ballots, Tally, grid, least
from committee.combiners.base import Combiner
from committee.combiners.problem import Problem, Sums
from committee.combiners.selection import (
    OrderingPruner,
    VotePruner,
    ballots_of,
    equal_weights,
    votes_tags,
)
from committee.diagnostics.agreement import Agreement, count_agreement

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17


class KappaPruner(VotePruner):
    """Keep the pairs of members that agree least beyond chance.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij)

    with A_ij the share of rows on which i and j vote alike and P_ij that by
    chance (see `pairwise_kappa`), on the rows that both vote on. Pairs are taken
    in order of kappa until there are enough members; of a pair the member of less
    error comes first, which decides when one place is left. Pairs without a
    common row come last. Accuracy plays no part otherwise.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    order_ : array of shape (M,)
        All members, in the order of their first pair; equal pairs by number.
    weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import KappaPruner
    >>> votes = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
    >>> KappaPruner(2).fit(np.eye(2)[votes], [0, 0, 1, 1]).support_.tolist()
    [0, 2]
    """

    takes_chunks: ClassVar[bool] = True

    def _order_votes(self, ballots: Ballots) -> IntArray:
        kappa = agreement(ballots).kappa
        i, j = np.triu_indices(len(kappa), k=1)
        # Without a common row kappa is NaN: such pairs come last.
        score = np.nan_to_num(grid(kappa[i, j]), nan=np.inf)
        rank = ballots.rank
        first, second = np.where(rank[i] < rank[j], (i, j), (j, i))
        pairs = np.argsort(score, kind="stable")
        return _first_met(np.column_stack([first, second])[pairs], len(kappa))


class KappaErrorHullPruner(Combiner):
    """Keep the pairs on the convex hull of the kappa-error diagram.

        x_ij = kappa_ij,   y_ij = (e_i + e_j) / 2

    Every pair is a point. The lower left part of the hull runs from the pair that
    agrees least to the pair that errs least; the members of all pairs on it are
    kept, so the number is found and not given. Pairs without a common row have no
    kappa and are left out of the diagram.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal on the chosen members.
    pairs_ : array of shape (n, 2)
        The pairs on the hull, from the most diverse to the most accurate.
    support_ : array
        The chosen members; the best one where there is no pair.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import KappaErrorHullPruner
    >>> votes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    >>> hull = KappaErrorHullPruner().fit(np.eye(2)[votes], [0] * 4)
    >>> hull.pairs_.tolist(), hull.support_.tolist()
    ([[1, 2], [0, 1]], [0, 1, 2])
    """

    takes_chunks: ClassVar[bool] = True
    _numbers: ClassVar[tuple[str, ...]] = ("pairs_",)
    pairs_: IntArray

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    def _weigh(self, problem: Problem) -> FloatArray:
        ballots = ballots_of(self, problem)
        kappa = agreement(ballots).kappa
        i, j = np.nonzero(np.triu(~np.isnan(kappa), k=1))
        error = ballots.errors()
        hull = lower_left_hull(kappa[i, j], (error[i] + error[j]) / 2)
        self.pairs_ = np.column_stack([i, j])[hull]
        chosen = np.unique(self.pairs_)
        if len(chosen) == 0:
            chosen = np.flatnonzero(ballots.rank == 0)
        return equal_weights(chosen, problem.n_members)


class KLPruner(VotePruner):
    """Keep the members whose class probabilities diverge most.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)
        s_u = argmax_k  J_{k s_1} + ... + J_{k s_u-1}

    the Kullback-Leibler divergence from i to j and back, on the rows that both
    vote on; the first two are the pair of largest J. The rows of F are scaled to
    probabilities and mixed with a share `smoothing` of the uniform distribution,
    so that votes of 0 and 1 have a divergence: for votes J is proportional to the
    share of rows on which i and j disagree. A pair without a common row counts as
    the mean pair. Accuracy plays no part.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.
    smoothing : float in (0, 1), default=0.01
        Share of the uniform distribution.

    Attributes
    ----------
    order_, weights_, path_, support_
        As in `BestPruner`.

    Notes
    -----
    Margineantu and Dietterich compare the weights that AdaBoost puts on the rows;
    other members have none, so that here the members' outputs are compared.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    >>> from committee import KLPruner
    >>> F = [[[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]], [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]]
    >>> KLPruner(2).fit(F, [0, 1]).support_.tolist()
    [0, 2]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrderingPruner._parameter_constraints,
        "smoothing": [Interval(Real, 0, 1, closed="neither")],
    }

    takes_chunks: ClassVar[bool] = True

    def __init__(self, n_members: int = 25, *, smoothing: float = 0.01) -> None:
        super().__init__(n_members)
        self.smoothing = smoothing

    def _order_votes(self, ballots: Ballots) -> IntArray:
        J = symmetric_divergence(ballots, self.smoothing)
        M, rank = len(J), ballots.rank
        free = np.ones(M, dtype=bool)
        order = np.empty(M, dtype=np.intp)
        # Both members of the pair of largest J have this maximum: rank decides.
        total = J.max(axis=1)
        for u in range(M):
            k = least(-total, rank, free)
            order[u], free[k] = k, False
            total = J[k] if u == 0 else total + J[k]
        return order


class DREPPruner(VotePruner):
    """Of the members that differ most, add the one that reduces the error most.

        diff_kj = mean_n ( [ vote_k = vote_j ] - [ vote_k != vote_j ] )
        G = the rho |H| free members k of least  mean_j diff_kj,  j chosen before
        s_u = argmin_{k in G}  error( {s_1, ..., s_u-1, k} )

    The first member is that of least error. For two classes diff is the product
    of votes +-1, so the mean is that of a member's vote with the committee's mean
    vote. The error is that of the vote of equals, a tie counting one half. diff is
    over the rows that both vote on, 0 if there are none.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer. The authors stop at the first
        step that does not reduce the error: see `path_`.
    rho : float in (0, 1], default=0.4
        Share of the free members, rounded up, among which the error decides: 1
        is greedy reduction of the error, near 0 only difference counts.

    Attributes
    ----------
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Li, Yu and Zhou, Diversity regularized ensemble pruning, ECML PKDD 2012.

    Examples
    --------
    The twin of the best member waits until last.

    >>> import numpy as np
    >>> from committee import DREPPruner
    >>> votes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]])
    >>> DREPPruner().fit(np.eye(2)[votes], [0] * 4).order_.tolist()
    [0, 3, 2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrderingPruner._parameter_constraints,
        "rho": [Interval(Real, 0, 1, closed="right")],
    }

    needs_all: ClassVar[str] = "votes on all rows anew for every member it adds"

    def __init__(self, n_members: int = 25, *, rho: float = 0.4) -> None:
        super().__init__(n_members)
        self.rho = rho

    def _order_votes(self, ballots: Ballots) -> IntArray:
        # [same] - [different] = 2 [same] - 1, zero for pairs without a common row.
        diff = np.nan_to_num(2 * agreement(ballots).observed - 1)
        M, rank, tally = len(diff), ballots.rank, Tally(ballots)
        free = np.ones(M, dtype=bool)
        order = np.empty(M, dtype=np.intp)
        order[0] = rank.argmin()
        total = np.zeros(M)
        for u in range(1, M + 1):
            k = int(order[u - 1])
            free[k] = False
            tally.add(k)
            total += diff[k]
            if u < M:
                unlike = self._most_unlike(total / u, rank, free)
                order[u] = least(tally.errors_with(), rank, unlike)
        return order

    def _most_unlike(
        self, diff: FloatArray, rank: IntArray, free: BoolArray
    ) -> BoolArray:
        """Return the first rho |H| free members by difference, as a mask."""
        members = np.flatnonzero(free)
        by_diff = np.lexsort((rank[members], grid(diff[members])))
        mask = np.zeros(len(free), dtype=bool)
        mask[members[by_diff[: int(np.ceil(self.rho * len(members)))]]] = True
        return mask


def _first_met(pairs: IntArray, M: int) -> IntArray:
    """Return the members in the order in which the pairs name them."""
    members, first = np.unique(pairs, return_index=True)
    order: IntArray = members[np.argsort(first)]
    return order if M > 1 else np.zeros(1, dtype=np.intp)


def lower_left_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Return the points on the convex hull from the leftmost to the lowest.

    Of the leftmost points the lowest counts, of the lowest the leftmost. Points on
    an edge, or equal to a corner, are on the hull. Returns the numbers of the points
    x, y, both (n,), from left to right, equal ones in order.
    """
    if len(x) == 0:
        return np.empty(0, dtype=np.intp)
    x, y = grid(x) * TIE, grid(y) * TIE
    at = int(np.lexsort((y, x))[0])
    on = (x == x[at]) & (y == y[at])
    while True:
        dx, dy = x - x[at], y - y[at]
        below = np.flatnonzero((dy < 0) & (dx > 0))
        if len(below) == 0:
            break
        # The edge leads to the point of steepest descent; of several the farthest.
        slope = dy[below] / dx[below]
        steepest = slope.min()
        flat = dy - steepest * dx <= TIE * (1 - steepest)
        edge = below[flat[below]]
        on[edge] = True
        at = int(edge[dx[edge].argmax()])
    points = np.flatnonzero(on)
    return points[np.lexsort((points, -y[points], x[points]))]


def agreement(ballots: Ballots) -> Agreement:
    """Return how alike every pair votes on the rows on which both do."""
    return Agreement(*ballots.total(_agreement_sums))


def _agreement_sums(ballots: Ballots) -> Sums:
    mask = ballots.present if ballots.problem.masked else None
    return Sums(count_agreement(ballots.choice, ballots.n_classes, mask, ballots.s))


def symmetric_divergence(ballots: Ballots, smoothing: float) -> FloatArray:
    """Return the divergence of every pair, in both directions.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)

    on the rows on which both members vote, by matrix products. Rows of F are cut
    at zero, scaled to sum one and mixed with a share `smoothing` of the uniform
    distribution. Pairs without a common row have the mean J of the others.
    """
    own, cross, n = ballots.total(_divergence_sums, smoothing)
    known = np.broadcast_to(n > 0, cross.shape)
    # sum (p_i - p_j)(log p_i - log p_j): own terms minus the crossed ones.
    J = np.where(known, own + own.T - cross - cross.T, 0.0)
    J = np.maximum(J / np.where(known, n, 1.0), 0.0)
    J[np.diag_indices(len(J))] = 0.0
    pairs = known & ~np.eye(len(J), dtype=bool)
    return np.where(known, J, J[pairs].mean() if pairs.any() else 0.0)


def _divergence_sums(ballots: Ballots, smoothing: float) -> Sums:
    """Return sums over common rows: p_i log p_i, p_i log p_j, their weight.

    Where all vote on all rows the first and the last have one column.
    """
    N, M, K = ballots.problem.F.shape
    masked = ballots.problem.masked
    own, n = np.zeros((M, M if masked else 1)), np.zeros((M, M) if masked else (1, 1))
    cross = np.zeros((M, M))
    for start in range(0, N, step := max(1, _BLOCK // (M * K))):
        rows = slice(start, start + step)
        counted = ballots.voting[rows] if masked else np.ones((len(ballots.s[rows]), 1))
        p = _probabilities(ballots, rows, smoothing)
        log_p = np.log(p)
        heavy = ballots.s[rows, None] * counted
        n += heavy.T @ counted
        own += (heavy * (p * log_p).sum(axis=1)).T @ counted
        p *= heavy[:, None]
        if masked:
            log_p *= counted[:, None]
        cross += p.reshape(-1, M).T @ log_p.reshape(-1, M)
    return Sums((own, cross, n))


def _probabilities(ballots: Ballots, rows: slice, smoothing: float) -> FloatArray:
    """Return positive class probabilities of a row block, (n, K, M)."""
    p = np.maximum(ballots.problem.F[rows].transpose(0, 2, 1), 0.0, dtype=np.float64)
    # First over the largest entry, so that no sum overflows; a row without a positive
    # entry is the vote that argmax makes of it.
    largest = p.max(axis=1, keepdims=True)
    voted = ballots.choice[rows][:, None] == np.arange(p.shape[1])[:, None]
    p = np.where(largest > 0, p / np.where(largest > 0, largest, 1.0), voted)
    p *= (1 - smoothing) / p.sum(axis=1, keepdims=True)
    p += smoothing / p.shape[1]
    return p
