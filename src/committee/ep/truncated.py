"""A Gaussian of a weights, each kept above zero: the a x a part of every posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from committee.ep.gaussian import Array, cavity, log_scale
from committee.ep.sites import TRUNCATION
from committee.linalg.cholesky import jittered_cholesky

_SMALLEST_STEP = 1.0 / 64.0


class Normal(NamedTuple):
    """N(mean, cov) with cov = root root' and log_det = log |cov^-1|."""

    mean: Array
    cov: Array
    root: Array
    log_det: float


class Truncated(NamedTuple):
    """The Gaussian, the sites of its truncations, and how well they fit.

    `log_scales` is sum_i log s_i; `weights` are the means of the truncated marginals,
    equal to `normal.mean` at the fixed point and positive everywhere.
    """

    normal: Normal
    tau: Array
    nu: Array
    log_scales: float
    weights: Array
    mismatch: float


def normal(P: Array, h: Array) -> Normal:
    """Return the Gaussian with precision P and precision x mean h."""
    factor, failed = dpotrf(P, lower=1, clean=1)
    if failed:
        factor = jittered_cholesky(P)[0]
    root = dtrtri(factor, lower=1)[0].T
    log_det = 2.0 * float(np.log(factor.diagonal()).sum())
    return Normal(root @ (root.T @ h), root @ root.T, root, log_det)


def truncate(
    P: Array, h: Array, tau: Array, nu: Array, *, tol: float, max_iter: int
) -> Truncated:
    """Fit q(w) to exp(-w'Pw/2 + h'w) prod_i [w_i > 0].

    V^-1 = P + diag(tau),  m = V (h + nu)

    All sites move at once; the step is halved when a sweep overshoots. The mismatch
    is the largest difference between a marginal and its truncated cavity, in
    standard deviations for the mean and relative for the variance.
    """
    step, last = 1.0, np.inf
    for _ in range(max_iter):
        fit, new_tau, new_nu = _sweep(P, h, tau, nu)
        if fit.mismatch <= tol:
            break
        step = next_step(step, fit.mismatch, last)
        last = fit.mismatch
        tau = tau + step * (new_tau - tau)
        nu = nu + step * (new_nu - nu)
    return fit


def untruncated(P: Array, h: Array) -> Truncated:
    """Return the Gaussian alone, in the form of a truncated one without sites."""
    q, zero = normal(P, h), np.zeros_like(h)
    return Truncated(q, zero, zero, 0.0, q.mean, 0.0)


def next_step(step: float, mismatch: float, last: float) -> float:
    """Halve the step after an overshoot; let it recover slowly otherwise."""
    if mismatch > last:
        return max(0.5 * step, _SMALLEST_STEP)
    return min(1.25 * step, 1.0)


def _sweep(P: Array, h: Array, tau: Array, nu: Array) -> tuple[Truncated, Array, Array]:
    """Return the posterior of the given sites, and the sites that it asks for."""
    precision = P.copy()
    precision.flat[:: len(P) + 1] += tau
    q = normal(precision, h + nu)
    var = q.cov.diagonal()
    c_mean, c_var = cavity(q.mean, var, tau, nu)
    log_z, rho, kappa, shrink = TRUNCATION.tilted(c_mean, c_var)
    log_scales = float(log_scale(log_z, c_mean, c_var, tau, nu).sum())
    # Rounding can cancel c_mean + c_var rho to zero or below in the far tail.
    weights = np.maximum(c_mean + c_var * rho, np.finfo(float).tiny)
    mismatch = moment_mismatch(q.mean, var, weights, c_var * shrink)
    fit = Truncated(q, tau, nu, log_scales, weights, mismatch)
    return fit, kappa / shrink, (rho + c_mean * kappa) / shrink


def moment_mismatch(mean: Array, var: Array, t_mean: Array, t_var: Array) -> float:
    """Return the largest difference of tilted and marginal moments.

    max |t_mean - mean| / sqrt(var),  |t_var - var| / var;   0 for rows without variance
    """
    if mean.size == 0:
        return 0.0
    safe = np.where(var > 0.0, var, 1.0)
    off_mean = np.abs(t_mean - mean) / np.sqrt(safe)
    off_var = np.abs(t_var - var) / safe
    return float(max(off_mean.max(), off_var.max()))
