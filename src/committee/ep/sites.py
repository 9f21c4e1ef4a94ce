"""Gaussians, and the sites by which Expectation Propagation replaces its terms.

The scalar identities stay finite far out in the tails. They never divide by a
variance, so a variance of zero (a row without votes) needs no special case.

A site is known by the moments of its term under a Gaussian cavity. A new site needs
only `log_term`; overriding `tilted` with closed formulas makes it fast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.special import erfcx, log_ndtr

from committee._typing import FloatArray
from committee.linalg.definite import jittered_cholesky

# Below this argument r (r + z) is taken from the continued fraction: the direct
# product loses z**4 units in the last place.
_TAIL = -5.0
_FRACTION_TERMS = 24
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_TINY = float(np.finfo(np.float64).tiny)

# The share of a marginal's precision that its cavity keeps at least. Smaller shares
# are rounding: the site then holds all that is known about the projection.
_LEAST_SHARE = 1e-13
# Stage one looks for the mass of the tilted density on this grid of cavity standard
# deviations; its spacing grows with the distance, out to terms in strong conflict.
_GRID = np.sinh(np.linspace(-8.0, 8.0, 321))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_REFINEMENTS = 3
# Everything below exp(-40) of the peak is left out of the integral.
_DEPTH = 40.0


class Normal(NamedTuple):
    """N(mean, cov) with cov = root root' and log_det = log |cov^-1|."""

    mean: FloatArray
    cov: FloatArray
    root: FloatArray
    log_det: float


def normal(P: FloatArray, h: FloatArray) -> Normal:
    """Return the Gaussian with precision P and precision x mean h."""
    factor, failed = dpotrf(P, lower=1, clean=1)
    if failed:
        factor = jittered_cholesky(P)[0]
    root = dtrtri(factor, lower=1)[0].T
    log_det = 2.0 * float(np.log(factor.diagonal()).sum())
    return Normal(root @ (root.T @ h), root @ root.T, root, log_det)


def hazard(z: FloatArray) -> FloatArray:
    """Return r(z) = N(z) / Phi(z), finite for every finite z.

    Examples
    --------
    >>> import numpy as np
    >>> hazard(np.array([-1e4, 0.0, 50.0])).round(4)
    array([1.0000000e+04, 7.9790000e-01, 0.0000000e+00])
    """
    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0)))


def _log_phi(z: FloatArray, r: FloatArray) -> FloatArray:
    """Return log Phi(z) from the hazard: -z^2/2 - log(2 pi)/2 - log r.

    From z = 3 on, terms that are far larger than the result would cancel.
    """
    log_phi = -0.5 * z * z - _HALF_LOG_2PI - np.log(np.maximum(r, _TINY))
    above = z > 3.0
    if above.any():
        log_phi[above] = log_ndtr(z[above])
    return np.asarray(log_phi)


def truncated_variance(z: FloatArray, r: FloatArray) -> FloatArray:
    """Return 1 - r (r + z), the variance of a unit normal kept above -z.

    For z = -x far below zero r + z = d = 1/(x + e) with e = 2/(x + 3/(x + 4/...)),
    and 1 - r d = d (e - d) has no cancellation.
    """
    variance = 1.0 - r * (r + z)
    tail = z < _TAIL
    if tail.any():
        x = -z[tail]
        fraction = np.zeros_like(x)
        for k in range(_FRACTION_TERMS, 1, -1):
            fraction = k / (x + fraction)
        d = 1.0 / (x + fraction)
        variance[tail] = d * (fraction - d)
    return np.asarray(variance)


