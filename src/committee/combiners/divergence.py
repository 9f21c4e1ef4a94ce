"""KLPruner: members that diverge, in their outputs or in the rows they were given."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import Interval, StrOptions
from committee.combiners.ballots import Ballots, least
from committee.combiners.selection import OrderingPruner, VotePruner
from committee.votes import Sums

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17


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
    compare : {"outputs", "rows"}, default="outputs"
        What is compared: the members' outputs, or, as Margineantu and Dietterich do,
        the weights P_i that AdaBoost puts on the rows before it trains member i. These
        follow from the votes of the members before it, by the update of `AdaBoost`, if F
        has all members in the order of their training, without restarts, on the rows
        they were trained on (`weigh_on="train"`).

            J_ij = sum_n (P_in - P_jn) log(P_in / P_jn)

    Attributes
    ----------
    order_, weights_, path_, support_
        As in `BestPruner`.

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
        "compare": [StrOptions({"outputs", "rows"})],
    }

    takes_chunks: ClassVar[bool] = True

    def __init__(
        self,
        n_members: int = 25,
        *,
        smoothing: float = 0.01,
        compare: str = "outputs",
    ) -> None:
        super().__init__(n_members)
        self.smoothing = smoothing
        self.compare = compare

    def _order_votes(self, ballots: Ballots) -> IntArray:
        if self.compare == "rows":
            J = _row_divergence(boosting_weights(ballots))
        else:
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


def boosting_weights(ballots: Ballots) -> FloatArray:
    """Return P (M, N): AdaBoost's row weights before each member was trained.

    P_1 ~ s,   P_{t+1,n} ~ P_tn (K - 1) (1 - eps_t) / eps_t  where t is wrong
    """
    problem = ballots.problem
    if not problem.in_memory or problem.held_out is not None:
        raise ValueError(
            'KLPruner(compare="rows") needs the votes of boosted members on the rows in '
            "memory that they were all trained on, without held_out."
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
