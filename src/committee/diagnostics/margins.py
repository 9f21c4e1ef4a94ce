"""By how much the committee prefers the right class."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee._validation import check_predictions, check_targets, check_weights
from committee.predictions import combine


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
    w : array of shape (M,), optional
        Default: equal weights.

    Returns
    -------
    margins : array of shape (N,)

    Examples
    --------
    >>> from committee import margins
    >>> margins([[[0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]], [1]).round(3).tolist()
    [0.333]
    """
    F = check_predictions(F)
    if F.ndim != 3:
        raise ValueError(
            "Margins are defined for classification: F of shape (N, M, K). Got shape "
            f"{F.shape}."
        )
    codes = check_targets(F, y).astype(np.intp)
    scores = combine(F, check_weights(w, F.shape[1]))
    rows = np.arange(len(scores))
    right = scores[rows, codes]
    scores[rows, codes] = -np.inf
    best_wrong: FloatArray = scores.max(axis=1)
    return right - best_wrong
