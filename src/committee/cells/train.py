"""From rows to a fitted ensemble of cells: shuffle, grow, choose, solve, couple.

The ensemble may be fitted around a trend: leave-one-out decides whether there is one.

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
from committee.cells.choose import (
    FEW,
    CellOptions,
    Part,
    has_gamma,
    loo_errors,
    lower_inverse,
    part_cells,
    parts_of,
    settled,
)
from committee.cells.joint import (
    BorderPoints,
    GroupBorders,
    JointSolution,
    JointSystem,
    borders_of_groups,
)
from committee.cells.machine import Factor
from committee.cells.model import CellModel, PartitionedModel
from committee.cells.row_chunks import RowChunks, graft, shuffled, stacked
from committee.cells.tree import WIDTH_ROWS, CellTree, border_width, grow_tree
from committee.cells.trend import FittedTrend, fit_trend
from committee.cells.variance import CellVariance, PartitionedVariance
from committee.distributed import Chunks, InMemory
from committee.kernels import KERNEL_ROWS, Kernel, equal_steps

#: Leave-one-out is computed for cells, at equal steps, of so many rows together.
_LOO_ROWS = 5000
#: A trend is taken where the error falls to this, or further: it costs a third of the fit.
_WORTH = 0.98
#: Of gamma and of the ridge, relative to their values for cells alone: tried around a trend.
_GAMMAS, _ALPHAS = (0.3, 1.0, 3.0, 10.0), (1.0, 10.0, 100.0, 1e4)
#: With fewer rows trend=None fits no trend.
_LEAST_ROWS = 1000


class LeftOut(NamedTuple):
    """Predictions of n rows by the ensemble without each of them.

    Attributes
    ----------
    f : array of shape (n, T)
    variance : array of shape (n,)
        1 / (A^-1)_nn, the variance of y_n for unit scale, by its own cell alone.
    """

    f: FloatArray
    variance: FloatArray


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
    measured : Part
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
    measured: Part
    left_out: LeftOut
    variance: PartitionedVariance | CellVariance
    cells: list[IntArray] | None

    def gathered(self) -> CellTraining:
        """Return the training with model and variance in one place."""
        assert isinstance(self.model, PartitionedModel)
        assert isinstance(self.variance, PartitionedVariance)
        model, variance = self.model.gathered(), self.variance.gathered()
        return replace(self, model=model, variance=variance)


class GroupedCells:
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
    layout = GroupedCells(top, grown)
    kernel, alpha = settled(scale_rows, layout.parts(grown, offset), o)
    width = border_width(layout.tree, width_rows)
    first = type(grown)(grown.parts[:1]).map(groups.first_cell, o.max_cell).values()[0]
    reduce = o.precision == "auto"
    o = with_precision(o, kernel, alpha, first)
    points = layout.border_points(grown, o.n_coupling if any(o.couplings) else 0)
    borders = borders_of_groups(points, layout.firsts)
    measured = layout.in_groups(measured_cells(layout.sizes, o.max_cell))
    cells = None
    if isinstance(grown, InMemory):
        cells = grown.values()[0].cells
    else:  # groups are fitted at the same time
        o = replace(o, n_jobs=None)
    machine = groups.Machine(kernel, alpha, offset, width, o, reduce)
    solved = grown.map(
        groups.solve, grown.each(borders), grown.each(measured), machine
    ).kept()
    del grown, parts, rows  # what is solved has the rows
    fitted = _Fitted(layout, solved, points, borders, measured, machine)
    return CellTraining(**fitted.coupled(), alpha=alpha, borders=points, cells=cells)


def measured_cells(sizes: Sequence[int], max_cell: int) -> list[int]:
    """Return the cells of leave-one-out: all, or some at equal steps."""
    usual = [c for c, size in enumerate(sizes) if size <= max_cell]
    n = sum(sizes[c] for c in usual)
    some = max(1, len(usual) * _LOO_ROWS // max(n, 1))
    return [usual[i] for i in equal_steps(len(usual), some)]


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
    """Cells that are fitted, each by itself; `measured` are the cells of leave-one-out."""

    layout: GroupedCells
    solved: Chunks
    points: BorderPoints
    borders: list[GroupBorders]
    measured: list[list[int]]
    machine: groups.Machine

    def coupled(self) -> dict[str, Any]:
        """Return the cells with the best coupling, as `CellTraining` has it."""
        o, alpha = self.machine.options, self.machine.alpha
        couplings = tuple(o.couplings) if len(self.points.owner) else (0.0,)
        if not any(self.measured):
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
            precisions = self._precisions(system, self.measured, nu)
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
            "measured": data,
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
        """Return the rows of the measured cells, with their targets as given."""
        offset = self.machine.offset
        d, T = len(self.layout.tree.centre), len(offset)
        empty = Part(np.empty((0, d)), np.empty((0, T)), np.empty(0))
        found = self.solved.map(
            groups.whole_cells, self.solved.each(self.measured)
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
            self.solved.each(self.measured),
            precisions,
            alpha,
        )
        moved, variance = zip(*_flat(effects.values()), strict=True)
        cells = [
            c + first
            for first, group in zip(self.layout.firsts, self.measured, strict=False)
            for c in group
        ]
        owner = np.repeat(cells, [len(part) for part in moved])
        g = own_weights(self.layout.tree, self.machine.width, X, owner)
        f = f - g[:, None] * np.concatenate(moved)
        return LeftOut(f, np.concatenate(variance))


def _flat(lists: Sequence[Sequence[Any]]) -> list[Any]:
    return [value for values in lists for value in values]


def own_weights(
    tree: CellTree, width: float, X: FloatArray, owner: IntArray
) -> FloatArray:
    """Return g of each row's own cell."""
    shares = tree.shares(X, width)
    mine = shares.cells == owner[shares.rows]
    g = np.zeros(len(X))
    g[shares.rows[mine]] = shares.weights[mine]
    return g


