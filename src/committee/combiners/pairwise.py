"""Measures of pairs of members: kappa, divergence, difference, and pruning by them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners.ballots import (
    TIE,
    Ballots,
    Tally,
    equal_weights,
    grid,
    least,
    one_by_one,
    votes_tags,
)
from committee.combiners.base import Combiner
from committee.diagnostics.agreement import Agreement, count_agreement
from committee.votes import Sums, Votes

#: Numbers in a block of rows: 1 MB, which fits the cache.
_BLOCK = 2**17


def kappa(votes: Votes) -> IntArray:
    """Order members by the pairs that agree least beyond chance.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij)

    A_ij is the share of rows on which i and j vote for the same class and P_ij that by
    chance (see `pairwise_kappa`), on the rows that both vote on. Pairs are taken in
    order of kappa; of a pair the member of less error comes first. Pairs without a common
    row come last.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.
    """
    ballots = Ballots(votes)
    kappas = agreement(ballots).kappa
    i, j = np.triu_indices(len(kappas), k=1)
    # Without a common row kappa is NaN: such pairs come last.
    score = np.nan_to_num(grid(kappas[i, j]), nan=np.inf)
    rank = ballots.rank
    first, second = np.where(rank[i] < rank[j], (i, j), (j, i))
    pairs = np.argsort(score, kind="stable")
    return _first_met(np.column_stack([first, second])[pairs], len(kappas))


def kl(votes: Votes, smoothing: float = 0.01) -> IntArray:
    """Add the member whose class probabilities diverge most from the chosen ones.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)
        s_u = argmax_k  J_{k s_1} + ... + J_{k s_u-1}

    J is the Kullback-Leibler divergence in both directions, on the rows that both members
    vote on; the first two members are the pair of largest J. The rows of F are scaled to
    probabilities and mixed with a share `smoothing` of the uniform distribution, so
    that J is finite for votes, where it is proportional to the share of rows on which
    i and j disagree. A pair without a common row has the mean J.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.
    """
    ballots = Ballots(votes)
    return _most_divergent(symmetric_divergence(ballots, smoothing), ballots)


def kl_rows(votes: Votes) -> IntArray:
    """Add the member whose training weights diverge most from the chosen members'.

        J_ij = sum_n (P_in - P_jn) log(P_in / P_jn)

    P_i are the row weights with which AdaBoost trained member i, as in Margineantu and
    Dietterich (1997). They follow from the votes of the earlier members, if F has all
    members in the order of their training, without restarts, on the rows that they were
    trained on (`weigh_on="train"`).
    """
    ballots = Ballots(votes)
    return _most_divergent(_row_divergence(boosting_weights(ballots)), ballots)


def drep(votes: Votes, rho: float = 0.4) -> IntArray:
    """Of the members that differ most, add the one that reduces the error most.

        diff_kj = mean_n ( [ vote_k = vote_j ] - [ vote_k != vote_j ] )
        G = the rho |H| free members k of least  mean_j diff_kj,  j chosen before
        s_u = argmin_{k in G}  error( {s_1, ..., s_u-1, k} )

    The first member is the one with the smallest error. diff is over the rows that both vote on, 0
    if there are none. In the error, which is of the vote of equals, a tie counts one
    half. rho in (0, 1] is the share of the free members, rounded up, of which the error
    decides: 1 is greedy reduction of the error. The authors stop at the first step that
    does not reduce the error: see `path_`.

    References
    ----------
    Li, Yu and Zhou, Diversity regularized ensemble pruning, ECML PKDD 2012.
    """
    ballots = Ballots(votes)
    # [same] - [different] = 2 [same] - 1, zero for pairs without a common row.
    diff = np.nan_to_num(2 * agreement(ballots).observed - 1)
    rank, tally, total = ballots.rank, Tally(ballots), np.zeros(len(diff))

    def add(free: BoolArray, u: int) -> int:
        nonlocal total
        if u == 0:
            k = int(rank.argmin())
        else:
            candidates = _least_alike(total / u, rank, free, rho)
            k = least(tally.errors_with(), rank, candidates)
        tally.add(k)
        total = total + diff[k]
        return k

    return one_by_one(len(diff), add)


def _least_alike(
    diff: FloatArray, rank: IntArray, free: BoolArray, rho: float
) -> BoolArray:
    """Return the first rho |H| free members by difference, as a mask."""
    members = np.flatnonzero(free)
    by_diff = np.lexsort((rank[members], grid(diff[members])))
    mask = np.zeros(len(free), dtype=bool)
    mask[members[by_diff[: int(np.ceil(rho * len(members)))]]] = True
    return mask


def _most_divergent(J: FloatArray, ballots: Ballots) -> IntArray:
    """Return the pair with the largest J, then always the largest sum over the chosen."""
    rank = ballots.rank
    # Both members of the pair of largest J have this maximum: rank decides.
    total = J.max(axis=1)

    def add(free: BoolArray, u: int) -> int:
        nonlocal total
        k = least(-total, rank, free)
        total = J[k] if u == 0 else total + J[k]
        return k

    return one_by_one(len(J), add)


class KappaErrorHullPruner(Combiner):
    """Keep the pairs on the convex hull of the kappa-error diagram.

        x_ij = kappa_ij,   y_ij = (e_i + e_j) / 2

    Every pair is a point. The lower left part of the hull runs from the pair that
    agrees least to the pair with the smallest error. The members of all pairs on it are
    kept, so the number of members is not a parameter. Pairs without a common row are
    ignored.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal weights for the chosen members, zero for the others.
    pairs_ : array of shape (n, 2)
        The pairs on the hull, from the most diverse to the most accurate.
    support_ : array
        Indices of the chosen members; the best single member if no pair has a kappa.

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

    def _weigh(self, votes: Votes) -> FloatArray:
        ballots = Ballots(votes)
        pairs, kappa, error = kappa_and_error(ballots)
        self.pairs_ = pairs[lower_left_hull(kappa, error)]
        chosen = np.unique(self.pairs_)
        if len(chosen) == 0:
            chosen = np.flatnonzero(ballots.rank == 0)
        return equal_weights(chosen, votes.n_members)


