"""A fitted ensemble of cells: a row uses its own cell, and near a border two."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from committee._parallel import in_threads
from committee._typing import FloatArray, IntArray
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