def target_errors(Y: FloatArray, f: FloatArray, s: FloatArray) -> FloatArray:
    """Return the mean squared error of each target, (T,); nan where there are no rows."""
    if not len(Y):
        return np.full(Y.shape[1], np.nan)
    errors: FloatArray = np.average((Y - f) ** 2, axis=0, weights=s)
    return errors


def train_around_trend(
    rows: RowChunks, options: CellOptions, trend: bool | None = None
) -> CellTraining:
    """Fit cells to what a trend leaves: f(x) = t(x) + mean + sum_c g_c(x) f_c(x).

    Parameters
    ----------
    rows : RowChunks
        In memory or in chunks; the trend is fitted to a sample of them in one place.
    options : CellOptions
    trend : bool, optional
        Whether there is one; None takes it where the leave-one-out error of some cells
        falls by two per cent or more.
    """
    found, options = _chosen(rows.sample(), rows.n_rows, options, trend)
    if found is None:
        return train(rows, options)
    t = found.trend
    fitted = train(rows.without(t), options)
    measured = fitted.measured._replace(Y=fitted.measured.Y + t(fitted.measured.X))
    left_out, errors = _without_own(found, fitted, measured)
    return replace(
        fitted,
        model=replace(fitted.model, trend=t),
        measured=measured,
        left_out=left_out,
        errors=errors,
    )


def _without_own(
    found: FittedTrend, fitted: CellTraining, measured: Part
) -> tuple[LeftOut, dict[float, float]]:
    """Return leave-one-out predictions with the trend, and errors by the couplings.

        y_n - f^-n(x_n) = (y_n - t(x_n) - f_cells^-n(x_n)) / (1 - h_n)

    for rows on which the trend was fitted, with leverage h. The error is not too small:
    cells could have made good a part of what the trend loses with a row.
    """
    left_out = fitted.left_out
    if not len(left_out.f):
        return left_out, fitted.errors
    seen = measured.Y - found.trend(measured.X) - left_out.f
    residual = seen / (1.0 - found.leverage(measured.X, measured.s))[:, None]
    before, now = (
        float(np.average(np.mean(e**2, axis=1), weights=measured.s))
        for e in (seen, residual)
    )
    more = now / before if before > 0 else 1.0
    errors = {nu: more * error for nu, error in fitted.errors.items()}
    return left_out._replace(f=measured.Y - residual), errors


