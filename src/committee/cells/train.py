"""From rows to a fitted ensemble of cells: grow, choose, solve, couple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import delayed

from committee._parallel import one_thread, results_of
from committee._typing import FloatArray, IntArray
from committee.cells.bcm import CommitteeMachine, CommitteeVariance
from committee.cells.borders import BorderPoints, border_points
from committee.cells.choose import (
    Part,
    choose_kernel,
    parts_of,
    preferred,
)
from committee.cells.gate import border_width
from committee.cells.joint import JointSolution, JointSystem, coupled_coef
from committee.cells.loo import LeftOut, leave_one_out, target_errors
from committee.cells.machine import CellFit, Factor, solve_cell
from committee.cells.model import CellModel
from committee.cells.reduced_set import reduced_cells
from committee.cells.tree import CellTree, grow_tree
from committee.cells.variance import CellVariance
from committee.kernels import GramFunction, Kernel

#: Couplings to choose from.
COUPLINGS = (0.0, 0.1, 1.0, 10.0)
#: Leave-one-out is computed for cells, at equal steps, of so many rows together.
_LOO_ROWS = 5000


@dataclass(frozen=True)
class CellOptions:
    """What a fit is asked for; None, and one of the couplings, leave-one-out chooses."""

    max_cell: int
    kernel: str | GramFunction | None = None
    gamma: float | None = None
    alpha: float | None = None
    couplings: Sequence[float] = COUPLINGS
    n_coupling: int = 32
    degree: float = 3
    coef0: float = 1.0
    precision: str = "auto"
    tol: float = 1e-10
    max_iter: int = 10_000
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class CellTraining:
    """A fitted model, and what became known on the way.

    Attributes
    ----------
    model : CellModel or CommitteeMachine
    cells : list of arrays of row numbers
    alpha, coupling : float
    errors : dict of float
        Mean squared error of leave-one-out by the couplings that were tried.
    borders : BorderPoints
    joint : JointSolution
    left_out : LeftOut
        Leave-one-out predictions of the rows of some cells, or all.
    variance : CellVariance or CommitteeVariance
        Its scale is y'A^-1 y / N, the likeliest prior variance of a Gaussian process of
        which f is the mean.
    """

    model: CellModel | CommitteeMachine
    cells: list[IntArray]
    alpha: float
    coupling: float
    errors: dict[float, float]
    borders: BorderPoints
    joint: JointSolution
    left_out: LeftOut
    variance: CellVariance | CommitteeVariance


def train_cells(
    X: FloatArray, Y: FloatArray, s: FloatArray | None, options: CellOptions
) -> CellTraining:
    """Fit an ensemble of cells to X (N, d), Y (N, T) and sample weights (N,) or None.

    BLAS is held to one thread: cells run side by side.
    """
    with one_thread():
        return _trained(X, Y, s, options)


def _trained(
    X: FloatArray, Y: FloatArray, s: FloatArray | None, options: CellOptions
) -> CellTraining:
    s = np.ones(len(X)) if s is None else s
    offset: FloatArray = np.average(Y, axis=0, weights=s)
    tree, cells = grow_tree(X, options.max_cell)
    kernel, alpha = settled(X, parts_of(X, Y - offset, s, cells), options)
    rows = [
        merged(Part(X[cell], Y[cell] - offset, s[cell]), options.max_cell)
        for cell in cells
    ]
    uncoupled = not any(options.couplings)
    borders = border_points(tree, X, cells, 0 if uncoupled else options.n_coupling)
    looked = looked_cells([len(cell) for cell in cells], options.max_cell)
    reduce = options.precision == "auto"
    options = with_precision(options, kernel, alpha, rows[0])
    fits = solve_cells(kernel, alpha, rows, borders, looked, options)
    width = border_width(tree, X)
    alone = packed(kernel, tree, width, rows, fits, offset)
    system = JointSystem(borders, [fit.border for fit in fits], alpha)
    coupled = _coupled(alone, X, Y, s, cells, fits, system, looked, options)
    nu = coupled["coupling"]
    energy: FloatArray = np.sum([fit.energy for fit in fits], axis=0)
    scale = energy / sum(len(part.X) for part in rows)
    whole = coupled["model"]
    if reduce:
        left_out = coupled["left_out"]
        known = left_out.rows
        error = target_errors(Y[known], left_out.f, s[known])
        coupled["model"] = reduced_cells(whole, rows, alpha, error, options.n_jobs)
    variance = CellVariance(
        np.concatenate([alpha / part.s for part in rows]),
        [system.precision(c, nu) for c in range(len(cells))] if nu else [],
        scale,
        alpha * scale,
        None if coupled["model"] is whole else whole,
    )
    return CellTraining(
        **coupled, cells=cells, alpha=alpha, borders=borders, variance=variance
    )


def settled(
    X: FloatArray, parts: Sequence[Part], o: CellOptions
) -> tuple[Kernel, float]:
    """Return the kernel and the ridge, given or chosen on parts of some cells."""
    if o.kernel is not None and o.gamma is not None and o.alpha is not None:
        return Kernel(o.kernel, o.gamma, o.degree, o.coef0), o.alpha
    tried = choose_kernel(
        X,
        parts,
        kernel=o.kernel,
        gamma=o.gamma,
        alpha=o.alpha,
        degree=o.degree,
        coef0=o.coef0,
        n_jobs=o.n_jobs,
    )
    if not np.isfinite(tried[0].error):
        raise np.linalg.LinAlgError(
            "No ridge that was tried makes the kernel matrix of a cell positive "
            "definite: give alpha a larger number, or take another kernel."
        )
    best = preferred(tried)
    return best.kernel, best.alpha


def merged(part: Part, max_cell: int) -> Part:
    """Return the rows of a cell; too many are all alike, and then one stands for them.

    sum_n s_n (y_n - f(x))^2 = s (y - f(x))^2 + const,   y their mean, s their sum
    """
    if len(part.X) <= max_cell:
        return part
    mean = np.average(part.Y, axis=0, weights=part.s, keepdims=True)
    return Part(part.X[:1], mean, part.s.sum(keepdims=True))


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


def solve_cells(
    kernel: Kernel,
    alpha: float,
    rows: list[Part],
    borders: BorderPoints,
    looked: list[int],
    o: CellOptions,
) -> list[CellFit]:
    """Return the fits of all cells, each by itself."""
    chosen = set(looked)
    with one_thread():
        calls = (
            delayed(solve_cell)(
                kernel,
                part.X,
                part.Y,
                alpha / part.s,
                border_points=borders.points[borders.of_cell(c)[0]],
                precision=o.precision,
                leave_one_out=c in chosen,
            )
            for c, part in enumerate(rows)
        )
        return list(results_of(calls, o.n_jobs, prefer="threads"))


def packed(
    kernel: Kernel,
    tree: CellTree,
    width: float,
    rows: list[Part],
    fits: list[CellFit],
    offset: FloatArray,
) -> CellModel:
    """Return the model of cells that know nothing of each other."""
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


def _coupled(
    alone: CellModel,
    X: FloatArray,
    Y: FloatArray,
    s: FloatArray,
    cells: list[IntArray],
    fits: list[CellFit],
    system: JointSystem,
    looked: list[int],
    o: CellOptions,
) -> dict[str, Any]:
    """Return the cells with the best coupling, as `CellTraining` has it."""
    couplings = tuple(o.couplings) if len(cells) > 1 else (0.0,)
    joints = [system.solve(nu, tol=o.tol, max_iter=o.max_iter) for nu in couplings]
    models = [
        alone if nu == 0.0 else with_borders(alone, fits, system.points, joint.tension)
        for nu, joint in zip(couplings, joints, strict=True)
    ]
    if not looked:
        left_out = LeftOut(np.empty(0, np.intp), np.empty((0, Y.shape[1])), np.empty(0))
        return {
            "model": models[0],
            "coupling": couplings[0],
            "errors": {couplings[0]: np.nan},
            "joint": joints[0],
            "left_out": left_out,
        }
    rows = np.concatenate([cells[c] for c in looked])
    # Kernels are evaluated once for all models.
    f_of_all = side_by_side(models).predict(X[rows], o.n_jobs)
    found = []
    for nu, model, f in zip(
        couplings, models, np.split(f_of_all, len(models), axis=1), strict=True
    ):
        left_out = leave_one_out(
            model,
            X,
            cells,
            {c: fits[c] for c in looked},
            system.alpha / s,
            {c: system.precision(c, nu) for c in looked},
            f,
        )
        squares = np.mean((Y[left_out.rows] - left_out.f) ** 2, axis=1)
        error = float(np.average(squares, weights=s[left_out.rows]))
        found.append((error, left_out))
    best = int(np.argmin([error for error, _ in found]))
    return {
        "model": models[best],
        "coupling": couplings[best],
        "errors": dict(zip(couplings, (error for error, _ in found), strict=True)),
        "joint": joints[best],
        "left_out": found[best][1],
    }


def side_by_side(models: list[CellModel]) -> CellModel:
    """Return models of the same cells as one, whose targets are those of all."""
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
