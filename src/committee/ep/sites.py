"""Sites: the terms that Expectation Propagation replaces by Gaussians.

A site is known by the moments of its term under a Gaussian cavity. A new site needs
only `log_term`; overriding `tilted` with closed formulas makes it fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from committee.ep.gaussian import Array, hazard, truncated_variance

# Stage one looks for the mass of the tilted density on this grid of cavity standard
# deviations; its spacing grows with the distance, out to terms in strong conflict.
_GRID = np.sinh(np.linspace(-8.0, 8.0, 321))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_REFINEMENTS = 3
# Everything below exp(-40) of the peak is left out of the integral.
_DEPTH = 40.0


class Tilted(NamedTuple):
    """Moments of term x cavity, as derivatives of log Z by the cavity mean.

    rho = d log Z,  kappa = -d^2 log Z,  shrink = 1 - c_var kappa = var / c_var;
    the tilted mean is c_mean + c_var rho, the tilted variance c_var shrink.
    """

    log_z: Array
    rho: Array
    kappa: Array
    shrink: Array


class Site(ABC):
    """A term of one projection x; moments by quadrature from `log_term`.

    The term should be log-concave. Where it jumps to zero, `support` says so.
    """

    support: tuple[float, float] = (-np.inf, np.inf)

    @abstractmethod
    def log_term(self, x: Array) -> Array:
        """Return the logarithm of the term at x; -inf is allowed."""

    def tilted(self, c_mean: Array, c_var: Array) -> Tilted:
        """Integrate the term against N(c_mean, c_var) by Gauss-Legendre quadrature.

        The interval is the part of the support where the tilted density is not
        negligible, found on a grid and then narrowed.
        """
        sd = np.sqrt(c_var)
        x = np.clip(c_mean[:, None] + sd[:, None] * _GRID, *self.support)
        for _ in range(_REFINEMENTS):
            low, high = _bracket(x, self._log_density(x, c_mean, sd))
            x = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 65)
        half = 0.5 * (high - low)
        x = 0.5 * (high + low)[:, None] + half[:, None] * _NODES
        log_density = self._log_density(x, c_mean, sd)
        peak = log_density.max(axis=1)
        mass = np.exp(log_density - peak[:, None]) * _WEIGHTS
        total = mass.sum(axis=1)
        # Both moments about the cavity mean, in cavity standard deviations.
        z = (x - c_mean[:, None]) / sd[:, None]
        shift = (mass * z).sum(axis=1) / total
        shrink = (mass * (z - shift[:, None]) ** 2).sum(axis=1) / total
        log_z = peak + np.log(total * half / sd) - 0.5 * np.log(2.0 * np.pi)
        return Tilted(log_z, shift / sd, (1.0 - shrink) / c_var, shrink)

    def _log_density(self, x: Array, c_mean: Array, sd: Array) -> Array:
        z = (x - c_mean[:, None]) / sd[:, None]
        return np.asarray(self.log_term(x) - 0.5 * z * z)

    def moments(self, c_mean: Array, c_var: Array) -> tuple[Array, Array, Array]:
        """Return log Z, mean and variance of term x N(c_mean, c_var)."""
        log_z, rho, _, shrink = self.tilted(c_mean, c_var)
        return log_z, c_mean + c_var * rho, c_var * shrink

    def match(self, c_mean: Array, c_var: Array) -> tuple[Array, Array, Array]:
        """Return log Z and the site (tau, nu) that has the tilted moments.

        tau = kappa / (1 - c_var kappa),  nu = (rho + c_mean kappa) / (1 - c_var kappa)
        """
        log_z, rho, kappa, shrink = self.tilted(c_mean, c_var)
        return log_z, kappa / shrink, (rho + c_mean * kappa) / shrink


def _bracket(x: Array, log_density: Array) -> tuple[Array, Array]:
    """Return the grid points just outside the part of each row that has mass."""
    keep = log_density > log_density.max(axis=1)[:, None] - _DEPTH
    last = x.shape[1] - 1
    first = np.maximum(keep.argmax(axis=1) - 1, 0)
    final = np.minimum(last - keep[:, ::-1].argmax(axis=1) + 1, last)
    rows = np.arange(len(x))
    return x[rows, first], x[rows, final]


class Probit(Site):
    """The term Phi(x / sqrt(noise)): a vote with unit latent noise.

    z = c_mean / sqrt(noise + c_var),  rho = r(z) / sqrt(noise + c_var)
    kappa = r (r + z) / (noise + c_var)
    """

    noise = 1.0

    def log_term(self, x: Array) -> Array:
        """Return log Phi(x)."""
        return np.asarray(log_ndtr(x))

    def tilted(self, c_mean: Array, c_var: Array) -> Tilted:
        """Return the tilted moments in closed form."""
        total = self.noise + c_var
        scale = np.sqrt(total)
        z = c_mean / scale
        r = hazard(z)
        variance = truncated_variance(z, r)
        shrink = (self.noise + c_var * variance) / total
        return Tilted(log_ndtr(z), r / scale, (1.0 - variance) / total, shrink)


class Truncation(Probit):
    """The term [x > 0]: the limit of Probit without noise."""

    support = (0.0, np.inf)
    noise = 0.0

    def log_term(self, x: Array) -> Array:
        """Return 0 above zero and -inf below."""
        return np.where(x >= 0.0, 0.0, -np.inf)


PROBIT = Probit()
TRUNCATION = Truncation()