def _chosen(
    sample: Part, n_rows: int, o: CellOptions, trend: bool | None
) -> tuple[FittedTrend | None, CellOptions]:
    """Return the trend, if any, and the options with what was settled on the way."""
    one_cell = n_rows <= o.max_cell
    unasked = n_rows < _LEAST_ROWS if trend is None else not trend
    if one_cell or unasked:
        return None, o
    with one_thread():
        try:
            found = fit_trend(*sample)
        except ValueError:  # hardly two rows differ: there are cells alone
            return None, o
        found = found._replace(share=found.share * len(sample.X) / n_rows)
        if trend:
            return found, o
        cells = grow_tree(sample.X, o.max_cell)[1]
        alone = _centred(sample, sample.Y)
        around = _centred(sample, sample.Y - found.trend(sample.X))
        kernel, alpha = settled(sample.X, parts_of(alone, cells), o)
        worth = _falls(found, alone, around, cells, kernel, alpha, o)
        whole = len(sample.X) == n_rows  # parts of a sample are not as dense as cells
        if worth and whole:
            kernel, alpha = settled(sample.X, parts_of(around, cells), o)
    if whole:
        o = replace(o, kernel=kernel.name, gamma=kernel.gamma, alpha=alpha)
    return found if worth else None, o


def _centred(sample: Part, Y: FloatArray) -> Part:
    return sample._replace(Y=Y - np.average(Y, axis=0, weights=sample.s))


def _falls(
    found: FittedTrend,
    alone: Part,
    around: Part,
    cells: Sequence[IntArray],
    kernel: Kernel,
    alpha: float,
    o: CellOptions,
) -> bool:
    """Return whether the trend is worth its price, by leave-one-out.

    First on parts of cells, which cost a thousandth of the cells: a trend that does not
    help few neighbours does not help many. Then on rows of whole cells.
    """
    parts, rest = parts_of(alone, cells), parts_of(around, cells)
    factors = [_factor(found, part) for part in rest]
    few = slice(None, None, max(1, len(rest) // FEW))
    gammas = _GAMMAS if o.gamma is None and has_gamma(kernel.name) else (1.0,)
    ridges = [alpha * step for step in _ALPHAS] if o.alpha is None else [alpha]
    tried = [
        (error, k, a)
        for k in (replace(kernel, gamma=kernel.gamma * step) for step in gammas)
        for a, error in zip(
            ridges, loo_errors(rest[few], k, ridges, factors[few]), strict=True
        )
    ]
    _, k, a = min(tried, key=lambda one: one[0])
    (before,) = loo_errors(parts, kernel, [alpha])
    (after,) = loo_errors(rest, k, [a], factors)
    if not after < _WORTH * before:
        return False
    measured = [cells[c] for c in measured_cells([len(c) for c in cells], o.max_cell)]
    many = [around.take(rows) for rows in measured]
    before = _halves_error(kernel, alpha, [alone.take(rows) for rows in measured])
    after = _halves_error(k, a, many, [_factor(found, part) for part in many])
    return after < _WORTH * before


def _factor(found: FittedTrend, part: Part) -> FloatArray:
    """Return 1 / (1 - h_n) of some rows, by which residuals grow without their own y."""
    factor: FloatArray = 1.0 / (1.0 - found.leverage(part.X, part.s))
    return factor


def _halves_error(
    kernel: Kernel,
    alpha: float,
    cells: Sequence[Part],
    factors: Sequence[FloatArray] | None = None,
) -> float:
    """Return the sum of squared leave-one-out residuals of a random half of each cell.

        y_n - f^-n(x_n) = c_n a_n / (A^-1)_nn,    (A^-1)_nn = || L22^-1 e_n ||^2

        A = L L',    L = (L11 0; L21 L22)

    for the rows of the second half, so that only that of L is inverted.
    """
    total, precision = 0.0, "auto"
    for number, cell in enumerate(cells):
        order = np.random.default_rng(0).permutation(len(cell.X))
        X, Y, s = cell.take(order)
        factor = Factor(kernel, X, alpha / s, precision)
        # Cells are alike: none need try single precision in vain.
        precision = "auto" if factor.single else "double"
        half = len(X) // 2
        inverse = lower_inverse(np.tril(factor.L[half:, half:]).astype(np.float64))
        B = np.einsum("mn,mn->n", inverse, inverse)
        residual = factor.solve(Y)[half:] / B[:, None]
        c = 1.0 if factors is None else factors[number][order[half:]]
        total += float((s[half:] * c**2) @ np.mean(residual**2, axis=1))
    return total
