"""Expectation Propagation for a given committee: rows and truncations in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ep.likelihood import Likelihood
from committee.ep.probit_rows import Messages
from committee.ep.sites import (
    TRUNCATION,
    Normal,
    cavity,
    log_scale,
    moment_mismatch,
    normal,
)

# Damping that halves further would stall where moments cannot agree to rounding.
_SMALLEST_STEP = 1.0 / 64.0


class Truncated(NamedTuple):
    """The Gaussian, the sites of its truncations, and how well they fit.

    `log_scales` is sum_i log s_i; `weights` are the means of the truncated marginals,
    equal to `normal.mean` at the fixed point and positive everywhere.
    """

    normal: Normal
    tau: FloatArray
    nu: FloatArray
    log_scales: float
    weights: FloatArray
    mismatch: float


class Fit(NamedTuple):
    """A posterior in the units of its likelihood."""

    truncated: Truncated
    log_evidence: float
    mismatch: float
    n_iter: int


class Settings(NamedTuple):
    """How far to iterate, and whether the weights are kept above zero."""

    truncated: bool
    tol: float
    max_iter: int
    inner_iter: int


def fit_posterior(
    likelihood: Likelihood,
    active: IntArray,
    alpha: FloatArray,
    sites: tuple[FloatArray, FloatArray],
    settings: Settings,
) -> Fit:
    """Sweep over rows and truncations until their moments agree.

    V^-1 = A + L + diag(tau),  m = V (h + nu)

    log Z = a log 2 + sum_i log s_i + log scale of the rows
            + 1/2 sum log alpha - 1/2 log |V^-1| + 1/2 (h + nu)' V (h + nu)

    The log 2 and the sites are those of the truncations; without them they vanish.
    """
    tau, nu = sites
    step, last = 1.0, np.inf
    for n_iter in range(1, settings.max_iter + 1):  # noqa: B007
        messages = likelihood.messages
        fit = constrain(messages, active, alpha, tau, nu, settings)
        tau, nu = fit.tau, fit.nu
        row_mismatch = likelihood.absorb(fit.normal, step)
        if max(row_mismatch, fit.mismatch) <= settings.tol:
            break
        step = next_step(step, row_mismatch, last)
        last = row_mismatch
    q = fit.normal
    # Of the sites before the last `absorb`, which q belongs to.
    log_evidence = (
        (len(active) * np.log(2.0) if settings.truncated else 0.0)
        + fit.log_scales
        + likelihood.log_scale()
        + 0.5
        * (np.log(alpha).sum() - q.log_det + (messages.h[active] + fit.nu) @ q.mean)
    )
    mismatch = max(row_mismatch, fit.mismatch)
    return Fit(fit, float(log_evidence), mismatch, n_iter)


def constrain(
    messages: Messages,
    active: IntArray,
    alpha: FloatArray,
    tau: FloatArray,
    nu: FloatArray,
    settings: Settings,
) -> Truncated:
    """Return the posterior of the weights, given the rows' messages."""
    h = messages.h[active]
    P = messages.L[active]
    P.flat[:: len(P) + 1] += alpha
    if not settings.truncated:
        return untruncated(P, h)
    # The weights follow the rows, so they are settled a little better than these.
    tol, inner_iter = 0.1 * settings.tol, settings.inner_iter
    return truncate(P, h, tau, nu, tol=tol, max_iter=inner_iter)


def truncate(
    P: FloatArray,
    h: FloatArray,
    tau: FloatArray,
    nu: FloatArray,
    *,
    tol: float,
    max_iter: int,
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


def untruncated(P: FloatArray, h: FloatArray) -> Truncated:
    """Return the Gaussian alone, in the form of a truncated one without sites."""
    q, zero = normal(P, h), np.zeros_like(h)
    return Truncated(q, zero, zero, 0.0, q.mean, 0.0)


def next_step(step: float, mismatch: float, last: float) -> float:
    """Halve the step after an overshoot; let it recover slowly otherwise."""
    if mismatch > last:
        return max(0.5 * step, _SMALLEST_STEP)
    return min(1.25 * step, 1.0)


def _sweep(
    P: FloatArray, h: FloatArray, tau: FloatArray, nu: FloatArray
) -> tuple[Truncated, FloatArray, FloatArray]:
    """Return the posterior of the given sites, and the sites that match its cavities."""
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
