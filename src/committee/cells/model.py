"""A fitted ensemble of cells: a row uses its own cell, and near a border two.

`CellModel` has all cells in one place, `PartitionedModel` in groups of neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import delayed

from committee._parallel import one_thread, results_of
from committee._typing import FloatArray, IntArray
from committee.cells.tree import CellTree, Shares
from committee.cells.trend import Trend
from committee.distributed import Chunks, InMemory, deferred
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
    trend : Trend, optional
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
        with one_thread():
            values = results_of(
                (
                    delayed(self.cell_values)(c, X[rows])
                    for c, rows, _ in by_cell(shares)
                ),
                n_jobs,
                prefer="threads",
            )
            for (_, rows, w), f_c in zip(by_cell(shares), values, strict=True):
                f[rows] += w[:, None] * f_c
        return f


def base_of(X: FloatArray, offset: FloatArray, trend: Trend | None) -> FloatArray:
    """Return t(x) + offset, (N, T), to which the cells are added."""
    f = np.tile(offset, (len(X), 1))
    return f if trend is None else f + trend(X)


def by_cell(shares: Shares) -> Iterator[tuple[int, IntArray, FloatArray]]:
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


class RowsOfGroup(NamedTuple):
    """Rows for the cells of one group, and the share of each cell in them.

    Attributes
    ----------
    X : array of shape (n, d)
    numbers : array of shape (n,)
        Of these rows among all.
    shares : Shares
        Rows of X, and cells numbered from the first of the group.
    """

    X: FloatArray
    numbers: IntArray
    shares: Shares


@dataclass(frozen=True, eq=False)
class PartitionedModel:
    """A `CellModel` in groups of cells, each where its rows are.

    Attributes
    ----------
    kernel, tree, width, offset, trend :
        As for `CellModel`.
    parts : Chunks of CellModel
        One for each group, whose cells have numbers of the group.
    firsts : int array of shape (n_groups + 1,)
        The number of the first cell of each group.
    """

    kernel: Kernel
    tree: CellTree
    width: float
    offset: FloatArray
    parts: Chunks
    firsts: IntArray
    trend: Trend | None = None

    @property
    def n_cells(self) -> int:
        """M."""
        return self.tree.n_cells

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return f, (N, T), of rows in one place; groups work at the same time.

        `n_jobs` are threads of a model in memory.
        """
        f = base_of(X, self.offset, self.trend)
        threads = n_jobs if isinstance(self.parts, InMemory) else None
        for numbers, found in self.on_groups(X, weighted_values, threads):
            f[numbers] += found
        return f

    def on_groups(
        self, X: FloatArray, function: Callable[..., FloatArray], *args: Any
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield numbers of rows and function(part, rows, *args) of each group.

        Of `args`, `Chunks` give each group its own value.
        """
        every = rows_of_groups(X, self.tree, self.width, self.firsts)
        found = self.parts.map(function, self.parts.each(every), *args).values()
        for rows, values in zip(every, found, strict=True):
            yield rows.numbers, values

    def predict_blocks(self, blocks: Chunks) -> Chunks:
        """Return f of every block of rows, not yet computed.

        A block sends each group the rows in which its cells have a share, and no others.
        """
        sent = blocks.map(rows_of_groups, self.tree, self.width, self.firsts)
        found = []
        for X, rows in zip(blocks.parts, sent.parts, strict=True):
            values = [
                deferred(weighted_values, part, deferred(_item, rows, g))
                for g, part in enumerate(self.parts.parts)
            ]
            found.append(deferred(_added, X, self.offset, self.trend, rows, *values))
        return Chunks(found)

    def gathered(self) -> CellModel:
        """Return the model in one place."""
        parts: list[CellModel] = self.parts.values()
        if len(parts) == 1:
            return replace(
                parts[0], tree=self.tree, offset=self.offset, trend=self.trend
            )
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        return CellModel(
            self.kernel,
            self.tree,
            self.width,
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.coef for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([part.n_rows for part in parts]),
            self.offset,
            self.trend,
        )

    @property
    def n_bytes(self) -> int:
        """Bytes of points and coefficients in all groups."""
        return int(self.parts.sum(_n_bytes))


def rows_of_groups(
    X: FloatArray, tree: CellTree, width: float, firsts: IntArray
) -> list[RowsOfGroup]:
    """Return for each group the rows in which one of its cells has a share."""
    shares = tree.shares(X, width)
    cuts = np.searchsorted(shares.cells, firsts)
    found = []
    for start, stop, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True):
        numbers, at = np.unique(shares.rows[start:stop], return_inverse=True)
        cells = shares.cells[start:stop] - first
        own = Shares(at, cells, shares.weights[start:stop])
        found.append(RowsOfGroup(X[numbers], numbers, own))
    return found


def weighted_values(
    part: CellModel, rows: RowsOfGroup, n_jobs: int | None = None
) -> FloatArray:
    """Return sum_c g_c(x) f_c(x), (n, T), over the cells of one group."""
    return part.weighted(rows.X, rows.shares, n_jobs)


def _item(rows: list[RowsOfGroup], g: int) -> RowsOfGroup:
    return rows[g]


def _added(
    X: FloatArray,
    offset: FloatArray,
    trend: Trend | None,
    sent: list[RowsOfGroup],
    *values: FloatArray,
) -> FloatArray:
    f = base_of(X, offset, trend)
    for rows, found in zip(sent, values, strict=True):
        f[rows.numbers] += found
    return f


def _n_bytes(part: CellModel) -> int:
    return part.points.nbytes + part.coef.nbytes
