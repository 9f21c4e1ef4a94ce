"""Leave-one-out of an ensemble of cells, in closed form.

    f^-n(x_n) = f(x_n) - g_i(x_n) ( a_n / B_n - r_n a_n ),    n in cell i

    B_n = (A^-1)_nn + Q_n G Q_n'

a_n / B_n is the residual of the cell without row n, and r_n a_n the residual of the cell
that was fitted with it. The formula is exact without coupling, where no other cell
depends on y_n. With coupling the others depend on it through the borders. This is
neglected here, as are borders further away in G: the change of f is then found to some
80 per cent for rows between cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.machine import CellFit
from committee.cells.tree import CellTree


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


def target_errors(Y: FloatArray, f: FloatArray, s: FloatArray) -> FloatArray:
    """Return the mean squared error of each target, (T,); nan where there are no rows."""
    if not len(Y):
        return np.full(Y.shape[1], np.nan)
    errors: FloatArray = np.average((Y - f) ** 2, axis=0, weights=s)
    return errors
