"""Expectation Propagation for a given committee: rows and truncations in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.likelihood import Index, Likelihood
from committee.ep.probit_rows import Messages
from committee.ep.truncated import Truncated, next_step, truncate, untruncated


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
    active: Index,
    alpha: Array,
    sites: tuple[Array, Array],
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
    active: Index,
    alpha: Array,
    tau: Array,
    nu: Array,
    settings: Settings,
) -> Truncated:
    """Return the posterior of the weights, given what the rows say."""
    h = messages.h[active]
    P = messages.L[active]
    P.flat[:: len(P) + 1] += alpha
    if not settings.truncated:
        return untruncated(P, h)
    # The weights follow the rows: they need to be only a little better settled.
    tol, inner_iter = 0.1 * settings.tol, settings.inner_iter
    return truncate(P, h, tau, nu, tol=tol, max_iter=inner_iter)