def cavity(
    mean: FloatArray, var: FloatArray, tau: FloatArray, nu: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Remove the site (tau, nu) from the marginal N(mean, var).

    c_var = var / (1 - tau var),  c_mean = (mean - nu var) / (1 - tau var)

    which is c_tau = 1/var - tau and c_nu = mean/var - nu in natural parameters.
    """
    share = np.maximum(1.0 - tau * var, _LEAST_SHARE)
    return (mean - nu * var) / share, var / share


def log_scale(
    log_z: FloatArray,
    c_mean: FloatArray,
    c_var: FloatArray,
    tau: FloatArray,
    nu: FloatArray,
) -> FloatArray:
    """Return log s of a site: its scale, such that it has the mass Z of its term.

    log s = log Z + 1/2 log(1 + tau c_var)
                  - 1/2 (2 c_mean nu + c_var nu^2 - c_mean^2 tau) / (1 + tau c_var)
    """
    grown = 1.0 + tau * c_var
    square = 2.0 * c_mean * nu + c_var * nu * nu - c_mean * c_mean * tau
    return np.asarray(log_z + 0.5 * np.log(grown) - 0.5 * square / grown)


def moment_mismatch(
    mean: FloatArray, var: FloatArray, t_mean: FloatArray, t_var: FloatArray
) -> float:
    """Return the largest difference of tilted and marginal moments.

    max |t_mean - mean| / sqrt(var),  |t_var - var| / var;   0 for rows without variance
    """
    if mean.size == 0:
        return 0.0
    safe = np.where(var > 0.0, var, 1.0)
    off_mean = np.abs(t_mean - mean) / np.sqrt(safe)
    off_var = np.abs(t_var - var) / safe
    return float(max(off_mean.max(), off_var.max()))


class Tilted(NamedTuple):
    """Moments of term x cavity, as derivatives of log Z by the cavity mean.

    rho = d log Z,  kappa = -d^2 log Z,  shrink = 1 - c_var kappa = var / c_var;
    the tilted mean is c_mean + c_var rho, the tilted variance c_var shrink.
    """

    log_z: FloatArray
    rho: FloatArray
    kappa: FloatArray
    shrink: FloatArray


class Site(ABC):
    """A term of one projection x; moments by quadrature from `log_term`.

    The term should be log-concave. Where it jumps to zero is given by `support`.
    """

    support: tuple[float, float] = (-np.inf, np.inf)

    @abstractmethod
    def log_term(self, x: FloatArray) -> FloatArray:
        """Return the logarithm of the term at x; -inf is allowed."""

    def tilted(self, c_mean: FloatArray, c_var: FloatArray) -> Tilted:
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

    def _log_density(
        self, x: FloatArray, c_mean: FloatArray, sd: FloatArray
    ) -> FloatArray:
        z = (x - c_mean[:, None]) / sd[:, None]
        return np.asarray(self.log_term(x) - 0.5 * z * z)

    def moments(
        self, c_mean: FloatArray, c_var: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log Z, mean and variance of term x N(c_mean, c_var)."""
        log_z, rho, _, shrink = self.tilted(c_mean, c_var)
        return log_z, c_mean + c_var * rho, c_var * shrink

    def match(
        self, c_mean: FloatArray, c_var: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log Z and the site (tau, nu) that has the tilted moments.

        tau = kappa / (1 - c_var kappa),  nu = (rho + c_mean kappa) / (1 - c_var kappa)
        """
        log_z, rho, kappa, shrink = self.tilted(c_mean, c_var)
        return log_z, kappa / shrink, (rho + c_mean * kappa) / shrink


def _bracket(x: FloatArray, log_density: FloatArray) -> tuple[FloatArray, FloatArray]:
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

    def log_term(self, x: FloatArray) -> FloatArray:
        """Return log Phi(x)."""
        return np.asarray(log_ndtr(x))

    def tilted(self, c_mean: FloatArray, c_var: FloatArray) -> Tilted:
        """Return the tilted moments in closed form."""
        total = self.noise + c_var
        scale = np.sqrt(total)
        z = c_mean / scale
        r = hazard(z)
        variance = truncated_variance(z, r)
        shrink = (self.noise + c_var * variance) / total
        return Tilted(_log_phi(z, r), r / scale, (1.0 - variance) / total, shrink)


class Truncation(Probit):
    """The term [x > 0]: the limit of Probit without noise."""

    support = (0.0, np.inf)
    noise = 0.0

    def log_term(self, x: FloatArray) -> FloatArray:
        """Return 0 above zero and -inf below."""
        return np.where(x >= 0.0, 0.0, -np.inf)


PROBIT = Probit()
TRUNCATION = Truncation()
