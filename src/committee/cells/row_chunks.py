"""The rows of a fit in chunks, and their one journey to the groups of cells.

some of the rows -> the top of the tree    its leaves are the groups
rows of a chunk  -> a piece for each group 8 (d + T + 1) N bytes travel
pieces           -> the rows of a group    in the order of the chunks

Rows in memory are one chunk and one group, and are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.choose import SAMPLE_ROWS, Part
from committee.cells.tree import CellTree, grow_tree
from committee.cells.trend import Trend
from committee.distributed import Chunks, InMemory, deferred
from committee.kernels import equal_steps

#: Rows of a group, as a rule: some twenty cells, which take a few seconds to fit.
_GROUP_ROWS = 2**15
#: Groups, at most three times as many: every chunk may have a piece for each.
_MOST_GROUPS = 256


class RowChunks:
    """Rows (X, Y, s) of positive weight, in chunks that stay on their workers.

    Parameters
    ----------
    chunks : Chunks of Part or None
    sizes : sequence of int
        The number of rows in each chunk.
    """

    def __init__(self, chunks: Chunks, sizes: Sequence[int]) -> None:
        self.chunks = chunks
        self.starts: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @classmethod
    def in_memory(cls, X: FloatArray, Y: FloatArray, s: FloatArray | None) -> RowChunks:
        """Return the rows X (N, d), Y (N, T) as one chunk; `s` of None is all ones."""
        part = Part(X, Y, np.ones(len(X)) if s is None else s)
        return cls(InMemory([part]), [len(X)])

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.starts[-1])

    def turned(self, R: FloatArray | None) -> RowChunks:
        """Return the rows with X R in the place of X."""
        if R is None:
            return self
        return RowChunks(self.chunks.map(_turned, R), np.diff(self.starts).tolist())

    def without(self, trend: Trend) -> RowChunks:
        """Return the rows with Y - t(X) in the place of Y."""
        chunks = self.chunks.map(_without, trend).kept()
        return RowChunks(chunks, np.diff(self.starts).tolist())

    def sample(self) -> Part:
        """Return the rows that decide a metric, a trend and the top of the tree."""
        return self.some(SAMPLE_ROWS)

    def some(self, n: int) -> Part:
        """Return n rows at equal steps, or all there are, in one place."""
        if n < self.n_rows:
            return self.take(equal_steps(self.n_rows, n))
        return stacked([part for part in self.chunks.values() if part is not None])

    def take(self, rows: IntArray) -> Part:
        """Return the rows of the given numbers, in increasing order."""
        cuts = np.searchsorted(rows, self.starts)
        numbers = [
            rows[start:stop] - first
            for start, stop, first in zip(
                cuts[:-1], cuts[1:], self.starts[:-1], strict=True
            )
        ]
        pieces = self.chunks.map(Part.take, self.chunks.each(numbers)).values()
        return stacked([piece for piece in pieces if piece is not None])

    def mean(self) -> FloatArray:
        """Return the weighted mean of Y, (T,)."""
        *total, weight = self.chunks.sum(_weighted_sums)
        mean: FloatArray = np.array(total) / weight
        return mean


def shuffled(rows: RowChunks, max_cell: int) -> tuple[CellTree | None, Chunks]:
    """Return the top of the tree and the rows of each of its leaves, the groups.

    Every split divides the rows that decide it as in memory. Where these are all rows,
    the top is part of the tree that grows in memory, and each group grows the rest of
    it. Rows in memory are one group, without a top. The rows of groups of Dask chunks
    are still to be computed.
    """
    if isinstance(rows.chunks, InMemory):
        return None, rows.chunks
    N = rows.n_rows
    size = max(_GROUP_ROWS, max_cell, -(-N // _MOST_GROUPS))
    sample = rows.sample().X
    share = len(sample) / N
    top, _ = grow_tree(
        sample, max(1, int(max_cell * share)), max_group=max(1, int(size * share))
    )
    if top.n_cells == 1:
        return top, Chunks([deferred(_stacked, *rows.chunks.parts)])
    pieces = rows.chunks.map(_pieces, top).kept()
    counts = pieces.map(_counts).values()
    groups = [
        deferred(
            _stacked,
            *(
                deferred(_piece, part, g)
                for part, count in zip(pieces.parts, counts, strict=True)
                if count is not None and count[g]
            ),
        )
        for g in range(top.n_cells)
    ]
    return top, Chunks(groups)


def graft(top: CellTree, parts: Sequence[CellTree]) -> CellTree:
    """Return the tree in which part g takes the place of cell g of the top.

    All have the centre of the top. Splits and cells are numbered as `grow_tree` does:
    from the left, parents first.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.cells.row_chunks import graft
    >>> from committee.cells.tree import grow_tree
    >>> X = np.arange(8.0)[:, None]
    >>> top, groups = grow_tree(X, max_cell=2, max_group=4)
    >>> parts = [grow_tree(X[rows], 2, top.centre)[0] for rows in groups]
    >>> whole = graft(top, parts)
    >>> whole.thresholds.tolist() == grow_tree(X, 2)[0].thresholds.tolist()
    True
    """
    directions: list[FloatArray] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    n_cells = 0
    waiting = [(top, _root(top), -1, 0)]
    while waiting:
        tree, node, above, side = waiting.pop()
        if tree is top and node < 0:
            tree = parts[-1 - node]
            node = _root(tree)
        if node < 0:
            number = -1 - n_cells
            n_cells += 1
        else:
            number = len(thresholds)
            directions.append(tree.directions[node])
            thresholds.append(tree.thresholds[node])
            children.append([0, 0])
            left, right = tree.children[node].tolist()
            waiting += [(tree, right, number, 1), (tree, left, number, 0)]
        if above >= 0:
            children[above][side] = number
    return CellTree(
        top.centre,
        np.array(directions).reshape(-1, top.directions.shape[1]),
        np.array(thresholds),
        np.array(children, dtype=np.intp).reshape(-1, 2),
    )


def stacked(parts: Sequence[Part]) -> Part:
    """Return the rows of all parts in one piece."""
    if len(parts) == 1:
        return parts[0]
    return Part(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _root(tree: CellTree) -> int:
    return 0 if len(tree.thresholds) else -1


def _stacked(*parts: Part | None) -> Part:
    return stacked([part for part in parts if part is not None])


def _pieces(part: Part, top: CellTree) -> list[Part]:
    """Return the rows of each group, in their order."""
    group = top.cell_of(part.X)
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(top.n_cells + 1))
    return [part.take(order[cuts[g] : cuts[g + 1]]) for g in range(top.n_cells)]


def _counts(pieces: list[Part]) -> list[int]:
    return [len(piece.X) for piece in pieces]


def _piece(pieces: list[Part], g: int) -> Part:
    return pieces[g]


def _turned(part: Part, R: FloatArray) -> Part:
    return part._replace(X=part.X @ R)


def _without(part: Part, trend: Trend) -> Part:
    return part._replace(Y=part.Y - trend(part.X))


def _weighted_sums(part: Part) -> FloatArray:
    return np.append(part.s @ part.Y, part.s.sum())
