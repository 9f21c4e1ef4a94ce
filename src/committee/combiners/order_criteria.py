"""Criteria by which `OrderPruner` orders members: functions of their votes.

    criterion(votes) -> integers (M,): the members from best to worst,
                     or floats (M,): a score for each member, largest best,
                     or both: scores and the places by which to order equal scores.

Here equal scores are ordered by the members' own errors, then by number. Criteria that
compare members pair by pair follow those of single members.

Notation: b_n is 1 where the committee so far is wrong, 1/2 where its vote is tied and 0
where it is right. The signature of a member is c_mn = 1 where it votes for the right
class, -1 where it votes for another class and 0 where it abstains. All means over rows
are over the rows that the member votes on, with row weights.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

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
    places,
    votes_tags,
)
from committee.combiners.base import Combiner
from committee.diagnostics.agreement import Agreement, count_agreement
from committee.votes import Sums, Votes

# --- scores of single members ----------------------------------------------------------


def best(votes: Votes) -> IntArray:
    """Order members by their own error, smallest first.

        e_m = mean_n [ vote_m(n) != y_n ],   or   mean_n (f_m(n) - y_n)^2

    It does not compare members: identical members are both kept.
    """
    if votes.n_classes is not None:
        return np.argsort(Ballots(votes).rank)
    # Logarithms: errors that differ by a share of 1e-10 are ties.
    with np.errstate(divide="ignore"):
        log_error = np.log(votes.total(_squares, votes.mean_weight()).root_mean())
    return np.argsort(places(log_error))


def orientation(votes: Votes) -> tuple[FloatArray, IntArray]:
    """Score members by the angle between their signature and a reference.

        c_ref = o + lambda c_ens,   c_ref . c_ens = 0,   o = (1, ..., 1)
        cos(angle_m) = c_m . c_ref / (|c_m| |c_ref|)

    c_ens is the mean signature of the members that vote on the row. Its projection is
    removed from o, so that rows on which the whole committee is wrong weigh most. If
    c_ens is parallel to o, the reference is o and the order is by error. The authors
    keep the members whose cosine is above zero.

    References
    ----------
    Martinez-Munoz and Suarez, Pruning in ordered bagging ensembles, ICML 2006.
    """
    ballots = Ballots(votes)
    products, along = ballots.total(_signature_sums)
    (oo, oc), (_, cc) = products
    # c_ref = o - share c_ens; all of o if nothing else would be left.
    share = oc / cc if cc > 0 else 0.0
    if (square := oo - share * oc) <= TIE * oo:
        share, square = 0.0, oo
    length = np.sqrt(ballots.counted * square)
    return (along[0] - share * along[1]) / length, ballots.rank


# --- one member after the other --------------------------------------------------------


def complementarity(votes: Votes) -> IntArray:
    """Add the member with the best accuracy where the committee is wrong.

        s_u = argmax_k  mean_n [ vote_k(n) = y_n ] b_n

    b_n is 1 on rows without votes, so the first member is the one with the smallest error.

    References
    ----------
    Martinez-Munoz and Suarez, Aggregation ordering in bagging, IASTED 2004.
    """
    ballots = Ballots(votes)
    tally, counted, rank = Tally(ballots), ballots.counted, ballots.rank

    def add(free: BoolArray, _: int) -> int:
        rights = (ballots.s * tally.failing) @ ballots.right
        k = least(-rights / counted, rank, free)
        tally.add(k)
        return k

    return one_by_one(len(rank), add)


def concurrency(votes: Votes) -> IntArray:
    """Remove, one by one, the member that helps the others least.

        con_k = mean_n   2 [ k right, committee wrong ] + [ k right, committee right ]
                       - 2 [ k wrong, committee wrong ]

    The committee consists of the members that are left, including k, and votes again
    after every removal; a tie is half right, half wrong. The member that is removed last
    is the best; of equal members the one with the larger error is removed first.

    References
    ----------
    Banfield, Hall, Bowyer and Kegelmeyer, Ensemble diversity measures and their
    application to thinning, Information Fusion 6 (2005).
    """
    ballots = Ballots(votes)
    tally, counted, rank = Tally(ballots), ballots.counted, ballots.rank
    for m in range(len(rank)):
        tally.add(m)
    # con = [right] + b ([right] - 2 [wrong])
    rights = ballots.s @ ballots.right
    where_wrong = ballots.right - 2 * ballots.wrong

    def remove(free: BoolArray, _: int) -> int:
        con = rights + (ballots.s * tally.failing) @ where_wrong
        k = least(con / counted, -rank, free)
        tally.remove(k)
        return k

    return one_by_one(len(rank), remove)[::-1]


# --- sums over rows --------------------------------------------------------------------


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


def _squares(votes: Votes, mean_weight: float) -> _Squares:
    """Return the sums of the squares of half the errors."""
    # Halved, so that a difference of large numbers stays in range.
    E = np.asarray(votes.F, dtype=np.float64) / 2 - votes.y[:, None] / 2
    if votes.held_out is not None:
        E[~votes.held_out] = 0.0
    largest = np.abs(E).max(axis=0)
    s = votes.row_weights / mean_weight
    counted = s.sum() if votes.held_out is None else s @ votes.held_out
    squares = s @ (E / np.where(largest > 0, largest, 1.0)) ** 2
    return _Squares(largest, squares, np.broadcast_to(counted, largest.shape))


def _signature_sums(ballots: Ballots) -> Sums:
    """Return products of (o, c_ens) with themselves, (2, 2), and with c, (2, M)."""
    c = ballots.right - ballots.wrong
    voters = ballots.present.sum(axis=1)
    both = np.array([voters > 0, c.sum(axis=1) / np.maximum(voters, 1)])
    heavy = ballots.s * both
    return Sums((heavy @ both.T, heavy @ c))


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
