"""From rows to a Bayesian committee machine: draw D_1, choose, solve, leave one out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.parallel import delayed

from committee._parallel import one_thread, results_of
from committee._typing import FloatArray, IntArray
from committee.cells.bcm import (
    LEAST,
    CommitteeMachine,
    CommitteeVariance,
    GivenRows,
    Known,
    combined,
)
from committee.cells.borders import BorderPoints
from committee.cells.choose import Part, parts_of
from committee.cells.joint import JointSolution
from committee.cells.loo import LeftOut
from committee.cells.machine import CellFit, solve_cell
from committee.cells.train import (
    CellOptions,
    CellTraining,
    looked_cells,
    merged,
    settled,
)

#: Rows of D_1, relative to those of the largest expert: on nine generated sets that are
#: in no table as many as an expert were no better, at twice the price.
SHARED = 0.3
#: Every expert is asked about a row that is left out, so fewer rows than of cells.
_LOO_ROWS = 1000


def train_committee(
    X: FloatArray,
    Y: FloatArray,
    s: FloatArray | None,
    subsets: Sequence[IntArray],
    options: CellOptions,
    *,
    method: str,
    rng: np.random.RandomState,
) -> CellTraining:
    """Fit an expert to the rows of each subset, with the rows D_1 that all of them know.

    D_1 is drawn from the rows of the subsets, which lose them. Kernel, gamma and alpha are
    chosen on parts of the subsets, unless given.

    Parameters
    ----------
    X : array of shape (N, d)
    Y : array of shape (N, T)
    s : array of shape (N,) or None
        Sample weights.
    subsets : sequence of arrays of row numbers
    options : CellOptions
    method : {"bcm", "grbcm"}
    rng : RandomState
    """
    with one_thread():
        s = np.ones(len(X)) if s is None else s
        used = np.concatenate(subsets)
        offset: FloatArray = np.average(Y[used], axis=0, weights=s[used])
        whole = Part(X, Y - offset, s)
        kernel, alpha = settled(X, parts_of(*whole, subsets), options)
        D = _drawn(subsets, options.max_cell, method, rng)
        groups = [np.setdiff1d(rows, D, assume_unique=True) for rows in subsets]
        groups = [rows for rows in groups if len(rows)]
        parts = [merged(_rows(whole, rows), options.max_cell) for rows in groups]
        shared = _rows(whole, D)
        first = GivenRows(kernel, shared.X, alpha / shared.s)
        a, energy = first.solve(shared.Y)
        parts = [part._replace(Y=part.Y - first.mean(part.X, a)) for part in parts]
        looked = looked_cells([len(rows) for rows in groups], options.max_cell)
        fits = _solved(first, parts, alpha, looked, options.n_jobs)
        model = CommitteeMachine(
            kernel,
            method,
            np.concatenate([shared.X, *(part.X for part in parts)]),
            np.concatenate([a, *(fit.coef for fit in fits)]),
            alpha / np.concatenate([shared.s, *(part.s for part in parts)]),
            np.cumsum([0, len(D), *(len(part.X) for part in parts)]),
            offset,
        )
        left_out = _left_out(model, first, groups, parts, fits, looked, options.n_jobs)
        squares = np.mean((Y[left_out.rows] - left_out.f) ** 2, axis=1)
        error = np.average(squares, weights=s[left_out.rows]) if looked else np.nan
        scale = np.sum([energy, *(fit.energy for fit in fits)], axis=0)
        scale = scale / len(model.points)
        empty = np.empty(0, np.intp)
        return CellTraining(
            model=model,
            cells=[np.sort(np.concatenate([D, rows])) for rows in groups],
            alpha=alpha,
            coupling=0.0,
            errors={0.0: float(error)},
            borders=BorderPoints(np.empty((0, X.shape[1])), empty, empty),
            joint=JointSolution(np.empty((0, Y.shape[1])), 0, 0.0, True),
            left_out=left_out,
            variance=CommitteeVariance(scale, alpha * scale),
        )


def _drawn(
    subsets: Sequence[IntArray], most: int, method: str, rng: np.random.RandomState
) -> IntArray:
    """Return the rows of D_1; none for "bcm", and none of those that are all alike."""
    usual = [rows for rows in subsets if len(rows) <= most]
    if method == "bcm" or not usual:
        return np.empty(0, np.intp)
    rows = rng.permutation(np.concatenate(usual))
    n = round(SHARED * max(len(rows) for rows in usual))
    return np.sort(rows[: min(n, len(rows) - 1)])


def _rows(whole: Part, rows: IntArray) -> Part:
    return Part(whole.X[rows], whole.Y[rows], whole.s[rows])


def _solved(
    first: GivenRows,
    parts: list[Part],
    alpha: float,
    looked: list[int],
    n_jobs: int | None,
) -> list[CellFit]:
    """Return the fits of all experts to the residuals of the first."""
    calls = (
        delayed(solve_cell)(
            first,
            first.features(part.X),
            part.Y,
            alpha / part.s,
            precision="double",
            leave_one_out=i in looked,
        )
        for i, part in enumerate(parts)
    )
    return list(results_of(calls, n_jobs, prefer="threads"))


def _left_out(
    model: CommitteeMachine,
    given: GivenRows,
    groups: list[IntArray],
    parts: list[Part],
    fits: list[CellFit],
    looked: list[int],
    n_jobs: int | None,
) -> LeftOut:
    """Predict rows of some experts without their own targets, exactly.

        m_i^-n - m_1 = e_n - a_n / B_n,    s_i^2 = 1 / B_n - r_n,    B_n = (A^-1)_nn

    for the expert i that knows row n, with e its residual from the first expert; no
    other knows it. Rows of D_1, which all know, are not among them.
    """
    T = len(model.offset)
    if not looked:
        return LeftOut(np.empty(0, np.intp), np.empty((0, T)), np.empty(0))
    n = sum(len(groups[i]) for i in looked)
    some = np.linspace(0, n - 1, min(n, _LOO_ROWS)).astype(np.intp)

    def of_looked(arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate([arrays[i] for i in looked])[some]

    rows = np.concatenate([groups[i] for i in looked])[some]
    owner = np.repeat(looked, [len(groups[i]) for i in looked])[some]
    X, residual = of_looked([part.X for part in parts]), of_looked([p.Y for p in parts])
    B = np.concatenate([fits[i].precisions for i in looked])[some]
    a = of_looked([fit.coef for fit in fits])
    ridge = np.concatenate([model.ridge[model.part(i + 1)] for i in looked])[some]
    first = model.first(X, given)
    # A row that no other is near is as unknown to its expert as to the first.
    variance = np.clip(1.0 / B - ridge, LEAST * first.variance, first.variance)
    own = Known(residual - a / B[:, None], variance)

    def without_own(i: int, known: Known) -> Known:
        mine = owner == i
        return Known(
            np.where(mine[:, None], own.mean, known.mean),
            np.where(mine, own.variance, known.variance),
        )

    experts = enumerate(model.experts(X, given, n_jobs))
    f, V = combined(
        first, (without_own(i, known) for i, known in experts), model.method
    )
    order = np.argsort(rows)
    return LeftOut(rows[order], (f + model.offset)[order], (V + ridge)[order])
