"""Rows of a regression: their second moments, and leaving them out one by one.

The Gaussian likelihood needs only the moments of the rows; only
leave-one-out scores pass over the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee._validation import (
    check_predictions,
    check_sample_weight,
    check_targets,
)
from committee.ep.arrays import column_tops, in_units, power_of_two, row_blocks
from committee.ep.loo import LeaveOneOut, LooScore, Loss, residual_loo
from committee.ep.sites import Normal

# How much more the sum of the weights counts than the errors.
_SUM_STRENGTH = 1000.0


class Units(NamedTuple):
    """Powers of two by which the columns of F, and y, are divided."""

    scale: FloatArray
    y_scale: float


@dataclass(frozen=True, eq=False)
class Moments:
    """G = F'F, g = F'y, yy = y'y and N, in units in which nothing overflows.

    They are moments of F / scale and y / y_scale, see `Units`. A weight in these units
    times `y_scale / scale` is a weight of F.
    """

    G: FloatArray
    g: FloatArray
    yy: float
    n: float
    scale: FloatArray
    y_scale: float

    @property
    def units(self) -> Units:
        """Return the units of F and y."""
        return Units(self.scale, self.y_scale)

    @property
    def unit(self) -> FloatArray:
        """Return the factor from weights in these units to weights of F."""
        return in_units(self.y_scale, 1.0 / self.scale)


class ProductSums(NamedTuple):
    """Z' diag(s) Z with Z = [F / scale, y / y_scale], and the total weight of rows."""

    joint: FloatArray
    n: float

    def plus(self, other: ProductSums) -> ProductSums:
        """Return the sums over both sets of rows."""
        return ProductSums(self.joint + other.joint, self.n + other.n)

    def moments(self, scale: FloatArray, y_scale: float) -> Moments:
        """Return the sums as moments."""
        G, g, yy = self.joint[:-1, :-1], self.joint[:-1, -1], self.joint[-1, -1]
        return Moments(G, g, float(yy), self.n, scale, y_scale)


def product_sums(
    F: FloatArray,
    y: FloatArray,
    weight: FloatArray | None,
    scale: FloatArray,
    y_scale: float,
) -> ProductSums:
    """Return the sums over some rows, in blocks that fit the cache."""
    M = F.shape[1]
    joint = np.zeros((M + 1, M + 1))
    for rows in row_blocks(*F.shape):
        Z = np.column_stack([F[rows] / scale, y[rows] / y_scale])
        joint += Z.T @ (Z if weight is None else Z * weight[rows, None])
    return ProductSums(joint, float(len(y) if weight is None else weight.sum()))


def row_moments(
    F: FloatArray, y: FloatArray, weight: FloatArray | None = None
) -> Moments:
    """Sum the moments over rows, block by block.

    G = sum_n s_n F_n F_n',  g = sum_n s_n y_n F_n,  yy = sum_n s_n y_n^2,  N = sum s_n
    """
    scale, y_scale = power_of_two(column_tops(F)), float(power_of_two(np.abs(y).max()))
    return product_sums(F, y, weight, scale, y_scale).moments(scale, y_scale)


def given_moments(G: FloatArray, g: FloatArray, yy: float, n: float) -> Moments:
    """Take over moments that were computed elsewhere, and normalise their scales."""
    scale = power_of_two(np.sqrt(np.maximum(np.diagonal(G), 0.0) / n))
    y_scale = float(power_of_two(np.sqrt(np.asarray(yy / n))))
    G, g, yy = G / scale / scale[:, None], g / scale / y_scale, yy / y_scale / y_scale
    return Moments(G, g, yy, n, scale, y_scale)


def error_moments(C: FloatArray, n: float) -> Moments:
    """Turn error correlations into moments, for weights that sum to one.

    min w'Cw with sum w = 1 is a regression without rows:

        G = N C + k 1 1',  g = k 1,  yy = k,   k = 1000 N mean(C_ii)

    A residual y_n - w'F_n is then -w'E_n with E = F - y 1', so C may be averaged over
    the rows that both members have not seen, pair by pair.

    Parameters
    ----------
    C : array of shape (M, M)
        Positive semi-definite mean products of errors, C_ij = mean E_in E_jn.
    n : float
        Number of rows behind C.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import moments_path
    >>> from committee.ep.gaussian_rows import error_moments
    >>> path = moments_path(error_moments(np.diag([1.0, 1.0, 2.0]), 100))
    >>> path.steps[-1].weights.round(2)
    array([0.4, 0.4, 0.2])
    """
    # Without errors any strength will do.
    strength = _SUM_STRENGTH * n * float(np.mean(np.diagonal(C))) or 1.0
    ones = np.ones(len(C))
    return given_moments(n * C + strength, strength * ones, strength, n)


@dataclass(frozen=True, eq=False)
class Targets:
    """Predictions and targets in two arrays.

    Parameters
    ----------
    F : array of shape (N, M)
    y : array of shape (N,)
    weight : array of shape (N,), default=None
    loss : callable, default=None
        Maps leave-one-out predictions to losses, see `residual_loo`.
    """

    F: FloatArray
    y: FloatArray
    weight: FloatArray | None = None
    loss: Loss | None = None

    def moments(self) -> Moments:
        """Return F'F, F'y and y'y, see `row_moments`."""
        with one_thread():
            return row_moments(self.F, self.y, self.weight)

    def loo(
        self, active: IntArray, q: Normal, noise: float, units: Units
    ) -> LeaveOneOut:
        """Compute leave-one-out predictions and leverages in one pass over the rows."""
        scale, y_scale = units
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
        self, active: IntArray, q: Normal, noise: float, units: Units
    ) -> LooScore:
        """Return the leave-one-out scores of a committee with posterior q.

        q and noise are in the units of moments.
        """
        return self.loo(active, q, noise, units).score


def checked_targets(
    F: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    loss: Loss | None = None,
) -> Targets:
    """Return finite predictions and targets of the same rows."""
    F = check_predictions(F)
    y = np.asarray(check_targets(F, y), dtype=np.float64)
    return Targets(F, y, check_sample_weight(sample_weight, F), loss)
