"""Leave-one-out of an ensemble of cells, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.machine import CellFit
from committee.cells.model import CellModel
from committee.cells.tree import CellTree


class LeftOut(NamedTuple):
    """Predictions of rows by the ensemble without them.

    Attributes
    ----------
    rows : array of shape (n,)
        Row numbers; all rows of some cells.
    f : array of shape (n, T)
    variance : array of shape (n,)
        1 / (A^-1)_nn: that of y_n for unit scale, by its own cell alone.
    """

    rows: IntArray
    f: FloatArray
    variance: FloatArray


def leave_one_out(
    model: CellModel,
    X: FloatArray,
    cells: Sequence[IntArray],
    fits: Mapping[int, CellFit],
    ridge: FloatArray,
    precision: Mapping[int, FloatArray],
    f: FloatArray,
) -> LeftOut:
    """Predict the rows of some cells without their own targets.

        f^-n(x_n) = f(x_n) - g_i(x_n) ( a_n / B_n - r_n a_n ),    n in cell i

        B_n = (A^-1)_nn + Q_n G Q_n'

    a_n / B_n is the residual of the cell that has not seen y_n, r_n a_n that of the one
    that has. Exact without coupling: no other cell has seen y_n. With coupling the
    others have, through the borders, which is left out here, as are in G borders
    further away: the change is then found to some 80 per cent for rows between cells.

    Parameters
    ----------
    model : CellModel
    X : array of shape (N, d)
    cells : sequence of arrays of row numbers
    fits : dict of CellFit
        Those to look at, with `inverse_diagonal`, by the numbers of the cells.
    ridge : array of shape (N,)
        r.
    precision : dict of arrays of shape (b, b)
        G, see `JointSystem.precision`.
    f : array of shape (n, T)
        What the model predicts for the rows of those cells, cell after cell.
    """
    rows = np.concatenate([cells[c] for c in fits])
    owner = np.repeat(list(fits), [len(cells[c]) for c in fits])
    moved, variance = [], []
    for c, fit in fits.items():
        a = model.coef[model.part(c)][: len(cells[c])]
        effect, spread = own_effect(fit, a, ridge[cells[c]], precision[c])
        moved.append(effect)
        variance.append(spread)
    own = own_weights(model.tree, model.width, X[rows], owner)
    f = f - own[:, None] * np.concatenate(moved)
    order = np.argsort(rows)
    return LeftOut(rows[order], f[order], np.concatenate(variance)[order])


def target_errors(Y: FloatArray, f: FloatArray, s: FloatArray) -> FloatArray:
    """Return the mean squared error of each target, (T,); nan where there are no rows."""
    if not len(Y):
        return np.full(Y.shape[1], np.nan)
    errors: FloatArray = np.average((Y - f) ** 2, axis=0, weights=s)
    return errors


def own_effect(
    fit: CellFit, a: FloatArray, ridge: FloatArray, G: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a_n / B_n - r_n a_n, (n, T), and 1 / B_n, (n,), of the rows of one cell."""
    B = fit.precisions
    if fit.border is not None:
        Q = fit.border.response
        B = B + np.einsum("nb,nb->n", Q @ G, Q)
    return a / B[:, None] - ridge[:, None] * a, 1.0 / B


def own_weights(
    tree: CellTree, width: float, X: FloatArray, owner: IntArray
) -> FloatArray:
    """Return g of each row's own cell."""
    shares = tree.shares(X, width)
    mine = shares.cells == owner[shares.rows]
    g = np.zeros(len(X))
    g[shares.rows[mine]] = shares.weights[mine]
    return g
