"""Cells around a trend; leave-one-out decides whether there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.cells.choose import (
    FEW,
    CellOptions,
    Part,
    has_gamma,
    loo_errors,
    lower_inverse,
    parts_of,
    settled,
)
from committee.cells.loo import LeftOut
from committee.cells.machine import Factor
from committee.cells.row_chunks import RowChunks, taken
from committee.cells.train import CellTraining, looked_cells, train
from committee.cells.tree import grow_tree
from committee.cells.trend import FittedTrend, fit_trend
from committee.kernels import Kernel

#: A trend is taken where the error falls to this, or further: it costs a third of the fit.
_WORTH = 0.98
#: Of gamma and of the ridge, relative to those of cells alone: tried around a trend.
_GAMMAS, _ALPHAS = (0.3, 1.0, 3.0, 10.0), (1.0, 10.0, 100.0, 1e4)
#: Of fewer rows than these there is no trend unless it is asked for.
_LEAST_ROWS = 1000


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
    looked = fitted.looked._replace(Y=fitted.looked.Y + t(fitted.looked.X))
    left_out, errors = _without_own(found, fitted, looked)
    return replace(
        fitted,
        model=replace(fitted.model, trend=t),
        looked=looked,
        left_out=left_out,
        errors=errors,
    )


def _without_own(
    found: FittedTrend, fitted: CellTraining, looked: Part
) -> tuple[LeftOut, dict[float, float]]:
    """Return leave-one-out predictions with the trend, and errors by the couplings.

        y_n - f^-n(x_n) = (y_n - t(x_n) - f_cells^-n(x_n)) / (1 - h_n)

    for rows on which the trend was fitted, with leverage h. The error is not too small:
    cells could have made good a part of what the trend loses with a row.
    """
    left_out = fitted.left_out
    if not len(left_out.f):
        return left_out, fitted.errors
    seen = looked.Y - found.trend(looked.X) - left_out.f
    residual = seen / (1.0 - found.leverage(looked.X, looked.s))[:, None]
    before, now = (
        float(np.average(np.mean(e**2, axis=1), weights=looked.s))
        for e in (seen, residual)
    )
    more = now / before if before > 0 else 1.0
    errors = {nu: more * error for nu, error in fitted.errors.items()}
    return left_out._replace(f=looked.Y - residual), errors


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
        kernel, alpha = settled(sample.X, parts_of(*alone, cells), o)
        worth = _falls(found, alone, around, cells, kernel, alpha, o)
        whole = len(sample.X) == n_rows  # parts of a sample are not as dense as cells
        if worth and whole:
            kernel, alpha = settled(sample.X, parts_of(*around, cells), o)
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
    parts, rest = parts_of(*alone, cells), parts_of(*around, cells)
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
    looked = [cells[c] for c in looked_cells([len(c) for c in cells], o.max_cell)]
    many = [taken(around, rows) for rows in looked]
    before = _halves_error(kernel, alpha, [taken(alone, rows) for rows in looked])
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
        X, Y, s = taken(cell, order)
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
