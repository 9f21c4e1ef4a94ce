"""Cells around a trend: whether there is one, by leave-one-out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee.cells.choose import SAMPLE_ROWS, Part, parts_of
from committee.cells.chunked_train import ChunkedTraining, train_chunked
from committee.cells.machine import CellFit, solve_cell
from committee.cells.model import CellModel
from committee.cells.shuffle import RowChunks
from committee.cells.train import (
    CellOptions,
    CellTraining,
    looked_cells,
    settled,
    train_cells,
)
from committee.cells.tree import grow_tree
from committee.cells.trend import Trend, fit_trend

#: Cells, at equal steps, that decide: so many at the most.
_CELLS = 3
#: A trend is taken where the error falls to this, or further: it costs a third of the fit.
_WORTH = 0.98
#: Of fewer rows than these there is no trend unless it is asked for.
_LEAST_ROWS = 1000


def train_around_trend(
    X: FloatArray,
    Y: FloatArray,
    s: FloatArray | None,
    options: CellOptions,
    trend: bool | None = None,
) -> CellTraining:
    """Fit cells to what a trend leaves: f(x) = t(x) + mean + sum_c g_c(x) f_c(x).

    Parameters
    ----------
    X, Y, s, options :
        As for `train_cells`.
    trend : bool, optional
        Whether there is one; None takes it where the leave-one-out error of some cells
        falls by two per cent or more.
    """
    weights = np.ones(len(X)) if s is None else s
    some = slice(None)
    if len(X) > SAMPLE_ROWS:
        some = np.linspace(0, len(X) - 1, SAMPLE_ROWS).astype(np.intp)  # type: ignore[assignment]
    sample = Part(X[some], Y[some], weights[some])
    t, options = _chosen(sample, len(X), options, trend)
    if t is None:
        return train_cells(X, Y, s, options)
    fitted = train_cells(X, Y - t(X), s, options)
    left_out = fitted.left_out
    assert isinstance(fitted.model, CellModel)
    return replace(
        fitted,
        model=replace(fitted.model, trend=t),
        left_out=left_out._replace(f=left_out.f + t(X[left_out.rows])),
    )


def train_chunked_around_trend(
    rows: RowChunks, options: CellOptions, trend: bool | None = None
) -> ChunkedTraining:
    """Do the same for rows in chunks; the trend is that of a sample in one place."""
    t, options = _chosen(rows.sample(), rows.n_rows, options, trend)
    if t is None:
        return train_chunked(rows, options)
    fitted = train_chunked(rows.without(t), options)
    looked, left_out = fitted.looked, fitted.left_out
    at = t(looked.X)
    return replace(
        fitted,
        model=replace(fitted.model, trend=t),
        looked=looked._replace(Y=looked.Y + at),
        left_out=left_out._replace(f=left_out.f + at),
    )


def _chosen(
    sample: Part, n_rows: int, o: CellOptions, trend: bool | None
) -> tuple[Trend | None, CellOptions]:
    """Return the trend, if any, and the options with what was settled on the way."""
    # Rows that are all alike, or fill one cell, have no trend beside it.
    none = n_rows <= o.max_cell or not np.ptp(sample.X, axis=0).any()
    if trend is False or none or (trend is None and n_rows < _LEAST_ROWS):
        return None, o
    with one_thread():
        t = fit_trend(*sample)
        if trend:
            return t, o
        cells = grow_tree(sample.X, o.max_cell)[1]
        usual = looked_cells([len(cell) for cell in cells], o.max_cell)
        if not usual:
            return None, o
        steps = np.linspace(0, len(usual) - 1, min(_CELLS, len(usual)))
        some = [cells[usual[i]] for i in np.unique(steps.astype(np.intp))]
        found = []
        for candidate in (None, t):
            Y = sample.Y if candidate is None else sample.Y - candidate(sample.X)
            Y = Y - np.average(Y, axis=0, weights=sample.s)
            kernel, alpha = settled(sample.X, parts_of(sample.X, Y, sample.s, cells), o)
            error = sum(
                _squares(
                    solve_cell(
                        kernel,
                        sample.X[cell],
                        Y[cell],
                        alpha / sample.s[cell],
                        leave_one_out=True,
                    ),
                    sample.s[cell],
                )
                for cell in some
            )
            found.append((error, candidate, kernel, alpha))
    alone, around = found
    _, best, kernel, alpha = around if around[0] < _WORTH * alone[0] else alone
    if len(sample.X) == n_rows:  # parts of a sample are not as dense as the cells
        o = replace(o, kernel=kernel.name, gamma=kernel.gamma, alpha=alpha)
    return best, o


def _squares(fit: CellFit, s: FloatArray) -> float:
    """Return the sum of squared leave-one-out residuals, a_n / (A^-1)_nn."""
    B = fit.inverse_diagonal
    assert B is not None
    return float(s @ np.mean((fit.coef / B[:, None]) ** 2, axis=1))
