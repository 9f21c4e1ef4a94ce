"""How alike the members are, pair by pair, on the rows on which both vote."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray
from committee.combiners.ballots import Ballots
from committee.combiners.problem import Sums
from committee.diagnostics.agreement import Agreement, count_agreement

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17


def agreement(ballots: Ballots) -> Agreement:
    """Return how alike every pair votes on the rows on which both do.

    Parameters
    ----------
    ballots : Ballots

    Returns
    -------
    agreement : Agreement
    """
    return Agreement(*ballots.total(_agreement_sums))


def _agreement_sums(ballots: Ballots) -> Sums:
    mask = ballots.present if ballots.problem.masked else None
    return Sums(count_agreement(ballots.choice, ballots.n_classes, mask, ballots.s))


def symmetric_divergence(ballots: Ballots, smoothing: float) -> FloatArray:
    """Return the divergence of every pair, in both directions.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)

    on the rows on which both members vote, by matrix products. Rows of F are cut
    at zero, scaled to sum one and mixed with the uniform distribution. Pairs
    without a common row have the mean J of the others.

    Parameters
    ----------
    ballots : Ballots
    smoothing : float in (0, 1)
        Share of the uniform distribution.

    Returns
    -------
    J : array of shape (M, M)
    """
    own, cross, n = ballots.total(_divergence_sums, smoothing)
    known = np.broadcast_to(n > 0, cross.shape)
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
        counted = ballots.spoken[rows] if masked else np.ones((len(ballots.s[rows]), 1))
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
    largest = p.max(axis=1, keepdims=True)
    voted = ballots.choice[rows][:, None] == np.arange(p.shape[1])[:, None]
    p = np.where(largest > 0, p / np.where(largest > 0, largest, 1.0), voted)
    p *= (1 - smoothing) / p.sum(axis=1, keepdims=True)
    p += smoothing / p.shape[1]
    return p
