"""The posterior of the weights for given hyper-parameters: rows and truncations in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.ep.arrays import (
    in_units,
    inner_precision,
)
from committee.ep.gaussian_rows import checked_targets
from committee.ep.likelihood import GaussianLikelihood, Likelihood, ProbitLikelihood
from committee.ep.loo import LeaveOneOut, LooScore
from committee.ep.probit_rows import Messages, RowSites, checked_votes
from committee.ep.sites import (
    Normal,
    cavity,
    log_scale,
    moment_mismatch,
    normal,
    tilted,
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

    The log 2 and the sites belong to the truncations; without them they vanish.
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
        q, no_sites = normal(P, h), np.zeros_like(h)
        return Truncated(q, no_sites, no_sites, 0.0, q.mean, 0.0)
    # The weights follow the rows, so they are settled a little better than these.
    return truncate(P, h, tau, nu, tol=0.1 * settings.tol, max_iter=settings.inner_iter)


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
    term = tilted(c_mean, c_var, noise=0.0)
    log_scales = float(log_scale(term.log_z, c_mean, c_var, tau, nu).sum())
    # Rounding can cancel c_mean + c_var rho to zero or below in the far tail.
    weights = np.maximum(term.mean, np.finfo(float).tiny)
    mismatch = moment_mismatch(q.mean, var, weights, term.var)
    return Truncated(q, tau, nu, log_scales, weights, mismatch), *term.site


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior q(w) = N(mean, cov), with its evidence and leave-one-out errors.

    Parameters
    ----------
    mean : array of shape (M,)
        Posterior mean of the weights; positive under truncation.
    cov : array of shape (M, M)
        Posterior covariance V.
    log_evidence : float
        Log marginal likelihood of the targets.
    loo : float
        Leave-one-out error: mean squared error, or share of wrong cases.
    converged : bool
        Whether all moments agree within the tolerance.
    n_iter : int
        Sweeps that were run.
    loo_score : LooScore
        `loo` with its standard error and the log predictive density.
    loo_rows : LeaveOneOut
        The same per row.
    tau, nu : arrays of shape (M,)
        Sites of the truncations.
    row_sites : RowSites or None
        Sites of the probit rows; None for a regression.
    """

    mean: FloatArray
    cov: FloatArray
    log_evidence: float
    loo: float
    converged: bool
    n_iter: int
    loo_score: LooScore
    loo_rows: LeaveOneOut
    tau: FloatArray
    nu: FloatArray
    row_sites: RowSites | None = None


def regression_posterior(
    F: ArrayLike,
    y: ArrayLike,
    alpha: ArrayLike,
    noise: float,
    *,
    sample_weight: ArrayLike | None = None,
    truncated: bool = True,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Posterior:
    """Return the posterior of non-negative weights under Gaussian noise.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   y_n = w'F_n + N(0, noise)

    Parameters
    ----------
    F : array of shape (N, M)
        Predictions of M members.
    y : array of shape (N,)
        Targets.
    alpha : float or array of shape (M,)
        Inverse prior variances.
    noise : float
        Noise variance.
    sample_weight : array-like of shape (N,), default=None
        Row weights: a row of weight 2 counts as two equal rows.
    truncated : bool
        False drops [w_i > 0] and the factor 2: ridge regression, exactly.
    tol : float
        Largest difference of moments, in posterior standard deviations.
    max_iter : int
        Maximum number of sweeps over the truncations.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import regression_posterior
    >>> y = np.array([1.0, 2.0, 4.0])
    >>> F = np.array([[1.1, -1.0], [1.9, 1.0], [4.0, 1.0]])
    >>> regression_posterior(F, y, alpha=1.0, noise=0.1).mean.round(2)
    array([0.95, 0.22])
    """
    rows = checked_targets(F, y, sample_weight)
    settings = Settings(truncated, tol, 1, max_iter)
    with one_thread():
        moments = rows.moments()
        unit, all_members = moments.unit, np.arange(len(moments.g))
        precision = inner_precision(alpha, unit)
        scale = np.array([1.0 / moments.y_scale])
        scaled_noise = float(inner_precision(noise, scale)[0])
        likelihood = GaussianLikelihood(moments, scaled_noise, rows=rows)
        likelihood.activate(all_members)
        sites = (np.zeros(len(unit)), np.zeros(len(unit)))
        fit = fit_posterior(likelihood, all_members, precision, sites, settings)
        q = fit.truncated.normal
        left_out = rows.loo(all_members, q, scaled_noise, moments.units)
    return _posterior(fit, unit, left_out, settings, None)


def classification_posterior(
    S: ArrayLike,
    alpha: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: int = 1,
    truncated: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Posterior:
    """Return the posterior of non-negative weights under probit votes.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   p(y_n | w) = Phi(w'S_n)

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows S_n = y_n F_n, y_n = -1 or 1; 0 where a member abstains.
    alpha : float or array of shape (M,)
        Inverse prior variances.
    sample_weight : array-like of shape (N,), default=None
        Powers of the terms: a row of weight 2 counts as two equal rows.
    group : int
        Consecutive rows that make one case, K - 1 for K classes; they share a weight.
    truncated : bool
        False drops [w_i > 0] and the factor 2.
    tol : float
        Largest difference of moments, in posterior standard deviations.
    max_iter : int
        Maximum number of sweeps over the rows.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import classification_posterior
    >>> S = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]])
    >>> posterior = classification_posterior(S, alpha=1.0)
    >>> posterior.mean.round(2), posterior.loo
    (array([1.18, 0.62]), 0.0)
    """
    votes, unit = checked_votes(S, sample_weight, group)
    precision = inner_precision(alpha, unit)
    all_members = np.arange(len(unit))
    sites = (np.zeros(len(unit)), np.zeros(len(unit)))
    settings = Settings(truncated, tol, max_iter, inner_iter=20)
    with one_thread():
        likelihood = ProbitLikelihood(votes)
        likelihood.activate(all_members)
        fit = fit_posterior(likelihood, all_members, precision, sites, settings)
    rows = likelihood.last.rows
    assert rows is not None
    return _posterior(fit, unit, rows, settings, likelihood.sites)


def _posterior(
    fit: Fit,
    unit: FloatArray,
    rows: LeaveOneOut,
    settings: Settings,
    row_sites: RowSites | None,
) -> Posterior:
    """Translate a fit to the units of F."""
    q, score = fit.truncated, rows.score
    return Posterior(
        mean=in_units(q.weights, unit),
        cov=in_units(q.normal.cov, unit, unit[:, None]),
        log_evidence=fit.log_evidence,
        loo=score.error,
        converged=fit.mismatch <= settings.tol,
        n_iter=fit.n_iter,
        loo_score=score,
        loo_rows=rows,
        tau=in_units(q.tau, 1.0 / unit, 1.0 / unit),
        nu=in_units(q.nu, 1.0 / unit),
        row_sites=row_sites,
    )
