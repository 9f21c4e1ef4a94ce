"""What is done in a group of cells, where its rows are."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.borders import BorderPoints, border_points
from committee.cells.choose import Part, part_of
from committee.cells.group_system import GroupBorders
from committee.cells.loo import own_effect
from committee.cells.machine import Border, CellFit
from committee.cells.model import CellModel
from committee.cells.reduced_set import reduced_cells
from committee.cells.train import (
    CellOptions,
    merged,
    packed,
    side_by_side,
    solve_cells,
    with_borders,
)
from committee.cells.tree import CellTree, grow_tree
from committee.cells.variance import CellVariance
from committee.kernels import Kernel


class Grown(NamedTuple):
    """The rows of a group, its own tree, and the row numbers of its cells."""

    rows: Part
    tree: CellTree
    cells: list[IntArray]


class Machine(NamedTuple):
    """What the machines of all cells have in common."""

    kernel: Kernel
    alpha: float
    offset: FloatArray
    width: float
    options: CellOptions
    reduce: bool


class Solved(NamedTuple):
    """The cells of a group, each fitted by itself."""

    rows: list[Part]
    fits: list[CellFit]
    alone: CellModel


def grow(rows: Part, max_cell: int, centre: FloatArray) -> Grown:
    """Split the rows of a group into cells; trees of all groups have one centre."""
    return Grown(rows, *grow_tree(rows.X, max_cell, centre))


def outline(grown: Grown) -> tuple[CellTree, list[int]]:
    """Return the tree of a group, and the number of rows in each of its cells."""
    return grown.tree, [len(cell) for cell in grown.cells]


def parts(grown: Grown, cells: list[int], offset: FloatArray) -> list[Part]:
    """Return a part of each of some cells, to choose the kernel on."""
    X, Y, s = grown.rows
    rows = [grown.cells[c] for c in cells]
    return [part_of(X[cell], Y[cell] - offset, s[cell]) for cell in rows]


def first_cell(grown: Grown, max_cell: int) -> Part:
    """Return the rows of the first cell."""
    X, Y, s = grown.rows
    cell = grown.cells[0]
    return merged(Part(X[cell], Y[cell], s[cell]), max_cell)


def own_borders(
    grown: Grown, first: int, tree: CellTree, per_cell: int
) -> BorderPoints:
    """Return the border points that cells of a group own; the first has that number."""
    return border_points(tree, grown.rows.X, grown.cells, per_cell, first)


def solve(
    grown: Grown, borders: GroupBorders, looked: list[int], machine: Machine
) -> Solved:
    """Fit every cell of a group by itself; `looked` are those of leave-one-out."""
    kernel, alpha, offset, width, options, _ = machine
    X, Y, s = grown.rows
    rows = [
        merged(Part(X[cell], Y[cell] - offset, s[cell]), options.max_cell)
        for cell in grown.cells
    ]
    # Other groups are fitted at the same time.
    alone = replace(options, n_jobs=None)
    fits = solve_cells(kernel, alpha, rows, borders.points, looked, alone)
    model = packed(kernel, grown.tree, width, rows, fits, np.zeros_like(offset))
    # The model has the rows already: one copy will do.
    rows = [part._replace(X=model.points[model.part(c)]) for c, part in enumerate(rows)]
    return Solved(rows, fits, model)


def whole_cells(solved: Solved, cells: list[int]) -> list[Part]:
    """Return the rows of some cells, Y without the offset."""
    return [solved.rows[c] for c in cells]


def energy(solved: Solved) -> FloatArray:
    """Return y'A^-1 y, (T,), and the number of rows."""
    n = sum(len(part.X) for part in solved.rows)
    return np.append(np.sum([fit.energy for fit in solved.fits], axis=0), n)


def borders_alone(solved: Solved) -> list[Border | None]:
    """Return what each cell says of its border points, without the responses."""
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


def reduced(
    model: CellModel, solved: Solved, alpha: float, error: FloatArray
) -> CellModel:
    """Return the model of a group with fewer points; see `reduced_cells`."""
    return reduced_cells(model, solved.rows, alpha, error)


def variance(
    solved: Solved, precisions: list[FloatArray], alpha: float, scale: FloatArray
) -> CellVariance:
    """Return what variances of a group need; without precisions nothing is coupled."""
    ridge = np.concatenate([alpha / part.s for part in solved.rows])
    return CellVariance(ridge, precisions, scale, alpha * scale)


def own_effects(
    solved: Solved,
    models: CellModel,
    i: int,
    looked: list[int],
    precisions: list[FloatArray],
    alpha: float,
) -> list[tuple[FloatArray, FloatArray]]:
    """Return what rows of some cells do to their own predictions, and their variances.

    By the model of number i of those that are side by side.
    """
    found = []
    for c, G in zip(looked, precisions, strict=True):
        fit, s = solved.fits[c], solved.rows[c].s
        T = fit.coef.shape[1]
        a = models.coef[models.part(c)][: len(s), i * T : (i + 1) * T]
        found.append(own_effect(fit, a, alpha / s, G))
    return found
