"""Posterior variances of an ensemble of cells, as in patchwork kriging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from committee._typing import FloatArray
from committee.cells.machine import Factor, row_blocks
from committee.cells.model import CellModel, over_cells


@dataclass(frozen=True, eq=False)
class CellVariance:
    """The parts of posterior variances that the model itself does not have.

    Attributes
    ----------
    ridge : array of shape (n_rows.sum(),)
        r of the cells' rows, cell after cell.
    precision : list of arrays of shape (b, b)
        G of each cell; see `JointSystem.precision`. Empty where nothing is coupled.
    scale : array of shape (T,)
        The prior variance of the targets' processes.
    noise : array of shape (T,)
        alpha times the scale, the variance of a target around f.
    whole : CellModel, default=None
        The cells with all their points, where the model has a reduced set of them.
    """

    ridge: FloatArray
    precision: Sequence[FloatArray]
    scale: FloatArray
    noise: FloatArray
    whole: CellModel | None = None

    def std(
        self, model: CellModel, X: FloatArray, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the standard deviation of f, (N, T).

            V_c(x) = k(x, x) - k(x, X) A^-1 k(X, x) - V(x, B) G V(B, x)

            S(x) = sum_c g_c(x) sqrt(V_c(x)),    std(x)^2 = scale S(x)^2 + v_t(x)

        S is that of sum_c g_c f_c where cells agree, and not too small where they do not.
        v_t is the variance of the trend over the rows, beyond these and zero among them.
        Each cell with a share in a row is factorised again.
        """
        shares = model.tree.shares(X, model.width)
        s = np.zeros(len(X))
        of_cell = partial(self._variance, self.whole or model)
        for rows, g, V in over_cells(of_cell, X, shares, n_jobs):
            s[rows] += g * np.sqrt(np.maximum(V, 0.0))
        variance = s[:, None] ** 2 * self.scale
        if model.trend is not None:
            variance += model.trend.unknown(X)[:, None] * model.trend.variance
        std: FloatArray = np.sqrt(variance)
        return std

    def _variance(self, model: CellModel, c: int, X: FloatArray) -> FloatArray:
        """Return V_c of some rows, (N,)."""
        part, n = model.points[model.part(c)], int(model.n_rows[c])
        first = int(model.n_rows[:c].sum())
        ridge = self.ridge[first : first + n]
        # Differences of nearly equal numbers: double precision.
        factor = Factor(model.kernel, part[:n], ridge, "double")
        border = part[n:]
        W_border = factor.half_solve(factor.cross(border)) if len(border) else None
        V = np.empty(len(X))
        for rows in row_blocks(len(X)):
            W = factor.half_solve(factor.cross(X[rows]))
            V[rows] = model.kernel.diagonal(X[rows]) - np.einsum("nm,nm->m", W, W)
            if W_border is not None:
                points = factor.points(X[rows]), factor.points(border)
                V_border = model.kernel(*points) - W.T @ W_border
                V[rows] -= np.einsum("nb,nb->n", V_border @ self.precision[c], V_border)
        return V
