"""The steps of a fit in one group of cells, where its rows are.

All rows in memory are one group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from committee._parallel import in_threads
from committee._typing import FloatArray, IntArray
from committee.cells.choose import CellOptions, Part, part_of
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
from committee.kernels import Kernel


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
