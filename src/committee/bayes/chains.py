"""R-hat of several chains, and their effective sample size.

Both measures are defined by Vehtari, Gelman, Simpson, Carpenter and Buerkner (Bayesian
Analysis 16(2), 2021). Chains are split in halves, so that one that drifts disagrees
with itself. Draws have shape (chains, draws, ...); every trailing entry is measured.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from committee._typing import FloatArray


def split_r_hat(draws: ArrayLike) -> FloatArray:
    """Return the rank-normalised split R-hat, one where the chains agree.

        R = sqrt( ((n - 1) / n W + B / n) / W ),    the larger of two

    W is the mean variance within the half chains and B / n the variance between
    their means, once for the normal scores of the draws and once for those of their
    distance from the median, which finds chains that differ in scale only. draws
    (chains, n, ...) with n >= 4; 1 for draws that never move.
    """
    x = _halves(draws)
    flat = x.reshape(-1, *x.shape[2:])
    folded = np.abs(x - np.median(flat, axis=0))
    return np.maximum(_r_hat(_normal_scores(x)), _r_hat(_normal_scores(folded)))


def effective_sample_size(draws: ArrayLike) -> FloatArray:
    """Return the number of independent draws whose mean is equally precise.

        ESS = C n / (1 + 2 sum_t rho_t)

    The sum over lags ends where pairs of neighbouring autocorrelations, made to
    decrease, reach zero (Geyer, 1992). Chains that disagree count for less. At most
    C n log10(C n), for draws that alternate around their mean.
    """
    x = _halves(draws)
    total = x.shape[0] * x.shape[1]
    within, pooled = _variances(x)
    covariance = _autocovariance(x).mean(axis=0)
    still = pooled == 0.0
    # Chains that differ raise every autocorrelation: the pooled variance holds both.
    rho = 1.0 - (within - covariance) / np.where(still, 1.0, pooled)
    rho[0] = 1.0
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(total))
    return np.where(still, float(total), total / time)


def _halves(draws: ArrayLike) -> FloatArray:
    """Return (2 C, n // 2, ...): both halves of each chain, a middle draw left out."""
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim < 2 or x.shape[1] < 4:
        raise ValueError(
            "draws must have shape (chains, n, ...) with n >= 4. "
            f"Got an array of shape {x.shape}."
        )
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _variances(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return W, and (n - 1) / n W + B / n."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    return within, (n - 1) / n * within + between


def _r_hat(x: FloatArray) -> FloatArray:
    within, pooled = _variances(x)
    diverged = np.where(pooled > 0.0, np.inf, 1.0)
    ratio = np.divide(pooled, within, out=diverged, where=within > 0.0)
    return np.asarray(np.sqrt(ratio))


def _normal_scores(x: FloatArray) -> FloatArray:
    """Return Phi^-1((rank - 3/8) / (S + 1/4)), ranks over all S draws."""
    flat = x.reshape(x.shape[0] * x.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape))


def _autocovariance(x: FloatArray) -> FloatArray:
    """Return the autocovariances of each chain at lags 0..n-1, divided by n - 1."""
    n = x.shape[1]
    # Padded to 2 n, so that the ends of a chain do not meet.
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    covariance = irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n]
    return np.asarray(covariance / (n - 1))
