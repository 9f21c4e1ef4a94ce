"""Kernel expansions: sums over points, evaluated in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.coupled.gram import Layout
from committee.kernels import Kernel

#: Entries of the largest array of member outputs while predicting: 32 MB.
_BLOCK_ENTRIES = 2**22
#: Points and rows of a Gram block: one that stays in the cache takes half the time.
_GRAM_POINTS, _GRAM_ROWS = 512, 256


@dataclass(frozen=True)
class KernelMember:
    """A fitted submodel, f_j(x) = sum_n a_n k(x_n, x).

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (N, d)
        The training rows, shared by all members.
    rows : array of row numbers
        S_j.
    coef : array of shape (m,) or (m, T)
        a_j.
    """

    kernel: Kernel
    X: FloatArray
    rows: IntArray
    coef: FloatArray

    @property
    def columns(self) -> FloatArray:
        """The coefficients as (m, T), also for a single target."""
        return self.coef.reshape(len(self.coef), -1)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return f_j of X, (N, d), shaped (N,) or (N, T)."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X must have {self.X.shape[1]} columns. Got shape {X.shape}."
            )
        return evaluate(self.kernel, X, self.X[self.rows], self.coef)


def evaluate(
    kernel: Kernel, X: FloatArray, points: FloatArray, coef: FloatArray
) -> FloatArray:
    """Return k(X, points) coef, (N,) or (N, T), for coef (m,) or (m, T).

    No more than a block of the Gram matrix is in memory.
    """
    f = np.zeros((len(X), *coef.shape[1:]))
    for start in range(0, len(points), _GRAM_POINTS):
        part = slice(start, start + _GRAM_POINTS)
        # Few points leave room for more rows.
        n_rows = _GRAM_ROWS * _GRAM_POINTS // len(points[part])
        for first in range(0, len(X), n_rows):
            rows = slice(first, first + n_rows)
            f[rows] += kernel(X[rows], points[part]) @ coef[part]
    return f


def member_outputs(
    members: Sequence[KernelMember],
    X: FloatArray,
    subsets: Sequence[IntArray],
    layout: Layout,
    wanted: Sequence[int] | IntArray,
) -> FloatArray:
    """Return the outputs of the wanted submodels on the rows of X, (N, len(wanted), T).

    Every kernel block k(X, D_i) is made once and serves the three submodels that
    have D_i in their support.
    """
    shares: dict[int, list[tuple[int, FloatArray]]] = {}
    for position, j in enumerate(wanted):
        start = 0
        for i in layout.support(j):
            stop = start + len(subsets[i])
            part = members[j].columns[start:stop]
            shares.setdefault(i, []).append((position, part))
            start = stop
    one = members[wanted[0]]
    kernel, X_fit, T = one.kernel, one.X, one.columns.shape[1]
    f = np.zeros((len(X), len(wanted), T))
    for i, parts in shares.items():
        coef = np.concatenate([part for _, part in parts], axis=1)
        values = evaluate(kernel, X, X_fit[subsets[i]], coef)
        for position, (at, _) in enumerate(parts):
            f[:, at] += values[:, position * T : (position + 1) * T]
    return f


def collapse(
    members: Sequence[KernelMember], weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return sum_j w_j f_j as one expansion: row numbers and coefficients (n, T).

    The rows are those in the support of a member with a nonzero weight.
    """
    support = np.flatnonzero(weights)
    X, T = members[0].X, members[0].columns.shape[1]
    total = np.zeros((len(X), T))
    used = np.zeros(len(X), dtype=bool)
    for j in support.tolist():
        total[members[j].rows] += weights[j] * members[j].columns
        used[members[j].rows] = True
    rows = np.flatnonzero(used)
    return rows, total[rows]


def in_blocks(
    X: FloatArray, n_columns: int, f: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return f of all rows, called with blocks that make bounded arrays (n, columns)."""
    step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
    return np.concatenate([f(X[i : i + step]) for i in range(0, len(X), step)])
