"""From weighted sums to class probabilities, and the terms of the sums."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from committee._typing import FloatArray, IntArray

#: Logarithms of slopes that are tried, for scores of unit size.
_LOG_SLOPES = (-7.0, 7.0)


def as_probabilities(scores: FloatArray) -> FloatArray:
    """Cut scores at zero and scale rows to sum one; the largest stays largest."""
    if scores.ndim != 2:
        raise ValueError(
            f"Probabilities need scores of shape (N, K). Got shape {scores.shape}."
        )
    p = np.maximum(scores, 0.0)
    total = p.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0
    # No score above zero: the largest gets all.
    if np.any(empty):
        p[empty, scores[empty].argmax(axis=1)] = 1.0
        total = p.sum(axis=1, keepdims=True)
    p /= total
    return p


def pooled_terms(F: FloatArray, floor: float | None) -> FloatArray:
    """Return what is weighed and added up: F, or with a floor log clip(F, floor, 1)."""
    if floor is None:
        return F
    z: FloatArray = np.clip(F, floor, 1.0)
    return np.log(z, out=z)


def softmax_probabilities(scores: FloatArray) -> FloatArray:
    """Return softmax(K s): what a booster makes of the mean scores of its rounds."""
    p: FloatArray = softmax(scores.shape[1] * scores, axis=1)
    return p


def slope_probabilities(
    scores: FloatArray, slope: float, variance: FloatArray | None = None
) -> FloatArray:
    """Return p(k | x) ~ exp(b s_k(x)), the mean over scores that are not certain.

        p = softmax(b s / sqrt(1 + pi/8 b^2 v))

    Parameters
    ----------
    scores : array of shape (N, K)
    slope : float
        b.
    variance : array of shape (N,), optional
        v, that of the difference of two scores of a row. The mean of a logistic
        function under a normal distribution is MacKay's approximation.
    """
    p: FloatArray = softmax(_sloped(scores, slope, variance), axis=1)
    return p


def _sloped(
    scores: FloatArray, slope: float, variance: FloatArray | None
) -> FloatArray:
    if variance is None:
        return slope * scores
    return slope * scores / np.sqrt(1 + np.pi / 8 * slope**2 * variance)[:, None]


def fit_slope(
    scores: FloatArray,
    y: IntArray,
    sample_weight: FloatArray | None = None,
    variance: FloatArray | None = None,
) -> float:
    """Return the slope b > 0 of least log loss, for scores (N, K) and class codes y.

        min_b  - sum_n s_n sum_k t_nk log p(k | x_n),    p(k | x) ~ exp(b s_k(x))

    The targets t leave 1 / (N + K) to the wrong classes (as Platt's), so that the
    slope stays finite where the scores are never wrong. With the `variance` (N,) of
    uncertain scores p is their mean, as in `slope_probabilities`.
    """
    N, K = scores.shape
    s = np.ones(N) if sample_weight is None else sample_weight
    unit = float(np.sqrt(np.mean((scores - scores.mean(axis=1, keepdims=True)) ** 2)))
    if unit == 0.0:
        return 1.0
    miss = 1.0 / (N + K)
    t = np.full((N, K), miss / (K - 1))
    t[np.arange(N), y] = 1.0 - miss
    t *= s[:, None] / s.sum()

    def loss(log_b: float) -> float:
        sloped = _sloped(scores, np.exp(log_b) / unit, variance)
        return -float(np.sum(t * log_softmax(sloped, axis=1)))

    best = minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded")
    return float(np.exp(best.x)) / unit
