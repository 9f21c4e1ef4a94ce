"""Piecewise-linear embeddings of numbers, on bins between quantiles."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import block_diag

from committee._typing import FloatArray


class PiecewiseLinear:
    """Every column as T numbers between zero and one, one for each of its bins.

        e_t(x) = clip((x - b_{t-1}) / (b_t - b_{t-1}), 0, 1),    t = 1..T

    with edges b at quantiles of the training rows (Gorishniy, Rubachev, Babenko 2022);
    beyond the first and the last edge nothing changes. A linear function of e is any
    continuous piecewise-linear function of x with these knots. A column of one value has
    no bins, and one of two values has one.

    Parameters
    ----------
    n_bins : int
        T at most: equal quantiles are one edge.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.networks.embeddings import PiecewiseLinear
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> PiecewiseLinear(2).fit(X).transform(np.array([[0.75], [9.0]])).tolist()
    [[0.5, 0.0], [1.0, 1.0]]
    """

    def __init__(self, n_bins: int = 8) -> None:
        self.n_bins = n_bins

    def fit(self, X: FloatArray) -> Self:
        """Find the edges: `edges_`, an array for each column."""
        levels = np.linspace(0.0, 1.0, self.n_bins + 1)
        self.edges_ = [np.unique(np.quantile(column, levels)) for column in X.T]
        return self

    @property
    def n_columns(self) -> int:
        """The number of columns that `transform` returns."""
        return sum(len(b) - 1 for b in self.edges_)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return e of all columns, (N, sum of T)."""
        E = np.empty((len(X), self.n_columns))
        start = 0
        for x, b in zip(X.T, self.edges_, strict=True):
            part = E[:, start : start + len(b) - 1]
            np.subtract(x[:, None], b[:-1], out=part)
            part /= np.diff(b)
            np.clip(part, 0.0, 1.0, out=part)
            start += len(b) - 1
        return E

    def as_layer(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, a and B with e(x) = max(x A + a, 0) B, a layer of relu units.

        e_t(x) = (max(x - b_{t-1}, 0) - max(x - b_t, 0)) / (b_t - b_{t-1})
        """
        A = block_diag(*[np.ones((1, len(b))) for b in self.edges_])
        B = block_diag(*[_differences(b) for b in self.edges_])
        return A, -np.concatenate(self.edges_), B


def _differences(b: FloatArray) -> FloatArray:
    """Return the (T + 1, T) matrix from ramps at the edges to e."""
    T = len(b) - 1
    B = np.zeros((T + 1, T))
    t = np.arange(T)
    B[t, t], B[t + 1, t] = 1.0 / np.diff(b), -1.0 / np.diff(b)
    return B
