"""Votes for classes: agreement of pairs of members, and margins of the committee."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from committee._typing import BoolArray, FloatArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
    check_weights,
)
from committee.predictions import combine

#: Numbers in a row block: 1 MB, for the cache.
_BLOCK = 2**17
#: Agreement by chance that is as near to one is one: sums of N terms round.
_ROUNDING = 1e-10


class Agreement(NamedTuple):
    """How alike every pair votes on the rows on which both do, as sums over rows.

    same (M, M): weight of the rows with the same vote; votes (K, M, M): of those on
    which i votes for k and j votes at all; n (M, M): of those on which both vote. The
    last axis of votes, and n, have length one where all vote on all rows.
    """

    same: FloatArray
    votes: FloatArray
    n: FloatArray

    @property
    def observed(self) -> FloatArray:
        """A_ij, the share of common rows with the same vote; NaN if there are none."""
        return self.same / np.where(self.n > 0, self.n, np.nan)

    @property
    def kappa(self) -> FloatArray:
        """Agreement beyond chance, as in `pairwise_kappa`."""
        n = np.where(self.n > 0, self.n, np.nan)
        chance = (self.votes * self.votes.transpose(0, 2, 1)).sum(axis=0) / n**2
        beyond = 1.0 - chance
        # Chance agreement is 1 only where both always name the same class.
        always = beyond <= _ROUNDING
        excess = self.observed - chance
        kappa = np.where(always, 1.0, excess / np.where(always, 1.0, beyond))
        kappa[np.diag_indices_from(kappa)] = 1.0
        return kappa


def count_agreement(
    choice: npt.NDArray[np.integer[Any]],
    n_classes: int,
    held_out: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> Agreement:
    """Count the rows on which pairs of members vote alike: counts of blocks add up.

    choice (N, M) is the class that each member votes for, held_out where it votes.
    """
    N, M = choice.shape
    width = 1 if held_out is None else M
    same, n = np.zeros((M, M)), np.zeros((width, width))
    votes = np.zeros((n_classes, M, width))
    # Roots of the weights on both sides of every product.
    root = np.ones((N, 1)) if sample_weight is None else np.sqrt(sample_weight)[:, None]
    for start in range(0, N, step := max(1, _BLOCK // M)):
        rows = slice(start, start + step)
        counted = root[rows] if held_out is None else held_out[rows] * root[rows]
        n += counted.T @ counted
        for k in range(n_classes):
            V = counted * (choice[rows] == k)
            same += V.T @ V
            votes[k] += V.T @ counted
    return Agreement(same, votes, n)


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
    F = _classified(F)
    D = 1.0 - count_agreement(F.argmax(axis=2), F.shape[2]).observed
    D[np.diag_indices_from(D)] = 0.0
    return D


def pairwise_kappa(
    F: Any, *, held_out: Any = None, sample_weight: Any = None
) -> FloatArray:
    """Return Cohen's kappa of every pair: agreement beyond chance.

        kappa_ij = (A_ij - P_ij) / (1 - P_ij),   P_ij = sum_k p_ik p_jk

    A_ij is the fraction of rows on which i and j vote for the same class, and p_ik the
    fraction of rows on which i votes for class k. Two members that always vote for the
    same single class have kappa 1.

    Parameters
    ----------
    F : array of shape (N, M, K)
    held_out : bool array of shape (N, M), default=None
        True where the member votes. Each pair is compared on the rows on which both
        vote.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.

    Returns
    -------
    kappa : array of shape (M, M)
        NaN for pairs without a common row.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import pairwise_kappa
    >>> votes = np.array([[0, 0], [1, 0], [1, 1], [0, 0]])
    >>> pairwise_kappa(np.eye(2)[votes]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    F = _classified(F)
    mask, s = check_held_out(held_out, F.shape), check_sample_weight(sample_weight, F)
    return count_agreement(F.argmax(axis=2), F.shape[2], mask, s).kappa


def q_statistic(F: Any, y: Any) -> FloatArray:
    """Return Yule's Q for every pair: whether members are right on the same rows.

        Q_ij = (N11 N00 - N01 N10) / (N11 N00 + N01 N10)

    N11 is the number of rows on which both are right, N00 on which both are wrong. Q is
    0 if the denominator is zero, and 1 on the diagonal.

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

    The diagonal contains the error of each member.

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


def margins(F: Any, y: Any, w: Any = None) -> FloatArray:
    """Return each row's margin: the right class minus the best wrong one.

        margin_n = s_n[y_n] - max_{k != y_n} s_n[k],    s = sum_m w_m F[:, m, :]

    Positive where the committee is right. With weights that sum to one and
    votes or probabilities in F, margins lie in [-1, 1].

    Parameters
    ----------
    F : array of shape (N, M, K)
    y : array of shape (N,)
        Class codes 0..K-1.
    w : array of shape (M,), default=None
        None means equal weights.

    Returns
    -------
    margins : array of shape (N,)

    Examples
    --------
    >>> from committee import margins
    >>> margins([[[0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]], [1]).round(3).tolist()
    [0.333]
    """
    F = _classified(F)
    codes = check_targets(F, y).astype(np.intp)
    scores = combine(F, check_weights(w, F.shape[1]))
    rows = np.arange(len(scores))
    right = scores[rows, codes]
    scores[rows, codes] = -np.inf
    best_wrong: FloatArray = scores.max(axis=1)
    return right - best_wrong


def _classified(predictions: Any) -> FloatArray:
    """Return F (N, M, K); raise ValueError if it is one of a regression."""
    F = check_predictions(predictions)
    if F.ndim != 3:
        raise ValueError(
            "Votes and margins are defined for classification: F of shape (N, M, K). "
            f"Got shape {F.shape}; for regression use error_correlation or ambiguity."
        )
    return F


def _correct(F: Any, y: Any) -> FloatArray:
    """Return 1 where a member's vote is right, 0 elsewhere, (N, M)."""
    F = _classified(F)
    right: FloatArray = (F.argmax(axis=2) == check_targets(F, y)[:, None]).astype(float)
    return right
