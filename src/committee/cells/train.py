"""From rows to a fitted ensemble of cells: shuffle, grow, choose, solve, couple.

The ensemble may be fitted around a trend: leave-one-out decides whether there is one.

Rows are in groups of neighbouring cells, each where its rows are. Rows in memory are one
group, so that one implementation serves them and the chunks of Dask collections.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
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
    loo_errors,
    lower_inverse,
    part_cells,
    parts_of,
    settled,
)
from committee.cells.groups import RowChunks, graft, shuffled, stacked
from committee.cells.joint import (
    BorderPoints,
    GroupBorders,
    JointSolution,
    JointSystem,
    borders_of_groups,
)
from committee.cells.machine import Factor
from committee.cells.model import CellModel, CellVariance, base_of
from committee.cells.tree import (
    WIDTH_ROWS,
    CellTree,
    Shares,
    border_width,
    grow_tree,
)
from committee.cells.trend import FittedTrend, fit_trend
from committee.distributed.chunks import Chunks, InMemory
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
    model : CellModel
    alpha, coupling : float
    errors : dict of float
        Mean squared error of leave-one-out by the couplings that were tried.
    borders : BorderPoints
    joint : JointSolution
    measured : Part
        The rows of the cells of leave-one-out, cell after cell.
    left_out : LeftOut
        Their predictions by the ensemble without them, in their order.
    variance : CellVariance
        Its scale is y'A^-1 y / N, the likeliest prior variance of a Gaussian process of
        which f is the mean.
    cells : list of arrays of row numbers, or None
        None for rows of Dask collections.
    """

    model: CellModel
    alpha: float
    coupling: float
    errors: dict[float, float]
    borders: BorderPoints
    joint: JointSolution
    measured: Part
    left_out: LeftOut
    variance: CellVariance
    cells: list[IntArray] | None


