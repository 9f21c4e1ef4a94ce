"""Sequential Expectation Propagation as printed (Chen, figures 3 and 4), corrected.

Slow and plain: one site at a time, rank-one updates, textbook formulas. The misprints
of the paper are corrected as in the errata (the rank-one term is subtracted).
"""

import numpy as np
from scipy.special import log_ndtr


def without(m, V, x, site):
    """Cavity of q(w) without the site (v, mean) on the projection x'w, step (a)."""
    v, mean = site
    if np.isinf(v):
        return m, V
    Vx = V @ x
    V_cav = V + np.outer(Vx, Vx) / (v - x @ Vx)
    m_cav = m + V_cav @ x * (x @ m - mean) / v
    return m_cav, V_cav


def _with_step(m_cav, V_cav, x, noise):
    """Multiply the cavity with Phi(x'w / sqrt(noise)), steps (b), (c) or (e), (f)."""
    Vx = V_cav @ x
    c_var, c_mean = x @ Vx, x @ m_cav
    if c_var == 0.0:
        return m_cav, V_cav, (np.inf, 0.0), log_ndtr(0.0)
    total = noise + c_var
    z = c_mean / np.sqrt(total)
    rho = np.exp(-0.5 * z * z - log_ndtr(z)) / np.sqrt(2.0 * np.pi * total)
    kappa = rho * (rho + c_mean / total)
    if kappa < 1e-100:  # far from the edge the step is one, to the last digit
        return m_cav, V_cav, (np.inf, 0.0), log_ndtr(z)
    m = m_cav + Vx * rho
    V = V_cav - np.outer(Vx, Vx) * kappa
    v = 1.0 / kappa - c_var
    mean = c_mean + (v + c_var) * rho
    log_s = (
        log_ndtr(z)
        + 0.5 * np.log1p(c_var / v)
        + 0.5 * (c_mean - mean) ** 2 / (v + c_var)
    )
    return m, V, (v, mean), log_s


def _log_evidence(rows, sites, scales, V, m, alpha):
    """Gaussian integral of prior x sites, each s exp(-(x'w - mean)^2 / (2 v))."""
    log_z = sum(scales) + 0.5 * np.sum(np.log(alpha)) + len(alpha) * np.log(2.0)
    log_z += 0.5 * np.linalg.slogdet(V)[1] + 0.5 * m @ np.linalg.solve(V, m)
    for v, mean in sites:
        if np.isfinite(v):
            log_z -= 0.5 * mean**2 / v
    return log_z


def classification(S, alpha, n_sweeps=200):
    """Figure 4: N probit sites, then M truncation sites, again and again."""
    m, V, sites, scales = _classification_sites(S, alpha, n_sweeps)
    rows = np.vstack([S, np.eye(S.shape[1])])
    return m, V, _log_evidence(rows, sites, scales, V, m, _each(alpha, S))


def virtual_targets(S, alpha, n_sweeps=200):
    """Mean, covariance, and (v_n, m_n) of the probit sites, section 3.5."""
    m, V, sites, _ = _classification_sites(S, alpha, n_sweeps)
    v, mean = np.transpose(sites[: len(S)])
    return m, V, v, mean


def _each(alpha, S):
    return np.broadcast_to(alpha, S.shape[1]).astype(float)


def _classification_sites(S, alpha, n_sweeps):
    N, M = S.shape
    m, V = np.zeros(M), np.diag(1.0 / _each(alpha, S))
    rows = np.vstack([S, np.eye(M)])
    sites = [(np.inf, 0.0)] * (N + M)
    scales = [0.0] * (N + M)
    for _ in range(n_sweeps):
        for n, x in enumerate(rows):
            cavity = without(m, V, x, sites[n])
            noise = 1.0 if n < N else 0.0
            m, V, sites[n], scales[n] = _with_step(*cavity, x, noise)
    return m, V, sites, scales


def regression(F, y, alpha, noise, n_sweeps=200):
    """Figure 3: steps (a) to (c) restore an exact Gaussian term, (d) to (f) truncate."""
    N, M = F.shape
    alpha = np.broadcast_to(alpha, M).astype(float)
    m, V = np.zeros(M), np.diag(1.0 / alpha)
    rows = np.vstack([F, np.eye(M)])
    sites = [(np.inf, 0.0)] * (N + M)
    scales = [0.0] * (N + M)
    for _ in range(n_sweeps):
        for n, x in enumerate(rows):
            m_cav, V_cav = without(m, V, x, sites[n])
            if n < N:
                gain = V_cav @ x / (noise + x @ V_cav @ x)
                m = m_cav + gain * (y[n] - x @ m_cav)
                V = V_cav - np.outer(gain, V_cav @ x)
                sites[n] = (noise, y[n])
                scales[n] = -0.5 * np.log(2.0 * np.pi * noise)
            else:
                m, V, sites[n], scales[n] = _with_step(m_cav, V_cav, x, 0.0)
    return m, V, _log_evidence(rows, sites, scales, V, m, alpha)
