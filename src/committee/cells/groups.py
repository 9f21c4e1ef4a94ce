"""The rows of a fit in chunks, and their one journey to the groups of cells.

some of the rows -> the top of the tree    its leaves are the groups
rows of a chunk  -> a piece for each group 8 (d + T + 1) N bytes travel
pieces           -> the rows of a group    in the order of the chunks

Rows in memory are one chunk and one group, and are not copied. Functions of a group,
`Grown` or `Solved`, run where its rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from committee._parallel import in_threads
from committee._typing import FloatArray, IntArray
from committee.cells.choose import SAMPLE_ROWS, CellOptions, Part, part_of
from committee.cells.joint import (
    BorderPoints,
    GroupBorders,
    border_points,
    coupled_coef,
)
from committee.cells.machine import Border, CellFit, solve_cell
from committee.cells.model import CellModel
from committee.cells.reduced_set import reduced_cells
from committee.cells.tree import CellTree, grow_tree
from committee.cells.trend import Trend
from committee.distributed.chunks import Chunks, InMemory, deferred
from committee.kernels import Kernel, equal_steps

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
    >>> from committee.cells.groups import graft
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


class Grown(NamedTuple):
    """The rows of a group, its own tree, and the row numbers of its cells."""

    rows: Part
    tree: CellTree
    cells: list[IntArray]


class Machine(NamedTuple):
    """The part of a fit that is the same in all cells."""

    kernel: Kernel
    alpha: float
    offset: FloatArray
    width: float
    options: CellOptions
    reduce: bool


class Solved(NamedTuple):
    """The cells of a group, each fitted separately."""

    rows: list[Part]
    fits: list[CellFit]
    alone: CellModel


def grow(rows: Part, max_cell: int, centre: FloatArray | None) -> Grown:
    """Split the rows of a group into cells; trees of all groups have one centre."""
    return Grown(rows, *grow_tree(rows.X, max_cell, centre))


def outline(grown: Grown) -> tuple[CellTree, list[int]]:
    """Return the tree of a group, and the number of rows in each of its cells."""
    return grown.tree, [len(cell) for cell in grown.cells]


def parts(grown: Grown, cells: list[int], offset: FloatArray) -> list[Part]:
    """Return a part of each of some cells, to choose the kernel on."""
    rows = grown.rows._replace(Y=grown.rows.Y - offset)
    return [part_of(rows.take(grown.cells[c])) for c in cells]


def first_cell(grown: Grown, max_cell: int) -> Part:
    """Return the rows of the first cell."""
    return merged(grown.rows.take(grown.cells[0]), max_cell)


def own_borders(
    grown: Grown, first: int, tree: CellTree, per_cell: int
) -> BorderPoints:
    """Return the border points that cells of a group own; the first has that number."""
    return border_points(tree, grown.rows.X, grown.cells, per_cell, first)


def solve(
    grown: Grown, borders: GroupBorders, measured: list[int], machine: Machine
) -> Solved:
    """Fit every cell of a group; only `measured` cells get leave-one-out errors."""
    kernel, alpha, offset, width, options, _ = machine
    centred = grown.rows._replace(Y=grown.rows.Y - offset)
    rows = [merged(centred.take(cell), options.max_cell) for cell in grown.cells]
    fits = solve_cells(kernel, alpha, rows, borders.points, measured, options)
    model = packed(kernel, grown.tree, width, rows, fits, np.zeros_like(offset))
    # The model has the rows already: one copy will do.
    rows = [part._replace(X=model.points[model.part(c)]) for c, part in enumerate(rows)]
    return Solved(rows, fits, model)


def whole_cells(solved: Solved, cells: list[int]) -> list[Part]:
    """Return the rows of some cells, Y without the offset."""
    return [solved.rows[c] for c in cells]


def energy(solved: Solved) -> FloatArray:
    """Return y'A^-1 y, (T,)."""
    total: FloatArray = np.sum([fit.energy for fit in solved.fits], axis=0)
    return total


def borders_alone(solved: Solved) -> list[Border | None]:
    """Return values and covariance of each cell on its border points, no responses."""
    return [
        None if fit.border is None else fit.border._replace(response=np.empty((0, 0)))
        for fit in solved.fits
    ]


def coupled(
    solved: Solved, borders: GroupBorders, tensions: list[FloatArray | None]
) -> CellModel:
    """Return models of a group side by side, one for each of some couplings.

    Given the coefficients of its border points at each of them, None without coupling.
    """
    models = [
        solved.alone
        if tension is None
        else with_borders(solved.alone, solved.fits, borders.points, tension)
        for tension in tensions
    ]
    return side_by_side(models)


def one_of(
    models: CellModel, i: int, n: int, solved: Solved, coupled: bool
) -> CellModel:
    """Return the model of number i of n that are side by side."""
    if not coupled:
        return solved.alone
    coef = np.ascontiguousarray(np.split(models.coef, n, axis=1)[i])
    return replace(models, coef=coef, offset=solved.alone.offset)


def n_points(model: CellModel) -> int:
    """Return the number of points of a group."""
    return len(model.points)


def reduced(
    model: CellModel, solved: Solved, machine: Machine, error: FloatArray
) -> CellModel:
    """Return the model of a group with fewer points; see `reduced_cells`."""
    n_jobs = machine.options.n_jobs
    return reduced_cells(model, solved.rows, machine.alpha, error, n_jobs)


