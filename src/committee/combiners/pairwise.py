"""Pruners that look at how alike the members are, pair by pair."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.ballots import Ballots, Tally, grid, least
from committee.combiners.selection import OrderingPruner, VotePruner
from committee.combiners.similarity import agreement, symmetric_divergence


class KappaPruner(VotePruner):
    """Keep the pairs of members that agree least beyond chance.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij)

    with A_ij the share of rows on which i and j vote alike and P_ij that by
    chance (see `pairwise_kappa`), on the rows that both speak on. Pairs are taken
    in order of kappa until there are enough members; of a pair the member of less
    error comes first, which decides when one place is left. Pairs without a
    common row come last. Accuracy plays no part otherwise.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal on the chosen members.
    order_ : array of shape (M,)
        All members, in the order of their first pair; equal pairs by number.
    path_ : Path
        Error of the first 1, 2, ..., M members of the order.
    support_ : array
        The chosen members.

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
        score = np.nan_to_num(grid(kappa[i, j]), nan=np.inf)
        rank = ballots.rank
        first, second = np.where(rank[i] < rank[j], (i, j), (j, i))
        pairs = np.argsort(score, kind="stable")
        return _first_met(np.column_stack([first, second])[pairs], len(kappa))


class KLPruner(VotePruner):
    """Keep the members whose class probabilities diverge most.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)
        s_u = argmax_k  J_{k s_1} + ... + J_{k s_u-1}

    the Kullback-Leibler divergence from i to j and back, on the rows that both
    speak on; the first two are the pair of largest J. The rows of F are scaled to
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
    weights_ : array of shape (M,)
        Equal on the chosen members.
    order_ : array of shape (M,)
        All members, best first; equal ones by their own error, then by number.
    path_ : Path
        Error of the first 1, 2, ..., M members of the order.
    support_ : array
        The chosen members.

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
    over the rows that both speak on, 0 if there are none.

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
    weights_ : array of shape (M,)
        Equal on the chosen members.
    order_ : array of shape (M,)
        All members, best first; equal ones by their own error, then by number.
    path_ : Path
        Error of the first 1, 2, ..., M members of the order.
    support_ : array
        The chosen members.

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
