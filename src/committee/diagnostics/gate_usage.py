"""gate_usage: how a gate divides the rows among the members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from committee._typing import FloatArray
from committee._validation import check_row_weights


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
    >>> from committee import gate_usage
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
    >>> from committee import gate_usage
    >>> usage = gate_usage([[0.9, 0.1], [0.6, 0.4], [0.0, 1.0]])
    >>> usage.share.round(2).tolist(), usage.answers.round(2).tolist()
    ([0.5, 0.5], [0.67, 0.33])
    """
    G = check_row_weights(G, np.shape(G))
    if np.any(G < 0) or np.any(np.abs(G.sum(axis=1) - 1.0) > 1e-8):
        raise ValueError(
            "Weights of a gate are not negative, and those of a row sum to one. Got a "
            f"least weight of {G.min():g} and sums from {G.sum(axis=1).min():g} to "
            f"{G.sum(axis=1).max():g}."
        )
    largest = G.max(axis=1, keepdims=True) == G
    answers = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    M = G.shape[1]
    entropy = entr(G).sum(axis=1).mean() / np.log(M) if M > 1 else 0.0
    return GateUsage(G.mean(axis=0), answers, float(entropy))