def ridges(solved: Solved, alpha: float) -> FloatArray:
    """Return r of the rows of all cells, cell after cell."""
    return np.concatenate([alpha / part.s for part in solved.rows])


def own_effects(
    solved: Solved,
    models: CellModel,
    i: int,
    measured: list[int],
    precisions: list[FloatArray],
    alpha: float,
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the effect of their own targets on some rows, and variances, cell by cell.

        f^-n(x_n) = f(x_n) - g_i(x_n) ( a_n / B_n - r_n a_n ),    n in cell i

        B_n = (A^-1)_nn + Q_n G Q_n'

    a_n / B_n is the residual of the cell without row n, and r_n a_n the residual of the
    cell that was fitted with it. The formula is exact without coupling, where no other
    cell depends on y_n. With coupling the others depend on it through the borders. This
    is neglected here, as are borders further away in G: the change of f is then found to
    some 80 per cent for rows between cells.

    Parameters
    ----------
    solved : Solved
    models : CellModel
        Models side by side, of which number i has the coefficients a.
    i : int
    measured : list of int
        The cells.
    precisions : list of arrays of shape (b, b)
        G of each of these cells.
    alpha : float

    Returns
    -------
    list of (a_n / B_n - r_n a_n, 1 / B_n)
        Of shapes (n, T) and (n,) for each cell.
    """
    found = []
    for c, G in zip(measured, precisions, strict=True):
        fit, ridge = solved.fits[c], alpha / solved.rows[c].s
        T = fit.coef.shape[1]
        a = models.coef[models.part(c)][: len(ridge), i * T : (i + 1) * T]
        B = fit.precisions
        if fit.border is not None:
            Q = fit.border.response
            B = B + np.einsum("nb,nb->n", Q @ G, Q)
        found.append((a / B[:, None] - ridge[:, None] * a, 1.0 / B))
    return found


def merged(part: Part, max_cell: int) -> Part:
    """Return the rows of a cell; too many are all alike, and then one stands for them.

    sum_n s_n (y_n - f(x))^2 = s (y - f(x))^2 + const,   y their mean, s their sum
    """
    if len(part.X) <= max_cell:
        return part
    mean = np.average(part.Y, axis=0, weights=part.s, keepdims=True)
    return Part(part.X[:1], mean, part.s.sum(keepdims=True))


def solve_cells(
    kernel: Kernel,
    alpha: float,
    rows: list[Part],
    borders: BorderPoints,
    measured: list[int],
    o: CellOptions,
) -> list[CellFit]:
    """Return the fits of all cells, each fitted separately."""
    chosen = set(measured)

    def solved(c: int, part: Part) -> CellFit:
        return solve_cell(
            kernel,
            part.X,
            part.Y,
            alpha / part.s,
            border_points=borders.points[borders.of_cell(c)[0]],
            precision=o.precision,
            leave_one_out=c in chosen,
        )

    return list(in_threads(solved, enumerate(rows), o.n_jobs))


def packed(
    kernel: Kernel,
    tree: CellTree,
    width: float,
    rows: list[Part],
    fits: list[CellFit],
    offset: FloatArray,
) -> CellModel:
    """Return the model of cells that are not coupled."""
    n_rows = np.array([len(part.X) for part in rows])
    return CellModel(
        kernel,
        tree,
        width,
        np.concatenate([part.X for part in rows]),
        np.concatenate([fit.coef for fit in fits]),
        np.concatenate([[0], np.cumsum(n_rows)]),
        n_rows,
        offset,
    )


def with_borders(
    alone: CellModel, fits: list[CellFit], borders: BorderPoints, tension: FloatArray
) -> CellModel:
    """Return the model with the border points' coefficients among its own."""
    points, coef = [], []
    for c, fit in enumerate(fits):
        numbers, sign = borders.of_cell(c)
        points += [alone.points[alone.part(c)], borders.points[numbers]]
        coef.append(coupled_coef(fit.coef, fit.border, sign, tension[numbers]))
    sizes = [len(part) for part in coef]
    return replace(
        alone,
        points=np.concatenate(points),
        coef=np.concatenate(coef),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
    )


def joined(parts: list[CellModel], tree: CellTree, offset: FloatArray) -> CellModel:
    """Return the models of all groups as one; `tree` has the cells of all."""
    first, *others = parts
    model = replace(first, tree=tree, offset=offset)
    if not others:
        return model
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return replace(
        model,
        points=np.concatenate([part.points for part in parts]),
        coef=np.concatenate([part.coef for part in parts]),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        n_rows=np.concatenate([part.n_rows for part in parts]),
    )


def side_by_side(models: list[CellModel]) -> CellModel:
    """Return models of the same cells as one model with the targets of all."""
    most = max(models, key=lambda model: len(model.points))
    T = most.coef.shape[1]
    coef = np.zeros((len(most.points), len(models) * T))
    own = np.concatenate(
        [
            np.arange(most.starts[c], most.starts[c] + n)
            for c, n in enumerate(most.n_rows)
        ]
    )
    for i, model in enumerate(models):
        whole = len(model.points) == len(most.points)
        coef[slice(None) if whole else own, i * T : (i + 1) * T] = model.coef
    return replace(most, coef=coef, offset=np.tile(most.offset, len(models)))
