"""From rows to a fitted ensemble of cells: shuffle, grow, choose, solve, couple.

Rows are in groups of neighbouring cells, each where its rows are. Rows in memory are one
group, so that one implementation serves them and the chunks of Dask collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.cells import groups
from committee.cells.borders import BorderPoints, GroupBorders, borders_of_groups
from committee.cells.choose import CellOptions, Part, part_cells, settled
from committee.cells.joint import JointSolution, JointSystem
from committee.cells.loo import LeftOut, own_weights, target_errors
from committee.cells.machine import Factor
from committee.cells.model import CellModel, PartitionedModel
from committee.cells.row_chunks import RowChunks, graft, shuffled, stacked
from committee.cells.tree import WIDTH_ROWS, CellTree, border_width
from committee.cells.variance import CellVariance, PartitionedVariance
from committee.distributed import Chunks, InMemory
from committee.kernels import KERNEL_ROWS, Kernel

#: Leave-one-out is computed for cells, at equal steps, of so many rows together.
_LOO_ROWS = 5000


@dataclass(frozen=True, eq=False)
class CellTraining:
    """A fitted model, and what became known on the way.

    Attributes
    ----------
    model : PartitionedModel or CellModel
    alpha, coupling : float
    errors : dict of float
        Mean squared error of leave-one-out by the couplings that were tried.
    borders : BorderPoints
    joint : JointSolution
    looked : Part
        The rows of the cells of leave-one-out, cell after cell.
    left_out : LeftOut
        Their predictions by the ensemble without them, in their order.
    variance : PartitionedVariance or CellVariance
        Its scale is y'A^-1 y / N, the likeliest prior variance of a Gaussian process of
        which f is the mean. In groups on workers it is still to be computed.
    cells : list of arrays of row numbers, or None
        None for rows of Dask collections.
    """

    model: PartitionedModel | CellModel
    alpha: float
    coupling: float
    errors: dict[float, float]
    borders: BorderPoints
    joint: JointSolution
    looked: Part
    left_out: LeftOut
    variance: PartitionedVariance | CellVariance
    cells: list[IntArray] | None

    def gathered(self) -> CellTraining:
        """Return the training with model and variance in one place."""
        assert isinstance(self.model, PartitionedModel)
        assert isinstance(self.variance, PartitionedVariance)
        model, variance = self.model.gathered(), self.variance.gathered()
        return replace(self, model=model, variance=variance)


class Layout:
    """The cells of all groups: their tree, their sizes, the first cell of each group."""

    def __init__(self, top: CellTree | None, grown: Chunks) -> None:
        outlines = grown.map(groups.outline).values()
        trees = [tree for tree, _ in outlines]
        self.tree = trees[0] if top is None else graft(top, trees)
        self.sizes = [size for _, sizes in outlines for size in sizes]
        n_cells = [len(sizes) for _, sizes in outlines]
        self.firsts: IntArray = np.concatenate([[0], np.cumsum(n_cells)])

    def in_groups(self, cells: list[int]) -> list[list[int]]:
        """Return the cells of each group by their numbers in it."""
        cuts = np.searchsorted(cells, self.firsts)
        return [
            [c - int(first) for c in cells[start:stop]]
            for start, stop, first in zip(
                cuts[:-1], cuts[1:], self.firsts[:-1], strict=True
            )
        ]

    def parts(self, grown: Chunks, offset: FloatArray) -> list[Part]:
        """Return parts of some cells, to choose the kernel on."""
        some = self.in_groups(part_cells(self.tree.n_cells))
        return _flat(grown.map(groups.parts, grown.each(some), offset).values())

    def border_points(self, grown: Chunks, per_cell: int) -> BorderPoints:
        """Return the border points of all groups, group after group."""
        firsts = grown.each(self.firsts[:-1].tolist())
        found = grown.map(groups.own_borders, firsts, self.tree, per_cell).values()
        return BorderPoints(
            *(np.concatenate(part) for part in zip(*found, strict=True))
        )


def train_cells(
    X: FloatArray, Y: FloatArray, s: FloatArray | None, options: CellOptions
) -> CellTraining:
    """Fit an ensemble of cells to X (N, d), Y (N, T) and sample weights (N,) or None."""
    return train(RowChunks.in_memory(X, Y, s), options).gathered()


def train(rows: RowChunks, options: CellOptions) -> CellTraining:
    """Fit an ensemble of cells to rows in memory or in chunks, with the same answer.

    It is the same to rounding, up to as many rows as decide the top of the tree. Beyond
    these, splits of the top are at the medians of some rows of chunks instead of all.
    BLAS is held to one thread: cells run side by side.
    """
    with one_thread():
        return _trained(rows, options)


def _trained(rows: RowChunks, o: CellOptions) -> CellTraining:
    offset = rows.mean()
    scale_rows, width_rows = rows.some(KERNEL_ROWS).X, rows.some(WIDTH_ROWS).X
    top, parts = shuffled(rows, o.max_cell)
    centre = None if top is None else top.centre
    grown = parts.map(groups.grow, o.max_cell, centre).kept()
    layout = Layout(top, grown)
    kernel, alpha = settled(scale_rows, layout.parts(grown, offset), o)
    width = border_width(layout.tree, width_rows)
    first = type(grown)(grown.parts[:1]).map(groups.first_cell, o.max_cell).values()[0]
    reduce = o.precision == "auto"
    o = with_precision(o, kernel, alpha, first)
    points = layout.border_points(grown, o.n_coupling if any(o.couplings) else 0)
    borders = borders_of_groups(points, layout.firsts)
    looked = layout.in_groups(looked_cells(layout.sizes, o.max_cell))
    cells = None
    if isinstance(grown, InMemory):
        cells = grown.values()[0].cells
    else:  # groups are fitted at the same time
        o = replace(o, n_jobs=None)
    machine = groups.Machine(kernel, alpha, offset, width, o, reduce)
    solved = grown.map(
        groups.solve, grown.each(borders), grown.each(looked), machine
    ).kept()
    del grown, parts, rows  # what is solved has the rows
    fitted = _Fitted(layout, solved, points, borders, looked, machine)
    return CellTraining(**fitted.coupled(), alpha=alpha, borders=points, cells=cells)


def looked_cells(sizes: Sequence[int], max_cell: int) -> list[int]:
    """Return the cells of leave-one-out: all, or some at equal steps."""
    usual = [c for c, size in enumerate(sizes) if size <= max_cell]
    n = sum(sizes[c] for c in usual)
    some = max(1, len(usual) * _LOO_ROWS // max(n, 1))
    if not usual or some >= len(usual):
        return usual
    return [usual[i] for i in np.linspace(0, len(usual) - 1, some).astype(np.intp)]


def with_precision(
    o: CellOptions, kernel: Kernel, alpha: float, first: Part
) -> CellOptions:
    """Return options with double precision where the first cell needs it.

    Cells are alike: none need try in vain.
    """
    if o.precision == "auto" and not Factor(kernel, first.X, alpha / first.s).single:
        return replace(o, precision="double")
    return o


class _Fitted(NamedTuple):
    """Cells that are fitted, each by itself; `looked` are the cells of leave-one-out."""

    layout: Layout
    solved: Chunks
    points: BorderPoints
    borders: list[GroupBorders]
    looked: list[list[int]]
    machine: groups.Machine

    def coupled(self) -> dict[str, Any]:
        """Return the cells with the best coupling, as `CellTraining` has it."""
        o, alpha = self.machine.options, self.machine.alpha
        couplings = tuple(o.couplings) if len(self.points.owner) else (0.0,)
        if not any(self.looked):
            couplings = couplings[:1]  # nothing can be chosen
        own = _flat(self.solved.map(groups.borders_alone).values())
        system = JointSystem(self.points, own, alpha)
        joints = [system.solve(nu, tol=o.tol, max_iter=o.max_iter) for nu in couplings]
        models = self._side_by_side(couplings, joints)
        data = self._data()
        # Kernels are evaluated once for all couplings.
        f = np.split(models.predict(data.X, o.n_jobs), len(couplings), axis=1)
        found = []
        for i, nu in enumerate(couplings):
            precisions = self._precisions(system, self.looked, nu)
            left_out = self._left_out(models.parts, i, precisions, data.X, f[i])
            squares = np.mean((data.Y - left_out.f) ** 2, axis=1)
            error = np.average(squares, weights=data.s) if len(squares) else np.nan
            found.append((float(error), left_out))
        best = int(np.argmin([error for error, _ in found]))
        parts = models.parts.map(
            groups.one_of, best, len(couplings), self.solved, couplings[best] != 0.0
        )
        whole = replace(models, offset=self.machine.offset, parts=parts.kept())
        error = target_errors(data.Y, found[best][1].f, data.s)
        model = self._reduced(whole, error)
        return {
            "model": model,
            "coupling": couplings[best],
            "errors": dict(zip(couplings, (error for error, _ in found), strict=True)),
            "joint": joints[best],
            "looked": data,
            "left_out": found[best][1],
            "variance": self._variance(
                system, couplings[best], None if model is whole else whole
            ),
        }

    def _reduced(self, whole: PartitionedModel, error: FloatArray) -> PartitionedModel:
        """Return the model with fewer points, where they are good enough."""
        if not self.machine.reduce:
            return whole
        parts = whole.parts.map(groups.reduced, self.solved, self.machine, error).kept()
        model = replace(whole, parts=parts)
        return model if model.n_bytes < whole.n_bytes else whole

    def _variance(
        self,
        system: JointSystem,
        coupling: float,
        whole: PartitionedModel | None,
    ) -> PartitionedVariance:
        """Return the variances; those of groups on workers are still to be computed."""
        *energy, n = self.solved.sum(groups.energy)
        scale, alpha = np.array(energy) / n, self.machine.alpha
        n_cells = np.diff(self.layout.firsts).tolist()
        every = [list(range(n)) if coupling else [] for n in n_cells]
        precisions = self._precisions(system, every, coupling)
        parts = self.solved.map(groups.variance, precisions, alpha, scale)
        return PartitionedVariance(scale, alpha * scale, parts, whole)

    def _precisions(
        self, system: JointSystem, cells: list[list[int]], coupling: float
    ) -> Chunks:
        """Return G of some cells of each group, given by their numbers in it."""
        firsts = self.layout.firsts[:-1].tolist()
        return self.solved.each(
            [
                [system.precision(first + c, coupling) for c in own]
                for first, own in zip(firsts, cells, strict=True)
            ]
        )

    def _side_by_side(
        self, couplings: Sequence[float], joints: Sequence[JointSolution]
    ) -> PartitionedModel:
        """Return the models of all couplings as one, whose targets are those of all."""
        tensions = [
            [
                None if nu == 0.0 else joint.tension[group.numbers]
                for nu, joint in zip(couplings, joints, strict=True)
            ]
            for group in self.borders
        ]
        return PartitionedModel(
            self.machine.kernel,
            self.layout.tree,
            self.machine.width,
            np.tile(self.machine.offset, len(couplings)),
            self.solved.map(
                groups.coupled,
                self.solved.each(self.borders),
                self.solved.each(tensions),
            ).kept(),
            self.layout.firsts,
        )

    def _data(self) -> Part:
        """Return the rows of the cells to look at, with their targets as given."""
        offset = self.machine.offset
        d, T = len(self.layout.tree.centre), len(offset)
        empty = Part(np.empty((0, d)), np.empty((0, T)), np.empty(0))
        found = self.solved.map(
            groups.whole_cells, self.solved.each(self.looked)
        ).values()
        X, Y, s = stacked([empty, *_flat(found)])
        return Part(X, Y + offset, s)

    def _left_out(
        self, models: Chunks, i: int, precisions: Chunks, X: FloatArray, f: FloatArray
    ) -> LeftOut:
        """Return leave-one-out predictions of the rows of these cells."""
        if not len(X):
            return LeftOut(f, np.empty(0))
        alpha = self.machine.alpha
        effects = self.solved.map(
            groups.own_effects,
            models,
            i,
            self.solved.each(self.looked),
            precisions,
            alpha,
        )
        moved, variance = zip(*_flat(effects.values()), strict=True)
        cells = [
            c + first
            for first, group in zip(self.layout.firsts, self.looked, strict=False)
            for c in group
        ]
        owner = np.repeat(cells, [len(part) for part in moved])
        g = own_weights(self.layout.tree, self.machine.width, X, owner)
        f = f - g[:, None] * np.concatenate(moved)
        return LeftOut(f, np.concatenate(variance))


def _flat(lists: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for values in lists for value in values]
