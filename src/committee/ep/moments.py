"""Second moments: all that the Gaussian likelihood needs to know about the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from committee.ep.checks import in_units
from committee.ep.gaussian import Array
from committee.ep.probit_rows import column_tops, row_blocks

# How much more the sum of the weights counts than the errors.
_SUM_STRENGTH = 1000.0


@dataclass(frozen=True, eq=False)
class Moments:
    """G = F'F, g = F'y, yy = y'y and N, in units in which nothing overflows.

    F is divided by `scale` column by column and y by `y_scale`, all powers of two.
    A weight in these units times `y_scale / scale` is a weight of F.
    """

    G: Array
    g: Array
    yy: float
    n: float
    scale: Array
    y_scale: float

    @property
    def unit(self) -> Array:
        """Return the factor from weights in these units to weights of F."""
        return in_units(self.y_scale, 1.0 / self.scale)


def power_of_two(x: Array) -> Array:
    """Return the power of two next below |x|; 1 for zero."""
    return np.asarray(np.ldexp(1.0, np.where(x == 0.0, 1, np.frexp(x)[1]) - 1))


def row_moments(F: Array, y: Array, weight: Array | None = None) -> Moments:
    """Sum the moments over rows, block by block.

    G = sum_n s_n F_n F_n',  g = sum_n s_n y_n F_n,  yy = sum_n s_n y_n^2,  N = sum s_n
    """
    scale, y_scale = power_of_two(column_tops(F)), float(power_of_two(np.abs(y).max()))
    return product_sums(F, y, weight, scale, y_scale).moments(scale, y_scale)


class ProductSums(NamedTuple):
    """Z' diag(s) Z with Z = [F / scale, y / y_scale], and the total weight of rows."""

    joint: Array
    n: float

    def plus(self, other: ProductSums) -> ProductSums:
        """Return the sums over both sets of rows."""
        return ProductSums(self.joint + other.joint, self.n + other.n)

    def moments(self, scale: Array, y_scale: float) -> Moments:
        """Return the sums as moments."""
        G, g, yy = self.joint[:-1, :-1], self.joint[:-1, -1], self.joint[-1, -1]
        return Moments(G, g, float(yy), self.n, scale, y_scale)


def product_sums(
    F: Array, y: Array, weight: Array | None, scale: Array, y_scale: float
) -> ProductSums:
    """Return the sums over some rows, in blocks that fit the cache."""
    M = F.shape[1]
    joint = np.zeros((M + 1, M + 1))
    for rows in row_blocks(*F.shape):
        Z = np.column_stack([F[rows] / scale, y[rows] / y_scale])
        joint += Z.T @ (Z if weight is None else Z * weight[rows, None])
    return ProductSums(joint, float(len(y) if weight is None else weight.sum()))


def given_moments(G: Array, g: Array, yy: float, n: float) -> Moments:
    """Take over moments that were computed elsewhere, and normalise their scales."""
    scale = power_of_two(np.sqrt(np.maximum(np.diagonal(G), 0.0) / n))
    y_scale = float(power_of_two(np.sqrt(np.asarray(yy / n))))
    return Moments(
        G / scale / scale[:, None],
        g / scale / y_scale,
        yy / y_scale / y_scale,
        n,
        scale,
        y_scale,
    )


def error_moments(C: Array, n: float) -> Moments:
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
    >>> from committee.ep import error_moments, moments_path
    >>> path = moments_path(error_moments(np.diag([1.0, 1.0, 2.0]), 100))
    >>> path[-1].weights.round(2)
    array([0.4, 0.4, 0.2])
    """
    strength = _SUM_STRENGTH * n * float(np.mean(np.diagonal(C))) or 1.0
    ones = np.ones(len(C))
    return given_moments(n * C + strength, strength * ones, strength, n)


def signed_scale(S: Array) -> tuple[Array, Array]:
    """Return S with columns of moderate size, and the powers of two divided out.

    Columns within 2^16 of one are left as they are, so that votes are not copied.
    """
    scale = moderate_scale(column_tops(S))
    return (S if (scale == 1.0).all() else S / scale), scale


def moderate_scale(tops: Array) -> Array:
    """Return the powers of two to divide columns by, given their largest entries."""
    scale = power_of_two(tops)
    return np.where(np.abs(np.log2(scale)) > 16.0, scale, 1.0)