def _first_met(pairs: IntArray, M: int) -> IntArray:
    """Return the members in the order in which the pairs name them."""
    members, first = np.unique(pairs, return_index=True)
    order: IntArray = members[np.argsort(first)]
    return order if M > 1 else np.zeros(1, dtype=np.intp)


def kappa_and_error(ballots: Ballots) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the pairs with a common row, (n, 2), their kappa and their mean error."""
    kappa, error = agreement(ballots).kappa, ballots.errors()
    i, j = np.nonzero(np.triu(~np.isnan(kappa), k=1))
    return np.column_stack([i, j]), kappa[i, j], (error[i] + error[j]) / 2


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
    """Return the agreement of every pair on the rows on which both vote."""
    return Agreement(*ballots.total(_agreement_sums))


def _agreement_sums(ballots: Ballots) -> Sums:
    mask = ballots.present if ballots.votes.masked else None
    return Sums(count_agreement(ballots.choice, ballots.n_classes, mask, ballots.s))


def boosting_weights(ballots: Ballots) -> FloatArray:
    """Return P (M, N): AdaBoost's row weights before each member was trained.

    P_1 ~ s,   P_{t+1,n} ~ P_tn (K - 1) (1 - eps_t) / eps_t  where t is wrong
    """
    votes = ballots.votes
    if not votes.in_memory or votes.held_out is not None:
        raise ValueError(
            'criterion="kl-rows" needs votes of boosted members on their common '
            "training rows, in memory and without held_out."
        )
    K, P = ballots.n_classes, ballots.s / ballots.s.sum()
    weights = np.empty((ballots.wrong.shape[1], len(P)))
    for t, wrong in enumerate(ballots.wrong.T):
        weights[t] = P
        eps = float(P @ wrong)
        if 0.0 < eps < 1.0 - 1.0 / K:
            P = P * np.where(wrong > 0, (K - 1) * (1 - eps) / eps, 1.0)
            P /= P.sum()
    return weights


def _row_divergence(P: FloatArray) -> FloatArray:
    """Return J_ij = sum_n (P_in - P_jn) log(P_in / P_jn), rows of weight zero left out."""
    P = P[:, P[0] > 0]
    log_P = np.log(P)
    cross = P @ log_P.T
    own = np.diag(cross)
    J: FloatArray = own[:, None] + own[None] - cross - cross.T
    return np.maximum(J, 0.0)


def symmetric_divergence(ballots: Ballots, smoothing: float) -> FloatArray:
    """Return the divergence of every pair, in both directions.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)

    on the rows on which both members vote, by matrix products. Rows of F are cut
    at zero, scaled to sum to one and mixed with a share `smoothing` of the uniform
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
    N, M, K = ballots.votes.F.shape
    masked = ballots.votes.masked
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
    p = np.maximum(ballots.votes.F[rows].transpose(0, 2, 1), 0.0, dtype=np.float64)
    # First over the largest entry, so that no sum overflows; a row without a positive
    # entry is the vote that argmax makes of it.
    largest = p.max(axis=1, keepdims=True)
    voted = ballots.choice[rows][:, None] == np.arange(p.shape[1])[:, None]
    p = np.where(largest > 0, p / np.where(largest > 0, largest, 1.0), voted)
    p *= (1 - smoothing) / p.sum(axis=1, keepdims=True)
    p += smoothing / p.shape[1]
    return p
