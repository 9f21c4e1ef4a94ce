"""How an error divides into accuracy and diversity, and a gate the rows among members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from committee._typing import FloatArray
from committee._validation import (
    check_predictions,
    check_row_weights,
    check_targets,
    check_weights,
    refuse_swapped,
)
from committee.diagnostics.correlation import error_blocks


class Ambiguity(NamedTuple):
    """The three terms of the decomposition, as means over rows or for each row.

    Attributes
    ----------
    ensemble_error : float, or array of shape (N,)
        Mean squared error of the committee.
    member_error : float, or array of shape (N,)
        Weighted mean of the members' squared errors.
    diversity : float, or array of shape (N,)
        Weighted mean squared distance of the members from the committee.

    Examples
    --------
    >>> from committee.diagnostics import Ambiguity
    >>> Ambiguity(ensemble_error=1.0, member_error=2.0, diversity=1.0).diversity
    1.0
    """

    ensemble_error: Any
    member_error: Any
    diversity: Any


def ambiguity(F: Any, y: Any, w: Any = None, *, by_row: bool = False) -> Ambiguity:
    """Decompose the committee's squared error (chapter 4.2, eq. 4.4).

        (f_ens - y)^2 = sum_m w_m (f_m - y)^2 - sum_m w_m (f_m - f_ens)^2

    The identity holds for all weights that sum to one. For classification the squared
    error compares the probability vectors with the one-hot targets.

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Targets, or class codes 0..K-1.
    w : array of shape (M,) or (N, M), default=None
        Weights that sum to one, for all rows or for each row. None means equal weights.
    by_row : bool, default=False
        Whether to return the three terms for each row, as arrays of shape (N,), instead
        of their means.

    Returns
    -------
    Ambiguity
        `ensemble_error`, `member_error`, `diversity`.

    Examples
    --------
    >>> from committee import ambiguity
    >>> ambiguity([[1.0, 3.0]], [1.0])
    Ambiguity(ensemble_error=1.0, member_error=2.0, diversity=1.0)
    >>> ambiguity([[1.0, 3.0], [1.0, 1.0]], [1.0, 1.0], by_row=True).diversity.tolist()
    [1.0, 0.0]
    """
    refuse_swapped(F, y)
    F = check_predictions(F)
    y = check_targets(F, y)
    w = _shares(w, F.shape)
    terms = np.empty((3, len(F)))
    for rows, E in error_blocks(F, y):
        # Classes are innermost: (n, K, M), and a row's error is the sum over them.
        E = np.reshape(E, (rows.stop - rows.start, -1, F.shape[1]))
        v = w[rows, :, None] if w.ndim == 2 else w[:, None]
        e = E @ v
        # f_m - f_ens = E_m - e, since the weights sum to one.
        squares = (e * e, (E * E) @ v, ((E - e) ** 2) @ v)
        terms[:, rows] = np.sum(squares, axis=(2, 3))
    if by_row:
        return Ambiguity(*terms)
    return Ambiguity(*(float(mean) for mean in terms.mean(axis=1)))


def _shares(w: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return weights that sum to one, (M,) or (N, M)."""
    if np.ndim(w) == 2:
        w = check_row_weights(w, shape[:2])
    else:
        w = check_weights(w, shape[1])
    total, size = w.sum(axis=-1), np.abs(w).sum(axis=-1)
    wrong = np.abs(total - 1.0) > 1e-8 * size
    if np.any(wrong):
        raise ValueError(
            "The decomposition needs weights that sum to 1. Got "
            f"{np.ravel(total)[np.ravel(wrong)][0]:g}; divide w by w.sum()."
        )
    return w  # type: ignore[no-any-return]


class GateUsage(NamedTuple):
    """Shares of the members behind a gate, and the entropy of its weights.

    Attributes
    ----------
    share : array of shape (M,)
        Mean weight of each member. The shares sum to one.
    answers : array of shape (M,)
        Share of the rows on which the member has the largest weight. Members that tie on
        a row share it.
    entropy : float
        Mean entropy of the weights of a row, in units of log M: zero if one member has all
        weight, one if all have equal weights.

    Examples
    --------
    >>> from committee.diagnostics import gate_usage
    >>> gate_usage([[1.0, 0.0], [0.5, 0.5]]).entropy
    0.5
    """

    share: FloatArray
    answers: FloatArray
    entropy: float


def gate_usage(G: Any) -> GateUsage:
    """Return the share of each member and the entropy of a gate.

        share_m = mean_n g_m(x_n),   entropy = mean_n sum_m -g_m log g_m / log M

    Parameters
    ----------
    G : array of shape (N, M)
        The result of `gate_weights(X)`, or of `weights` of a gate: values >= 0, rows with
        sum one.

    Returns
    -------
    GateUsage
        `share`, `answers`, `entropy`.

    Examples
    --------
    >>> from committee.diagnostics import gate_usage
    >>> usage = gate_usage([[0.9, 0.1], [0.6, 0.4], [0.0, 1.0]])
    >>> usage.share.round(2).tolist(), usage.answers.round(2).tolist()
    ([0.5, 0.5], [0.67, 0.33])
    """
    G = check_row_weights(G, np.shape(G))
    if np.any(G < 0) or np.any(np.abs(G.sum(axis=1) - 1.0) > 1e-8):
        raise ValueError(
            "Weights of a gate must be non-negative and sum to one in each row. Got a "
            f"smallest weight of {G.min():g} and sums from {G.sum(axis=1).min():g} to "
            f"{G.sum(axis=1).max():g}."
        )
    largest = G.max(axis=1, keepdims=True) == G
    answers = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    M = G.shape[1]
    entropy = entr(G).sum(axis=1).mean() / np.log(M) if M > 1 else 0.0
    return GateUsage(G.mean(axis=0), answers, float(entropy))
