"""Rows of a regression: what the Gaussian likelihood needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.loo import LeaveOneOut, Loss, Score, residual_loo
from committee.ep.probit_rows import Index, row_blocks
from committee.ep.truncated import Normal


class TargetRows(Protocol):
    """Rows (F_n, y_n) that can be left out one by one."""

    def score(
        self, active: Index, q: Normal, noise: float, scale: Array, y_scale: float
    ) -> Score:
        """Return the leave-one-out scores of a committee with posterior q."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Predictions and targets in two arrays.

    Parameters
    ----------
    F : array of shape (N, M)
    y : array of shape (N,)
    weight : array of shape (N,), optional
    loss : callable, optional
        Maps leave-one-out predictions to losses, see `residual_loo`.
    """

    F: Array
    y: Array
    weight: Array | None = None
    loss: Loss | None = None

    def loo(
        self, active: Index, q: Normal, noise: float, scale: Array, y_scale: float
    ) -> LeaveOneOut:
        """Pass once over the rows for predictions and leverages.

        q and noise are in the units of moments: F over `scale`, y over `y_scale`.
        """
        prediction, leverage = np.empty(len(self.y)), np.empty(len(self.y))
        for rows in row_blocks(*self.F.shape):
            block = self.F[rows][:, active] / scale[active]
            prediction[rows] = block @ q.mean
            half = block @ q.root
            leverage[rows] = np.einsum("na,na->n", half, half) / noise
        return residual_loo(
            self.y / y_scale,
            prediction,
            leverage,
            noise,
            y_scale=y_scale,
            weight=self.weight,
            loss=self.loss,
        )

    def score(
        self, active: Index, q: Normal, noise: float, scale: Array, y_scale: float
    ) -> Score:
        """Return the leave-one-out scores of a committee with posterior q."""
        return self.loo(active, q, noise, scale, y_scale).score
