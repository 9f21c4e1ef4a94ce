"""A fitted ensemble of cells: a row uses its own cell, and near a border two.

Its standard deviations are those of patchwork kriging.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from committee._parallel import in_threads
from committee._typing import FloatArray, IntArray
from committee.cells.machine import Factor, row_blocks
from committee.cells.tree import CellTree, Shares
from committee.cells.trend import Trend
from committee.kernels import Kernel

#: Kernel values that are in memory at once, for each thread: 2 MB, about a cache.
_GRAM_ENTRIES = 2**18


@dataclass(frozen=True, eq=False)
class CellModel:
    """Kernel expansions of all cells, and the tree that divides space among them.

        f(x) = t(x) + offset + sum_c g_c(x) f_c(x),    f_c(x) = coef_c' k(points_c, x)

    Attributes
    ----------
    kernel : Kernel
    tree : CellTree
    width : float
        Of the borders; see `CellTree.shares`.
    points : array of shape (P, d)
        Cell after cell: its rows, then its border points.
    coef : array of shape (P, T)
    starts : int array of shape (n_cells + 1,)
        Where the points of each cell start.
    n_rows : int array of shape (n_cells,)
        How many of a cell's points are rows of its own.
    offset : array of shape (T,)
    trend : Trend, default=None
        t.
    """

    kernel: Kernel
    tree: CellTree
    width: float
    points: FloatArray
    coef: FloatArray
    starts: IntArray
    n_rows: IntArray
    offset: FloatArray
    trend: Trend | None = None

    @property
    def n_cells(self) -> int:
        """M."""
        return self.tree.n_cells

    def part(self, c: int) -> slice:
        """Return where the points of cell c are."""
        return slice(int(self.starts[c]), int(self.starts[c + 1]))

    def cell_values(self, c: int, X: FloatArray) -> FloatArray:
        """Return f_c, (N, T), without the offset."""
        points, coef = self.points[self.part(c)], self.coef[self.part(c)]
        if self.kernel.of_distances:  # they keep their digits near the middle
            centre = points.mean(axis=0)
            points, X = points - centre, X - centre
        f = np.empty((len(X), coef.shape[1]))
        step = max(1, _GRAM_ENTRIES // len(points))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            f[rows] = self.kernel(X[rows], points) @ coef
        return f

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return f, (N, T)."""
        f = base_of(X, self.offset, self.trend)
        f += self.weighted(X, self.tree.shares(X, self.width), n_jobs)
        return f

    def weighted(
        self, X: FloatArray, shares: Shares, n_jobs: int | None = None
    ) -> FloatArray:
        """Return sum_c g_c(x) f_c(x), (N, T), over the cells of the shares."""
        f = np.zeros((len(X), self.coef.shape[1]))
        for rows, w, f_c in over_cells(self.cell_values, X, shares, n_jobs):
            f[rows] += w[:, None] * f_c
        return f


def base_of(X: FloatArray, offset: FloatArray, trend: Trend | None) -> FloatArray:
    """Return t(x) + offset, (N, T), to which the cells are added."""
    f = np.tile(offset, (len(X), 1))
    return f if trend is None else f + trend(X)


def over_cells(
    function: Callable[[int, FloatArray], FloatArray],
    X: FloatArray,
    shares: Shares,
    n_jobs: int | None,
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Yield rows, weights and function(c, X[rows]) of each cell c in the shares."""
    parts = list(_by_cell(shares))
    found = in_threads(function, ((c, X[rows]) for c, rows, _ in parts), n_jobs)
    for (_, rows, weights), values in zip(parts, found, strict=True):
        yield rows, weights, values


def _by_cell(shares: Shares) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """Yield the number of each cell in the shares, its rows and their weights."""
    edges = np.flatnonzero(np.diff(shares.cells)) + 1
    bounds = [0, *edges.tolist(), len(shares.cells)]
    for start, stop in itertools.pairwise(bounds):
        if stop > start:
            yield (
                int(shares.cells[start]),
                shares.rows[start:stop],
                shares.weights[start:stop],
            )


@dataclass(frozen=True, eq=False)
class CellVariance:
    """The parts of posterior variances that the model itself does not have.

    Attributes
    ----------
    ridge : array of shape (n_rows.sum(),)
        r of the cells' rows, cell after cell.
    precision : list of arrays of shape (b, b)
        G of each cell; see `JointSystem.precision`. Empty where nothing is coupled.
    scale : array of shape (T,)
        The prior variance of the targets' processes.
    noise : array of shape (T,)
        alpha times the scale, the variance of a target around f.
    whole : CellModel, default=None
        The cells with all their points, where the model has a reduced set of them.
    """

    ridge: FloatArray
    precision: Sequence[FloatArray]
    scale: FloatArray
    noise: FloatArray
    whole: CellModel | None = None

    def std(
        self, model: CellModel, X: FloatArray, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the standard deviation of f, (N, T).

            V_c(x) = k(x, x) - k(x, X) A^-1 k(X, x) - V(x, B) G V(B, x)

            S(x) = sum_c g_c(x) sqrt(V_c(x)),    std(x)^2 = scale S(x)^2 + v_t(x)

        S is that of sum_c g_c f_c where cells agree, and not too small where they do not.
        v_t is the variance of the trend over the rows, beyond these and zero among them.
        Each cell with a share in a row is factorised again.
        """
        shares = model.tree.shares(X, model.width)
        s = np.zeros(len(X))
        of_cell = partial(self._variance, self.whole or model)
        for rows, g, V in over_cells(of_cell, X, shares, n_jobs):
            s[rows] += g * np.sqrt(np.maximum(V, 0.0))
        variance = s[:, None] ** 2 * self.scale
        if model.trend is not None:
            variance += model.trend.unknown(X)[:, None] * model.trend.variance
        std: FloatArray = np.sqrt(variance)
        return std

    def _variance(self, model: CellModel, c: int, X: FloatArray) -> FloatArray:
        """Return V_c of some rows, (N,)."""
        part, n = model.points[model.part(c)], int(model.n_rows[c])
        first = int(model.n_rows[:c].sum())
        ridge = self.ridge[first : first + n]
        # Differences of nearly equal numbers: double precision.
        factor = Factor(model.kernel, part[:n], ridge, "double")
        border = part[n:]
        W_border = factor.half_solve(factor.cross(border)) if len(border) else None
        V = np.empty(len(X))
        for rows in row_blocks(len(X)):
            W = factor.half_solve(factor.cross(X[rows]))
            V[rows] = model.kernel.diagonal(X[rows]) - np.einsum("nm,nm->m", W, W)
            if W_border is not None:
                points = factor.points(X[rows]), factor.points(border)
                V_border = model.kernel(*points) - W.T @ W_border
                V[rows] -= np.einsum("nb,nb->n", V_border @ self.precision[c], V_border)
        return V
