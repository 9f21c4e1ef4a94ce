"""From weighted sums to class probabilities, and the terms of the sums."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from committee._typing import FloatArray, IntArray

#: Logarithms of slopes that are tried, for scores of unit size.
_LOG_SLOPES = (-7.0, 7.0)


def as_probabilities(scores: FloatArray) -> FloatArray:
    """Cut scores at zero and scale rows to sum to one; the largest stays largest."""
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
    """Return the terms of the weighted sum: F, or with a floor log clip(F, floor, 1)."""
    if floor is None:
        return F
    z: FloatArray = np.clip(F, floor, 1.0)
    return np.log(z, out=z)


def softmax_probabilities(scores: FloatArray) -> FloatArray:
    """Return softmax(K s), the probabilities of a booster with mean scores s (N, K)."""
    p: FloatArray = softmax(scores.shape[1] * scores, axis=1)
    return p


def slope_probabilities(scores: FloatArray, slope: float) -> FloatArray:
    """Return p(k | x) ~ exp(b s_k(x)) of scores (N, K) and the slope b."""
    p: FloatArray = softmax(slope * scores, axis=1)
    return p


def certain_scores(
    scores: FloatArray, slope: float, variance: FloatArray | None
) -> FloatArray:
    """Return scores with the same mean probabilities as uncertain ones, at slope b.

        E softmax(b s) = softmax(b s / sqrt(1 + pi/8 b^2 v)),   nearly

    with v (N,) the variance of the difference of two scores of a row (MacKay's mean of a
    logistic function under a normal distribution).
    """
    if variance is None:
        return scores
    return scores / np.sqrt(1 + np.pi / 8 * slope**2 * variance)[:, None]


def fit_slope(
    scores: FloatArray,
    y: IntArray,
    sample_weight: FloatArray | None = None,
    variance: FloatArray | None = None,
) -> float:
    """Return the slope b > 0 with the smallest log loss, for scores (N, K) and class codes y.

        min_b  - sum_n s_n sum_k t_nk log p(k | x_n),    p(k | x) ~ exp(b s_k(x))

    The targets t leave 1 / (N + K) to the wrong classes, as in Platt scaling, so that
    the slope stays finite if the scores are never wrong. With `variance` (N,), p is the
    mean over uncertain scores, as in `certain_scores`.
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
        b = np.exp(log_b) / unit
        z = b * certain_scores(scores, b, variance)
        return -float(np.sum(t * log_softmax(z, axis=1)))

    best = minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded")
    return float(np.exp(best.x)) / unit
