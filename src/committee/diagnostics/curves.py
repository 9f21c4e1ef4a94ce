"""Curves of scores and probabilities: ROC, precision and recall, reliability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.diagnostics.scores import effective_rows, wilson


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
    """Return the reliability curve of probabilities p, (N,), in bins of equal width.

    Bins without a row are left out.
    """
    s = np.ones(len(p)) if sample_weight is None else sample_weight
    at = np.clip((p * n_bins).astype(np.intp), 0, n_bins - 1)
    bins = []
    for b in np.unique(at[s > 0]):
        rows = (at == b) & (s > 0)
        weight = s[rows]
        share = float(weight @ positive[rows] / weight.sum())
        interval = wilson(share, effective_rows(weight, len(weight)))
        mean = float(weight @ p[rows] / weight.sum())
        bins.append((mean, share, *interval, float(rows.sum())))
    return Reliability(*np.array(bins).T)
