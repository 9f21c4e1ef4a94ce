"""Criteria by which `OrderPruner` orders members: functions of their votes.

    criterion(votes) -> integers (M,): the members from best to worst,
                     or floats (M,): a score for each member, largest best,
                     or both: scores and the places by which to order equal scores.

Here equal scores are ordered by the members' own errors, then by number. Criteria that
compare members pair by pair are in `pairwise`.

Notation: b_n is 1 where the committee so far is wrong, 1/2 where its vote is tied and 0
where it is right. The signature of a member is c_mn = 1 where it votes for the right
class, -1 where it votes for another class and 0 where it abstains. All means over rows
are over the rows that the member votes on, with row weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners.ballots import TIE, Ballots, Tally, least, one_by_one, places
from committee.votes import Sums, Votes

#: Numbers in a block of rows: 1 MB, which fits the cache.
_BLOCK = 2**17


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


def contribution(votes: Votes) -> tuple[FloatArray, IntArray]:
    """Score members by their contribution to the vote of all members (EPIC).

        IC_m = mean_n   2 v_max - v_m      m is right, in the minority
                        v_sec              m is right, in the majority
                        v_y - v_m - v_max  m is wrong

    On row n, v_m is the share of members that vote as m does, v_y the share of votes for
    the right class, v_max and v_sec the largest and the second largest share; m is in
    the minority if v_m < v_max. A right vote scores most where the committee is wrong,
    and zero where all members are right.

    References
    ----------
    Lu, Wu, Zhu and Bongard, Ensemble pruning via individual contribution ordering,
    KDD 2010.
    """
    ballots = Ballots(votes)
    return ballots.total(_contributions) / ballots.counted, ballots.rank


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


def correlation(votes: Votes) -> tuple[FloatArray, IntArray]:
    """Score members by the correlation of their votes with the vote of all members.

        R_m = cov(V_m, V) / sqrt( cov(V_m, V_m) cov(V, V) )
        cov(A, B) = sum_k cov over rows of [A = k] and [B = k]

    V_m is the vote of member m and V the vote of all members: the phi coefficient for two
    classes, Gorodkin's coefficient for more. A member whose vote never changes has
    R = 0. Targets only decide between equal scores.

    References
    ----------
    Prodromidis and Stolfo, Cost complexity-based pruning of ensemble classifiers,
    Knowledge and Information Systems 3, 2001. Gorodkin, Comparing two K-category
    assignments by a K-category correlation coefficient, 2004.
    """
    ballots = Ballots(votes)
    return _correlation(ballots.total(_confusions)), ballots.rank


# --- one member after the other --------------------------------------------------------


def margin_distance(votes: Votes, p: float = 0.075) -> IntArray:
    """Add the member that moves the mean signature nearest to the point (p, ..., p).

        s_u = argmin_k || p o - (c_{s_1} + ... + c_{s_u-1} + c_k) / T ||,   o = (1, ..., 1)

    T is the number of members that vote on the row. p is small, so that rows which are
    won by p T votes no longer favour any member.

    References
    ----------
    Martinez-Munoz and Suarez, Aggregation ordering in bagging, IASTED 2004.
    """
    ballots = Ballots(votes)
    G, b, total = ballots.total(_share_sums)
    return _nearest(G / total, b / total, p, ballots.rank)


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


def boosting_order(votes: Votes) -> IntArray:
    """Choose members as boosting would, from those that exist.

        s_u = argmin_k  e_k = sum_n d_n [ vote_k(n) != y_n ] / sum_n d_n
        d_n <- d_n (K - 1) / (K e)  where s_u is wrong,   d_n / (K (1 - e))  elsewhere

    d starts as the row weights. This is the update of AdaBoost for K = 2 and of SAMME
    for more classes: afterwards the error of s_u is the error of chance, 1 - 1/K. If even
    the smallest error reaches it, d is reset and the member is chosen again; d is also
    reset after an error of zero.

    References
    ----------
    Martinez-Munoz and Suarez, Using boosting to prune bagging ensembles, Pattern
    Recognition Letters 28 (2007). Zhu et al., Multi-class AdaBoost (2009).
    """
    ballots = Ballots(votes)
    # A twin of the last member has the error of chance, up to rounding.
    chance = 1.0 - 1.0 / ballots.n_classes - TIE
    d = ballots.s

    def add(free: BoolArray, _: int) -> int:
        nonlocal d
        error = _weighted_errors(ballots, d)
        k = least(error, ballots.rank, free)
        if error[k] >= chance and d is not ballots.s:
            d = ballots.s
            error = _weighted_errors(ballots, d)
            k = least(error, ballots.rank, free)
        d = _reweighted(ballots, d, k, float(error[k]))
        return k

    return one_by_one(len(ballots.rank), add)


def specialty(votes: Votes) -> IntArray:
    """Add specialists for one class after the other, on rows not yet covered.

        J_mk = P( vote_m = k | y = k ) - P( vote_m = k | y != k )
        s_u  = argmax_m J_mk   on the rows that no member chosen before gets right

    for k = 1, ..., K in turn. If no free member votes on an uncovered row, a share is
    computed over all rows.

    References
    ----------
    Prodromidis, Stolfo and Chan, Effective and efficient pruning of meta-classifiers in
    a distributed data mining system, Columbia University 1998, whose metrics of
    specialty and coverage are joined here.
    """
    ballots = Ballots(votes)
    y, K = np.asarray(votes.y), ballots.n_classes
    uncovered = np.ones(len(y), dtype=bool)

    def add(free: BoolArray, u: int) -> int:
        nonlocal uncovered
        k = u % K
        own, other = (
            _share(ballots, k, is_k, uncovered, free) for is_k in (y == k, y != k)
        )
        m = least(other - own, ballots.rank, free)
        uncovered = uncovered & (ballots.right[:, m] == 0)
        return m

    return one_by_one(len(ballots.rank), add)


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
    y = np.asarray(ballots.votes.y, dtype=np.intp)[rows, None]
    v_y = np.take_along_axis(v, y, axis=1)
    v_m = v[np.arange(N)[:, None], choice]
    when_right = np.where(v_m < v_max, 2 * v_max - v_m, v_sec)
    parts: FloatArray = np.where(choice == y, when_right, v_y - v_m - v_max) * present
    return parts


def _signature_sums(ballots: Ballots) -> Sums:
    """Return products of (o, c_ens) with themselves, (2, 2), and with c, (2, M)."""
    c = ballots.right - ballots.wrong
    voters = ballots.present.sum(axis=1)
    both = np.array([voters > 0, c.sum(axis=1) / np.maximum(voters, 1)])
    heavy = ballots.s * both
    return Sums((heavy @ both.T, heavy @ c))


def _share_sums(ballots: Ballots) -> Sums:
    """Return G and b, from signatures over the number of voters, and sum s."""
    voters = ballots.present.sum(axis=1)
    rows = voters > 0
    root = np.sqrt(ballots.s[rows])
    c = (ballots.right - ballots.wrong)[rows] / voters[rows, None]
    c *= root[:, None]
    return Sums((c.T @ c, root @ c, float(root @ root)))


def _nearest(G: FloatArray, b: FloatArray, p: float, rank: IntArray) -> IntArray:
    """Order members by | p o - sum c |^2 = p^2 - 2 p b'z + z'Gz, z the chosen."""
    M = len(G)
    score = np.diag(G) - 2 * p * b

    def add(free: BoolArray, _: int) -> int:
        nonlocal score
        k = least(score, rank, free, unit=1.0 / M)
        # (z + e_m)'G(z + e_m) gains 2 G_mk for every later m.
        score = score + 2 * G[k]
        return k

    return one_by_one(M, add)


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
    # Without a vote there the share is zero.
    return np.where(counted > 0, s @ votes / np.where(counted > 0, counted, 1.0), 0.0)


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
