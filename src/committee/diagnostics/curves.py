"""Curves of scores and probabilities: ROC, precision and recall, reliability."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import check_sample_weight, refuse_swapped
from committee.losses import Score, effective_rows, wilson

#: By how much rounding may take a probability out of [0, 1].
_ROUNDING = 1e-6


def roc(
    positive: BoolArray, score: FloatArray, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Return the ROC curve, (n, 2): false and true positive rates, from 0 to 1.

    One sort for each of hundreds of members: scikit-learn's `roc_curve` gives the same
    points, and takes several times as long for its checks.
    """
    true, false = _counts_above(positive, score, sample_weight)
    curve = np.column_stack([false / false[-1], true / true[-1]])
    return np.concatenate([np.zeros((1, 2)), curve])


def precision_recall(
    positive: BoolArray, score: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Return recall and precision, (n, 2), recall rising, and the average precision.

    precision = TP / (TP + FP),   recall = TP / P,   AP = sum (R_n - R_{n-1}) P_n
    """
    true, false = _counts_above(positive, score, sample_weight)
    recall, precision = true / true[-1], true / (true + false)
    average = float(np.diff(recall, prepend=0.0) @ precision)
    return np.column_stack([recall, precision]), average


def _counts_above(
    positive: BoolArray, score: FloatArray, sample_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the weight of positive and of other rows at or above each score, falling."""
    s = np.ones(len(score)) if sample_weight is None else sample_weight
    positive, score, s = positive[s > 0], score[s > 0], s[s > 0]
    falling = np.argsort(-score, kind="stable")
    # The last row of each run of equal scores: a curve has one point for all of them.
    last = np.flatnonzero(np.diff(score[falling], append=np.inf))
    true, false = (
        np.cumsum((s * side)[falling])[last] for side in (positive, ~positive)
    )
    return true, false


class Reliability(NamedTuple):
    """How often what had a probability came true, by bins of the probability.

    Attributes
    ----------
    predicted, observed : arrays of shape (n,)
        Mean probability and share of the rows of a bin that it was right for.
    low, high : arrays of shape (n,)
        Wilson's 95 % interval of the share.
    n_rows : array of shape (n,)
        Rows of the bin.
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: FloatArray


def reliability(
    positive: BoolArray,
    p: FloatArray,
    sample_weight: FloatArray | None = None,
    *,
    n_bins: int = 10,
) -> Reliability:
    """Return the reliability curve of probabilities p, (N,), in bins of equal counts.

    Equal probabilities are in one bin, so that there may be fewer of them.
    """
    s = np.ones(len(p)) if sample_weight is None else sample_weight
    positive, p, s = positive[s > 0], p[s > 0], s[s > 0]
    at = _bins(p, s, n_bins)
    bins = []
    for b in np.unique(at):
        rows = at == b
        weight = s[rows]
        share = float(weight @ positive[rows] / weight.sum())
        interval = wilson(share, effective_rows(weight, len(weight)))
        mean = float(weight @ p[rows] / weight.sum())
        bins.append((mean, share, *interval, float(rows.sum())))
    return Reliability(*np.array(bins).T)


def _bins(p: FloatArray, s: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each row: where the middle of its equals lies in the order."""
    _, at = np.unique(p, return_inverse=True)
    weight = np.bincount(at, s)
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    bins: IntArray = np.minimum((n_bins * middle).astype(np.intp), n_bins - 1)[at]
    return bins


def calibration_error(
    positive: BoolArray,
    p: FloatArray,
    sample_weight: FloatArray | None = None,
    *,
    n_bins: int = 10,
) -> Score:
    """Return the expected calibration error of probabilities p, (N,).

        ECE = sum_b S_b / S |r_b - p_b|,   psi_i = s_i (sign(r_b - p_b) (r_i - p_i) - ECE)

    over the bins b of `reliability`, r_b the share that came true.
    """
    s = np.ones(len(p)) if sample_weight is None else sample_weight
    s = s / s.mean()
    gap, at = positive - p, np.zeros(len(p), dtype=np.intp)
    at[s > 0] = _bins(p[s > 0], s[s > 0], n_bins)
    sign = np.sign(np.bincount(at, s * gap))[at]
    value = float(np.mean(s * sign * gap))
    return Score(value, s * (sign * gap - value))


def expected_calibration_error(
    p: Any, y: Any, *, n_bins: int = 10, sample_weight: Any = None
) -> float:
    """Return the mean difference of predicted probabilities and observed shares.

        ECE = sum_b N_b / N |share right in b - mean probability in b|

    The bins b have equal counts. Even perfectly calibrated probabilities have an ECE of
    about sqrt(n_bins / N): compare it with its standard error in the report, and
    compare models by log-loss.

    Parameters
    ----------
    p : array-like of shape (N, K) or (N,)
        Probabilities of the classes, or of class 1. For two classes the probability of
        class 1 is used, for more classes the probability of the most likely class.
    y : array-like of shape (N,)
        Class codes 0..K-1.
    n_bins : int, default=10
    sample_weight : array-like of shape (N,), default=None
        Sample weights.

    Returns
    -------
    ece : float

    Examples
    --------
    >>> from committee import expected_calibration_error
    >>> expected_calibration_error([0.5, 0.5, 1.0, 1.0], [0, 1, 1, 1], n_bins=2)
    0.0
    >>> expected_calibration_error([0.0, 0.75, 0.75, 0.75], [0, 1, 1, 1])
    0.1875
    """
    positive, q, s = one_probability(p, y, sample_weight)
    if not n_bins >= 1:
        raise ValueError(f"n_bins must be at least 1. Got {n_bins!r}.")
    return calibration_error(positive, q, s, n_bins=n_bins).value


def one_probability(
    p: Any, y: Any, sample_weight: Any = None
) -> tuple[BoolArray, FloatArray, FloatArray | None]:
    """Return what came true and its probability, (N,) both, and checked weights.

    Of two classes that is class 1, of more the most likely one.
    """
    refuse_swapped(p, y)
    p = check_array(p, dtype=np.float64, ensure_2d=False, input_name="p")
    y = column_or_1d(y)
    check_consistent_length(y, p)
    if np.any((p < -_ROUNDING) | (p > 1 + _ROUNDING)):
        raise ValueError(
            f"Probabilities lie between 0 and 1. Got values from {p.min():.3g} to "
            f"{p.max():.3g}."
        )
    K = 2 if p.ndim == 1 else p.shape[1]
    if not np.isin(y, np.arange(K)).all():
        raise ValueError(
            f"y must contain class codes 0..{K - 1}, the columns of p. Got "
            f"{np.unique(y)[:5].tolist()}; probabilities come first, then y."
        )
    s = check_sample_weight(sample_weight, p)
    if p.ndim == 1:
        return np.asarray(y == 1), p, s
    if K == 2:
        return np.asarray(y == 1), p[:, 1], s
    return np.asarray(p.argmax(axis=1) == y), p.max(axis=1), s
