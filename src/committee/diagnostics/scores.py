"""Scores of predictions, with their standard errors over rows, alone and paired.

A score is a function of means over rows. To first order each row i adds psi_i / N to it
(the infinitesimal jackknife, or delta method), and for one set of rows

    se = sqrt( sum_i psi_i^2 ) / N

Scores of two models on the same rows differ by one with psi_i - psi'_i, which is their
paired difference. For the area under the curve this is the method of DeLong, DeLong and
Clarke-Pearson (1988). Rows may have weights s_i, which are scaled to mean one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray

#: Probabilities below are taken for this one, as scikit-learn's log_loss does.
_LEAST = float(np.finfo(np.float64).eps)
#: Half the width of a 95 % interval in standard errors.
NORMAL = 1.959964


@dataclass(frozen=True, eq=False)
class Score:
    """A score on N rows.

    Attributes
    ----------
    value : float
    psi : array of shape (N,)
        What each row adds to it, to first order; the mean is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.diagnostics.scores import mean_of
    >>> wrong = mean_of(np.array([1.0, 0.0, 0.0, 0.0]))
    >>> wrong.value, round(wrong.se, 3)
    (0.25, 0.217)
    """

    value: float
    psi: FloatArray

    @property
    def se(self) -> float:
        """Standard error over rows, NaN for a single one."""
        N = len(self.psi)
        return float(np.sqrt(self.psi @ self.psi) / N) if N > 1 else float("nan")

    def __add__(self, other: Score) -> Score:
        """Return the sum of two scores of the same rows."""
        return Score(self.value + other.value, self.psi + other.psi)

    def __sub__(self, other: Score) -> Score:
        """Return the difference of two scores of the same rows, paired."""
        return self + other.scaled(-1.0)

    def scaled(self, slope: float) -> Score:
        """Return a multiple."""
        return Score(slope * self.value, slope * self.psi)


def mean_of(losses: FloatArray, sample_weight: FloatArray | None = None) -> Score:
    """Return the mean of a number for each row: psi_i = s_i (l_i - mean l)."""
    s = _scaled(sample_weight, len(losses))
    value = float(s @ losses) / len(losses)
    return Score(value, s * (losses - value))


def _scaled(sample_weight: FloatArray | None, N: int) -> FloatArray:
    """Return weights of mean one."""
    if sample_weight is None:
        return np.ones(N)
    return np.asarray(sample_weight / sample_weight.mean())


def effective_rows(sample_weight: FloatArray | None, N: int) -> float:
    """Return how many rows of equal weight these are worth: (sum s)^2 / sum s^2 (Kish)."""
    if sample_weight is None:
        return float(N)
    return float(sample_weight.sum() ** 2 / (sample_weight @ sample_weight))


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the ends of Wilson's 95 % interval for a share p of n rows.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    z2 = NORMAL**2 / n
    middle = p + z2 / 2
    half = np.sqrt(z2 * max(p * (1 - p), 0.0) + z2**2 / 4)
    low, high = (middle - half) / (1 + z2), (middle + half) / (1 + z2)
    return max(0.0, float(low)), min(1.0, float(high))


def classification_scores(
    y: IntArray,
    predicted: IntArray,
    p: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> dict[str, Score]:
    """Return the error rate and, of probabilities, log-loss, AUC and Brier score.

    Parameters
    ----------
    y, predicted : int arrays of shape (N,)
        Codes 0..K-1.
    p : array of shape (N, K), optional
        Probabilities of the classes. The Brier score is (p_1 - y)^2 for two classes, the
        squared distance of p from the one-hot y for more. The AUC for more than two is
        the mean over classes of one against the rest; a class that no row has is left
        out, and there is no AUC if all rows are of one class.
    sample_weight : array of shape (N,), optional
    """
    s = sample_weight
    scores = {"error rate": mean_of((predicted != y).astype(np.float64), s)}
    if p is None:
        return scores
    N, K = p.shape
    one_hot = np.eye(K)[y]
    losses = -np.log(np.clip(p[np.arange(N), y], _LEAST, 1.0))
    scores["log-loss"] = mean_of(losses, s)
    counts, total = _scaled(s, N) @ one_hot, float(N)
    areas = [
        area_under_curve(one_hot[:, k] > 0, p[:, k], s)
        for k in ([1] if K == 2 else range(K))
        if 0 < counts[k] < total
    ]
    if areas:
        scores["AUC"] = reduce(add, areas).scaled(1 / len(areas))
    squares = ((p - one_hot) ** 2).sum(axis=1)
    scores["Brier score"] = mean_of(squares / 2 if K == 2 else squares, s)
    return scores


def area_under_curve(
    positive: BoolArray, score: FloatArray, sample_weight: FloatArray | None = None
) -> Score:
    """Return P(score of a positive row > that of a negative one), ties as halves.

    For V_i the share of the weight S_0 of negative rows below the positive row i, or of
    the weight S_1 of positive rows above the negative row i,

        psi_i = s_i (V_i - AUC) N / S_1   or   s_i (V_i - AUC) N / S_0.
    """
    N = len(score)
    s = _scaled(sample_weight, N)
    _, rank = np.unique(score, return_inverse=True)
    P, Q = (np.bincount(rank, s * side) for side in (positive, ~positive))
    below = (np.cumsum(Q) - Q / 2) / Q.sum()
    above = (P.sum() - np.cumsum(P) + P / 2) / P.sum()
    V = np.where(positive, below[rank], above[rank])
    value = float((s * positive) @ V / P.sum())
    return Score(value, s * (V - value) * N / np.where(positive, P.sum(), Q.sum()))


def regression_scores(
    y: FloatArray, predicted: FloatArray, sample_weight: FloatArray | None = None
) -> dict[str, Score]:
    """Return RMSE, MAE and R2 of numbers, of shape (N,).

    For a = mean (y - f)^2 and b = mean (y - mean y)^2,

        RMSE = sqrt(a),    psi = psi_a / (2 RMSE)
        R2   = 1 - a / b,  psi = -psi_a / b + psi_b a / b^2

    There is no R2 where all y are the same.
    """
    s = sample_weight
    a = mean_of((y - predicted) ** 2, s)
    b = mean_of((y - mean_of(y, s).value) ** 2, s)
    rmse = float(np.sqrt(a.value))
    scores = {
        "RMSE": Score(rmse, a.psi / (2 * rmse) if rmse else a.psi),
        "MAE": mean_of(np.abs(y - predicted), s),
    }
    if b.value > 0:
        psi = (b.psi * a.value / b.value - a.psi) / b.value
        scores["R2"] = Score(1 - a.value / b.value, psi)
    return scores


def differences(
    scores: Mapping[str, Score], others: Mapping[str, Score]
) -> dict[str, Score]:
    """Return the paired differences of the scores that both have."""
    return {name: scores[name] - others[name] for name in scores if name in others}
