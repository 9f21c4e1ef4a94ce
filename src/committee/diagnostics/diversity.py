"""How alike the members are, pair by pair, from matrix products alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee._validation import check_predictions, check_targets


def disagreement(F: Any) -> FloatArray:
    """Return the fraction of rows on which two members vote differently.

        D_ij = 1 - 1/N sum_n [ vote_i(n) = vote_j(n) ]

    Parameters
    ----------
    F : array of shape (N, M, K)

    Returns
    -------
    D : array of shape (M, M)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import disagreement
    >>> votes = np.array([[0, 0], [1, 0], [1, 1], [0, 0]])
    >>> disagreement(np.eye(2)[votes]).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    V = _votes(F)
    D = 1.0 - _agreement(V)
    D[np.diag_indices_from(D)] = 0.0
    return D


def pairwise_kappa(F: Any) -> FloatArray:
    """Return Cohen's kappa of every pair: agreement beyond chance.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij),   P_ij = sum_k p_ik p_jk

    with A_ij the fraction of rows on which i and j vote alike and p_ik the
    fraction of rows on which i votes for class k. Two members that vote for one
    and the same class throughout have kappa 1.

    Parameters
    ----------
    F : array of shape (N, M, K)

    Returns
    -------
    kappa : array of shape (M, M)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import pairwise_kappa
    >>> votes = np.array([[0, 0], [1, 0], [1, 1], [0, 0]])
    >>> pairwise_kappa(np.eye(2)[votes]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    V = _votes(F)
    p = V.mean(axis=0)
    chance = p @ p.T
    beyond = 1.0 - chance
    # chance = 1 only where both always name the same class: full agreement.
    always = beyond <= 4 * np.finfo(np.float64).eps
    excess = _agreement(V) - chance
    kappa = np.where(always, 1.0, excess / np.where(always, 1.0, beyond))
    kappa[np.diag_indices_from(kappa)] = 1.0
    return kappa


def q_statistic(F: Any, y: Any) -> FloatArray:
    """Return Yule's Q of every pair of members' correctness.

        Q_ij = (N11 N00 - N01 N10) / (N11 N00 + N01 N10)

    N11 counts the rows on which both are right, N00 both wrong. Where the
    denominator is zero nothing is known about the dependence and Q is 0; on the
    diagonal it is 1.

    Parameters
    ----------
    F : array of shape (N, M, K)
    y : array of shape (N,)
        Class codes 0..K-1.

    Returns
    -------
    Q : array of shape (M, M)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import q_statistic
    >>> votes = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> q_statistic(np.eye(2)[votes], [0, 0, 0, 0]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    right = _correct(F, y)
    wrong = 1.0 - right
    same = (right.T @ right) * (wrong.T @ wrong)
    other = (right.T @ wrong) * (wrong.T @ right)
    total = same + other
    Q = np.divide(same - other, total, out=np.zeros_like(total), where=total > 0)
    Q[np.diag_indices_from(Q)] = 1.0
    return Q


def double_fault(F: Any, y: Any) -> FloatArray:
    """Return the fraction of rows on which both members of a pair are wrong.

        DF_ij = N00 / N

    The diagonal holds each member's own error.

    Parameters
    ----------
    F : array of shape (N, M, K)
    y : array of shape (N,)
        Class codes 0..K-1.

    Returns
    -------
    DF : array of shape (M, M)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import double_fault
    >>> votes = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> double_fault(np.eye(2)[votes], [0, 0, 0, 0]).tolist()
    [[0.5, 0.25], [0.25, 0.5]]
    """
    wrong = 1.0 - _correct(F, y)
    DF: FloatArray = wrong.T @ wrong / len(wrong)
    return DF


def _votes(F: Any) -> FloatArray:
    """Return one-hot votes (N, M, K): each member's largest entry."""
    F = check_predictions(F)
    if F.ndim != 3:
        raise ValueError(
            "Votes are defined for classification: F of shape (N, M, K). Got shape "
            f"{F.shape}; for regression use error_correlation or ambiguity."
        )
    V: FloatArray = F.argmax(axis=2)[..., None] == np.arange(F.shape[2])
    return V.astype(np.float64)


def _agreement(V: FloatArray) -> FloatArray:
    """Return the fraction of rows on which each pair votes alike."""
    A: FloatArray = sum(
        (V[..., k].T @ V[..., k] for k in range(V.shape[2])),
        start=np.zeros((V.shape[1], V.shape[1])),
    )
    return A / len(V)


def _correct(F: Any, y: Any) -> FloatArray:
    """Return 1 where a member's vote is right, 0 elsewhere, (N, M)."""
    V = _votes(F)
    codes = check_targets(V, y).astype(np.intp)
    right: FloatArray = V[np.arange(len(V)), :, codes]
    return right
