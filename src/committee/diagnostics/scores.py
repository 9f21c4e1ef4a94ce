"""Scores of predictions, with their standard errors over rows, alone and paired.

A score is a function of means over rows. To first order each row i adds psi_i / N to it
(the infinitesimal jackknife, or delta method), and for one set of rows

    se = sqrt( sum_i psi_i^2 ) / N

Scores of two models on the same rows differ by one with psi_i - psi'_i, which is their
paired difference. For the area under the curve this is the method of DeLong, DeLong and
Clarke-Pearson (1988).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from scipy.stats import rankdata

from committee._typing import BoolArray, FloatArray, IntArray

#: Probabilities below are taken for this one, as scikit-learn's log_loss does.
_LEAST = float(np.finfo(np.float64).eps)


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


def mean_of(losses: FloatArray) -> Score:
    """Return the mean of a number for each row: psi_i = l_i - mean l."""
    value = float(losses.mean())
    return Score(value, losses - value)


def classification_scores(
    y: IntArray, predicted: IntArray, p: FloatArray | None = None
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
    """
    scores = {"error rate": mean_of((predicted != y).astype(np.float64))}
    if p is None:
        return scores
    N, K = p.shape
    one_hot = np.eye(K)[y]
    scores["log-loss"] = mean_of(-np.log(np.clip(p[np.arange(N), y], _LEAST, 1.0)))
    areas = [
        area_under_curve(one_hot[:, k] > 0, p[:, k])
        for k in ([1] if K == 2 else range(K))
        if 0 < one_hot[:, k].sum() < N
    ]
    if areas:
        scores["AUC"] = reduce(add, areas).scaled(1 / len(areas))
    squares = ((p - one_hot) ** 2).sum(axis=1)
    scores["Brier score"] = mean_of(squares / 2 if K == 2 else squares)
    return scores


def area_under_curve(positive: BoolArray, score: FloatArray) -> Score:
    """Return P(score of a positive row > that of a negative one), ties as halves.

    For V_i the share of the n_0 negative rows below the positive row i, or of the n_1
    positive rows above the negative row i,

        psi_i = (V_i - AUC) N / n_1   or   (V_i - AUC) N / n_0.
    """
    N, n_1 = len(score), int(positive.sum())
    n_0 = N - n_1
    ranks = rankdata(score)
    above = np.empty(N)
    above[positive] = (ranks[positive] - rankdata(score[positive])) / n_0
    above[~positive] = 1 - (ranks[~positive] - rankdata(score[~positive])) / n_1
    value = float(above[positive].mean())
    return Score(value, (above - value) * N / np.where(positive, n_1, n_0))


def regression_scores(y: FloatArray, predicted: FloatArray) -> dict[str, Score]:
    """Return RMSE, MAE and R2 of numbers, of shape (N,).

    For a = mean (y - f)^2 and b = mean (y - mean y)^2,

        RMSE = sqrt(a),    psi = psi_a / (2 RMSE)
        R2   = 1 - a / b,  psi = -psi_a / b + psi_b a / b^2

    There is no R2 where all y are the same.
    """
    a = mean_of((y - predicted) ** 2)
    b = mean_of((y - y.mean()) ** 2)
    rmse = float(np.sqrt(a.value))
    scores = {
        "RMSE": Score(rmse, a.psi / (2 * rmse) if rmse else a.psi),
        "MAE": mean_of(np.abs(y - predicted)),
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
