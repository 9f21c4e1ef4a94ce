"""Gaussians, and the sites by which Expectation Propagation replaces its terms.

The scalar identities stay finite far out in the tails. They never divide by a
variance, so a variance of zero (a row without votes) needs no special case.

A site is known by the moments of its term under a Gaussian cavity (`tilted`).
"""

from __future__ import annotations

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

    rho = d log Z,  kappa = -d^2 log Z,  shrink = 1 - c_var kappa = var / c_var
    """

    c_mean: FloatArray
    c_var: FloatArray
    log_z: FloatArray
    rho: FloatArray
    kappa: FloatArray
    shrink: FloatArray

    @property
    def site(self) -> tuple[FloatArray, FloatArray]:
        """Return the site (tau, nu) that has these moments.

        tau = kappa / shrink,  nu = (rho + c_mean kappa) / shrink
        """
        nu = (self.rho + self.c_mean * self.kappa) / self.shrink
        return self.kappa / self.shrink, nu

    @property
    def mean(self) -> FloatArray:
        """Return the tilted mean, c_mean + c_var rho."""
        return self.c_mean + self.c_var * self.rho

    @property
    def var(self) -> FloatArray:
        """Return the tilted variance, c_var shrink."""
        return self.c_var * self.shrink


def tilted(c_mean: FloatArray, c_var: FloatArray, *, noise: float) -> Tilted:
    """Return the moments of Phi(x / sqrt(noise)) N(x | c_mean, c_var).

    z = c_mean / sqrt(noise + c_var),  rho = r(z) / sqrt(noise + c_var)
    kappa = r (r + z) / (noise + c_var)

    noise=1 is a vote with unit latent noise, noise=0 the truncation [x > 0].
    """
    total = noise + c_var
    scale = np.sqrt(total)
    z = c_mean / scale
    r = hazard(z)
    variance = truncated_variance(z, r)
    shrink = (noise + c_var * variance) / total
    return Tilted(
        c_mean, c_var, _log_phi(z, r), r / scale, (1.0 - variance) / total, shrink
    )
