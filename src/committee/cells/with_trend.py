"""Cells around a trend; leave-one-out decides whether there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from committee._parallel import one_thread
from committee._typing import IntArray
from committee.cells.choose import Candidate, CellOptions, Part, parts_of, settled
from committee.cells.loo import LeftOut
from committee.cells.machine import solve_cell
from committee.cells.row_chunks import RowChunks
from committee.cells.train import CellTraining, looked_cells, train
from committee.cells.tree import grow_tree
from committee.cells.trend import FittedTrend, fit_trend

#: A trend is taken where the error falls to this, or further: it costs a third of the fit.
_WORTH = 0.98
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
        except ValueError:  # hardly two rows differ: cells are all that can be told
            return None, o
        found = found._replace(share=found.share * len(sample.X) / n_rows)
        if trend:
            return found, o
        cells = grow_tree(sample.X, o.max_cell)[1]
        looked = looked_cells([len(cell) for cell in cells], o.max_cell)
        some = [cells[c] for c in looked]
        if not some:
            return None, o
        alone = _tried(None, sample, cells, some, o)
        around = _tried(found, sample, cells, some, o)
    worth = around.error < _WORTH * alone.error
    kernel, alpha, _ = around if worth else alone
    if len(sample.X) == n_rows:  # parts of a sample are not as dense as the cells
        o = replace(o, kernel=kernel.name, gamma=kernel.gamma, alpha=alpha)
    return found if worth else None, o


def _tried(
    found: FittedTrend | None,
    sample: Part,
    cells: Sequence[IntArray],
    some: Sequence[IntArray],
    o: CellOptions,
) -> Candidate:
    """Return the kernel and ridge of cells, and the leave-one-out error of some of them."""
    X, Y, s = sample
    if found is not None:
        Y = Y - found.trend(X)
    Y = Y - np.average(Y, axis=0, weights=s)
    kernel, alpha = settled(X, parts_of(X, Y, s, cells), o)
    error = 0.0
    for c in some:
        fit = solve_cell(kernel, X[c], Y[c], alpha / s[c], leave_one_out=True)
        B = fit.precisions
        if found is not None:
            B = B * (1.0 - found.leverage(X[c], s[c]))
        error += float(s[c] @ np.mean((fit.coef / B[:, None]) ** 2, axis=1))
    return Candidate(kernel, alpha, error)
