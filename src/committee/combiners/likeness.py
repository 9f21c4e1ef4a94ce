"""How alike the members are, pair by pair, on the rows that both speak on."""

from __future__ import annotations

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.combiners.ballots import TIE, Ballots
from committee.combiners.problem import Sums

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17


def agreement(ballots: Ballots) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how alike every pair votes on the rows that both speak on.

        A_ij = sum_n s_n [ vote_i = vote_j ] / n_ij
        P_ij = sum_k p_ik p_jk    (p_ik: share of the same rows, i votes for k)

    Parameters
    ----------
    ballots : Ballots

    Returns
    -------
    A, P, n : arrays of shape (M, M)
        Agreement, agreement by chance and the weight of the common rows; A and P
        are 0 where there are none.
    """
    same, votes, n = ballots.total(_agreement_sums)
    known = np.where(n > 0, n, 1.0)
    chance = (votes * votes.transpose(0, 2, 1)).sum(axis=0)
    return same / known, chance / known**2, np.broadcast_to(n, same.shape)


def _agreement_sums(ballots: Ballots) -> Sums:
    """Return sums over rows: votes alike, votes of i where j speaks, common rows.

    Where all speak the latter two are the same for all j, and have one column.
    """
    N, M = ballots.choice.shape
    masked = ballots.problem.masked
    root = np.sqrt(ballots.s)[:, None]
    same, n = np.zeros((M, M)), np.zeros((M, M) if masked else (1, 1))
    votes = np.zeros((ballots.n_classes, M, M if masked else 1))
    for start in range(0, N, step := max(1, _BLOCK // M)):
        rows = slice(start, start + step)
        spoken = ballots.present[rows] * root[rows]
        n += spoken.T @ spoken if masked else float(ballots.s[rows].sum())
        for k in range(ballots.n_classes):
            V = spoken * (ballots.choice[rows] == k)
            same += V.T @ V
            votes[k] += V.T @ (spoken if masked else root[rows])
    return Sums((same, votes, n))


def kappa(ballots: Ballots) -> tuple[FloatArray, BoolArray]:
    """Return Cohen's kappa of every pair, and where the pair has a common row.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij)

    Parameters
    ----------
    ballots : Ballots

    Returns
    -------
    kappa : array of shape (M, M)
        1 where both always vote for one and the same class.
    known : bool array of shape (M, M)
    """
    A, P, n = agreement(ballots)
    beyond = 1.0 - P
    # Chance agreement is 1 only where both always name the same class.
    always = beyond <= TIE
    return np.where(always, 1.0, (A - P) / np.where(always, 1.0, beyond)), n > 0


def symmetric_divergence(ballots: Ballots, smoothing: float) -> FloatArray:
    """Return the divergence of every pair, there and back.

        J_ij = mean_n sum_k (p_ink - p_jnk) log(p_ink / p_jnk)

    on the rows that both members speak on, by matrix products. Rows of F are cut
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

    Where all speak the first and the last have one column.
    """
    N, M, K = ballots.problem.F.shape
    masked = ballots.problem.masked
    own, n = np.zeros((M, M if masked else 1)), np.zeros((M, M) if masked else (1, 1))
    cross = np.zeros((M, M))
    for start in range(0, N, step := max(1, _BLOCK // (M * K))):
        rows = slice(start, start + step)
        spoken = ballots.spoken[rows] if masked else np.ones((len(ballots.s[rows]), 1))
        p = _probabilities(ballots, rows, smoothing)
        log_p = np.log(p)
        heavy = ballots.s[rows, None] * spoken
        n += heavy.T @ spoken
        own += (heavy * (p * log_p).sum(axis=1)).T @ spoken
        p *= heavy[:, None]
        if masked:
            log_p *= spoken[:, None]
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
