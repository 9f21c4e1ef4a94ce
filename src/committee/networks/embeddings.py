"""Piecewise-linear embeddings of numbers, on bins between quantiles.

Every column becomes T numbers between zero and one, one for each of its bins:

    e_t(x) = clip((x - b_{t-1}) / (b_t - b_{t-1}), 0, 1),    t = 1..T

with edges b at quantiles of the training rows (Gorishniy, Rubachev, Babenko 2022). It
is constant below the first edge and above the last. Linear functions of e are exactly
the continuous piecewise-linear functions of x with these knots. A column with one value
has no bins, and a column with two values has one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from committee._typing import FloatArray


def quantile_edges(X: FloatArray, n_bins: int) -> list[FloatArray]:
    """Return the edges of each column, for at most n_bins bins; equal quantiles merge."""
    levels = np.linspace(0.0, 1.0, n_bins + 1)
    return [np.unique(np.quantile(column, levels)) for column in X.T]


def piecewise_linear(X: FloatArray, edges: list[FloatArray]) -> FloatArray:
    """Return e of all columns, (N, sum of T).

    Examples
    --------
    >>> import numpy as np
    >>> from committee.networks.embeddings import piecewise_linear, quantile_edges
    >>> edges = quantile_edges(np.array([[0.0], [1.0], [2.0], [4.0]]), 2)
    >>> piecewise_linear(np.array([[0.75], [9.0]]), edges).tolist()
    [[0.5, 0.0], [1.0, 1.0]]
    """
    E = np.empty((len(X), sum(len(b) - 1 for b in edges)))
    start = 0
    for x, b in zip(X.T, edges, strict=True):
        part = E[:, start : start + len(b) - 1]
        np.subtract(x[:, None], b[:-1], out=part)
        part /= np.diff(b)
        np.clip(part, 0.0, 1.0, out=part)
        start += len(b) - 1
    return E


def relu_layer(edges: list[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, a and B with e(x) = max(x A + a, 0) B, a layer of relu units.

    e_t(x) = (max(x - b_{t-1}, 0) - max(x - b_t, 0)) / (b_t - b_{t-1})
    """
    A = block_diag(*[np.ones((1, len(b))) for b in edges])
    B = block_diag(*[_differences(b) for b in edges])
    return A, -np.concatenate(edges), B


def _differences(b: FloatArray) -> FloatArray:
    """Return the (T + 1, T) matrix from ramps at the edges to e."""
    T = len(b) - 1
    B = np.zeros((T + 1, T))
    t = np.arange(T)
    B[t, t], B[t + 1, t] = 1.0 / np.diff(b), -1.0 / np.diff(b)
    return B
