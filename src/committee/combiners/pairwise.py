"""Pruners that look at how alike the members are, pair by pair."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.ballots import TIE, Ballots, Tally, grid, least
from committee.combiners.base import Combiner
from committee.combiners.selection import (
    OrderingPruner,
    VotePruner,
    ballots_of,
    equal_weights,
    votes_tags,
)
from committee.diagnostics.agreement import Agreement, count_agreement
from committee.votes import Sums, Votes

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

    def _weigh(self, problem: Votes) -> FloatArray:
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