class GroupedCells:
    """The cells of all groups: their tree, their sizes, the first cell of each group."""

    def __init__(self, top: CellTree | None, grown: Chunks) -> None:
        outlines = grown.map(groups.outline).values()
        trees = [tree for tree, _ in outlines]
        self.tree = trees[0] if top is None else graft(top, trees)
        self.sizes = [size for _, sizes in outlines for size in sizes]
        n_cells = [len(sizes) for _, sizes in outlines]
        self.firsts: IntArray = np.concatenate([[0], np.cumsum(n_cells)])

    def by_group(self, cells: Any) -> Iterator[tuple[slice, int]]:
        """Yield the place of each group in sorted cells, and its first cell."""
        cuts = np.searchsorted(cells, self.firsts).tolist()
        for (start, stop), first in zip(
            itertools.pairwise(cuts), self.firsts.tolist(), strict=False
        ):
            yield slice(start, stop), first

    def in_groups(self, cells: list[int]) -> list[list[int]]:
        """Return the cells of each group by their numbers in it."""
        return [[c - first for c in cells[own]] for own, first in self.by_group(cells)]

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
    return train(RowChunks.in_memory(X, Y, s), options)


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
    measured = measured_cells(layout.sizes, o.max_cell)
    cells = None
    if isinstance(grown, InMemory):
        cells = grown.values()[0].cells
    else:  # groups are fitted at the same time
        o = replace(o, n_jobs=None)
    machine = groups.Machine(kernel, alpha, offset, width, o, reduce)
    in_groups = grown.each(layout.in_groups(measured))
    solved = grown.map(groups.solve, grown.each(borders), in_groups, machine).kept()
    del grown, parts, rows  # what is solved has the rows
    return _Fitted(layout, solved, points, borders, measured, machine).coupled(cells)


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
    """Cells that are fitted separately; `measured` are the cells of leave-one-out."""

    layout: GroupedCells
    solved: Chunks
    points: BorderPoints
    borders: list[GroupBorders]
    measured: list[int]
    machine: groups.Machine

    def coupled(self, cells: list[IntArray] | None) -> CellTraining:
        """Return the training with the best coupling; `cells` are its row numbers."""
        o, alpha = self.machine.options, self.machine.alpha
        couplings = tuple(o.couplings) if len(self.points.owner) else (0.0,)
        if not self.measured:
            couplings = couplings[:1]  # nothing can be chosen
        own = _flat(self.solved.map(groups.borders_alone).values())
        system = JointSystem(self.points, own, alpha)
        joints = [system.solve(nu) for nu in couplings]
        models = self._side_by_side(couplings, joints)
        data = self._data()
        # Kernels are evaluated once for all couplings.
        f = np.split(self._values(models, data.X, len(couplings)), len(couplings), 1)
        found = []
        for i, nu in enumerate(couplings):
            left_out = self._left_out(system, models, i, nu, data.X, f[i])
            squares = np.mean((data.Y - left_out.f) ** 2, axis=1)
            error = np.average(squares, weights=data.s) if len(squares) else np.nan
            found.append((float(error), left_out))
        best = int(np.argmin([error for error, _ in found]))
        coupling, left_out = couplings[best], found[best][1]
        parts = models.map(
            groups.one_of, best, len(couplings), self.solved, coupling != 0.0
        ).kept()
        model, whole = self._gathered(parts), None
        if self.machine.reduce:  # fewer points, where these are good enough
            error = target_errors(data.Y, left_out.f, data.s)
            fewer = parts.map(groups.reduced, self.solved, self.machine, error).kept()
            if fewer.sum(groups.n_points) < len(model.points):
                model, whole = self._gathered(fewer), model
        return CellTraining(
            model,
            alpha,
            coupling,
            {nu: error for nu, (error, _) in zip(couplings, found, strict=True)},
            self.points,
            joints[best],
            data,
            left_out,
            self._variance(system, coupling, whole),
            cells,
        )

    def _measured_in_groups(self) -> Chunks:
        return self.solved.each(self.layout.in_groups(self.measured))

    def _gathered(self, parts: Chunks) -> CellModel:
        """Return the models of all groups as one, in one place."""
        return groups.joined(parts.values(), self.layout.tree, self.machine.offset)

    def _values(self, models: Chunks, X: FloatArray, n_models: int) -> FloatArray:
        """Return the predictions of models side by side for some rows."""
        rows, cells, weights = self.layout.tree.shares(X, self.machine.width)
        own = [
            Shares(rows[part], cells[part] - first, weights[part])
            for part, first in self.layout.by_group(cells)
        ]
        n_jobs = self.machine.options.n_jobs
        f = base_of(X, np.tile(self.machine.offset, n_models), None)
        f += models.sum(CellModel.weighted, X, models.each(own), n_jobs)
        return f

    def _variance(
        self, system: JointSystem, coupling: float, whole: CellModel | None
    ) -> CellVariance:
        """Return the variances; `whole` is the model before points were left out."""
        alpha, n_cells = self.machine.alpha, self.layout.tree.n_cells
        ridge = np.concatenate(self.solved.map(groups.ridges, alpha).values())
        scale = self.solved.sum(groups.energy) / len(ridge)
        cells = range(n_cells) if coupling else ()
        precision = [system.precision(c, coupling) for c in cells]
        return CellVariance(ridge, precision, scale, alpha * scale, whole)

    def _side_by_side(
        self, couplings: Sequence[float], joints: Sequence[JointSolution]
    ) -> Chunks:
        """Return the models of all couplings as one model with the targets of all."""
        tensions = [
            [
                None if nu == 0.0 else joint.tension[group.numbers]
                for nu, joint in zip(couplings, joints, strict=True)
            ]
            for group in self.borders
        ]
        each = self.solved.each
        return self.solved.map(
            groups.coupled, each(self.borders), each(tensions)
        ).kept()

    def _data(self) -> Part:
        """Return the rows of the measured cells, with their targets as given."""
        offset = self.machine.offset
        d, T = len(self.layout.tree.centre), len(offset)
        empty = Part(np.empty((0, d)), np.empty((0, T)), np.empty(0))
        found = self.solved.map(groups.whole_cells, self._measured_in_groups())
        X, Y, s = stacked([empty, *_flat(found.values())])
        return Part(X, Y + offset, s)

    def _left_out(
        self,
        system: JointSystem,
        models: Chunks,
        i: int,
        coupling: float,
        X: FloatArray,
        f: FloatArray,
    ) -> LeftOut:
        """Return leave-one-out predictions of the rows of the measured cells."""
        if not len(X):
            return LeftOut(f, np.empty(0))
        precisions = [
            [system.precision(c, coupling) for c in self.measured[own]]
            for own, _ in self.layout.by_group(self.measured)
        ]
        effects = self.solved.map(
            groups.own_effects,
            models,
            i,
            self._measured_in_groups(),
            self.solved.each(precisions),
            self.machine.alpha,
        )
        moved, variance = zip(*_flat(effects.values()), strict=True)
        owner = np.repeat(self.measured, [len(part) for part in moved])
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
    """Return the mean squared error of each target, (T,); NaN without rows."""
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
    trend : bool, default=None
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
    gammas = _GAMMAS if o.gamma is None and kernel.of_distances else (1.0,)
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
