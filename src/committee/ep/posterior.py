"""The posterior of the weights for given hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee._validation import check_sample_weight
from committee.ep.arrays import (
    check_group,
    check_rows,
    check_targets,
    in_units,
    inner_precision,
    signed_scale,
)
from committee.ep.fitting import Fit, Settings, fit_posterior
from committee.ep.likelihood import GaussianLikelihood, ProbitLikelihood
from committee.ep.loo import LeaveOneOut, Score
from committee.ep.probit_rows import ProbitRows, RowSites
from committee.ep.targets import Targets, row_moments


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(w) = N(mean, cov), and what comes with it.

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
    loo_score : Score
        `loo` with its standard error and the log predictive density.
    loo_rows : LeaveOneOut
        The same per row.
    tau, nu : arrays of shape (M,)
        Sites of the truncations.
    row_sites : RowSites or None
        Sites of the probit rows, for a warm start.
    """

    mean: FloatArray
    cov: FloatArray
    log_evidence: float
    loo: float
    converged: bool
    n_iter: int
    loo_score: Score
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
    sample_weight : array of shape (N,), optional
        Row weights: a row of weight 2 counts as two equal rows.
    truncated : bool
        False drops [w_i > 0] and the factor 2: ridge regression, exactly.
    tol : float
        Largest difference of moments, in posterior standard deviations.
    max_iter : int
        Most sweeps over the truncations.

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
    F, y = check_targets(F, y)
    weight = check_sample_weight(sample_weight, F)
    rows, settings = Targets(F, y, weight), Settings(truncated, tol, 1, max_iter)
    with one_thread():
        moments = row_moments(F, y, weight)
        unit, all_members = moments.unit, np.arange(F.shape[1])
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
    start: Posterior | None = None,
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
    sample_weight : array of shape (N,), optional
        Powers of the terms: a row of weight 2 counts as two equal rows.
    group : int
        Consecutive rows that make one case, K - 1 for K classes; they share a weight.
    start : Posterior, optional
        Take over the sites of an earlier posterior of the same rows and members.
    truncated : bool
        False drops [w_i > 0] and the factor 2.
    tol : float
        Largest difference of moments, in posterior standard deviations.
    max_iter : int
        Most sweeps over the rows.

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
    S = check_rows(S, "S")
    weight = check_sample_weight(sample_weight, S)
    check_group(group, len(S))
    S, scale = signed_scale(S)
    unit = 1.0 / scale
    precision = inner_precision(alpha, unit)
    M = S.shape[1]
    all_members = np.arange(M)
    sites = (np.zeros(M), np.zeros(M))
    row_sites = None
    if start is not None:
        sites, row_sites = (start.tau * unit * unit, start.nu * unit), start.row_sites
    settings = Settings(truncated, tol, max_iter, inner_iter=20)
    with one_thread():
        likelihood = ProbitLikelihood(ProbitRows(S, weight, group), sites=row_sites)
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
