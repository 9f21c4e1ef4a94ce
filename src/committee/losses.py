"""Losses by row, weighted means and standard errors; the names of `scoring`.

An error is the weighted mean of a loss by row. Row i adds psi_i / N to a score, to first
order (the infinitesimal jackknife, or delta method), so that over one set of rows

    mean = sum_i s_i l_i / sum_i s_i,    se = sqrt( sum_i psi_i^2 ) / N,
    psi_i = s_i (l_i - mean) with the weights s_i scaled to mean one.

The difference of two scores on the same rows has psi_i - psi'_i: it is paired. For the
area under the curve this is the method of DeLong, DeLong and Clarke-Pearson (1988).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray

#: Least probability whose logarithm is taken, as in scikit-learn's `log_loss`.
LEAST = float(np.finfo(np.float64).eps)
#: Half the width of a 95 % interval in standard errors.
NORMAL = 1.959964


@dataclass(frozen=True, eq=False)
class Score:
    """A score on N rows.

    Attributes
    ----------
    value : float
    psi : array of shape (N,)
        First-order contribution of each row; the mean is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.losses import mean_of
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
        return _length(self.psi) / N if N > 1 else float("nan")

    def __sub__(self, other: Score) -> Score:
        """Return the difference of two scores of the same rows, paired."""
        return Score(self.value - other.value, self.psi - other.psi)


def mean_of(losses: FloatArray, sample_weight: FloatArray | None = None) -> Score:
    """Return the weighted mean of a number for each row, as a Score."""
    s = _scaled(sample_weight, len(losses))
    value = float(s @ losses) / len(losses)
    return Score(value, s * (losses - value))


def mean_and_se(
    losses: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[float, float]:
    """Return the weighted mean of the losses and its standard error.

        mean = sum s l / sum s,    se = sqrt( sum s^2 (l - mean)^2 ) / sum s

    Rows with weight zero have no effect; both are NaN if all weights are zero.
    """
    s = np.ones(len(losses)) if sample_weight is None else sample_weight
    total = float(s.sum())
    if total == 0:
        return float("nan"), float("nan")
    s = s / total
    mean = float(s @ losses)
    return mean, _length(s * (losses - mean))


def _length(v: FloatArray) -> float:
    """Return |v|, finite where the squares of v are not."""
    unit = float(np.abs(v).max()) or 1.0
    unit = float(np.ldexp(1.0, np.frexp(unit)[1]))  # it changes no digit
    return unit * float(np.sqrt((v / unit) @ (v / unit)))


def paired_difference(
    after: FloatArray, before: FloatArray, sample_weight: FloatArray | None = None
) -> tuple[float, float]:
    """Return the weighted mean of after - before, and its standard error."""
    return mean_and_se(after - before, sample_weight)


def _scaled(sample_weight: FloatArray | None, N: int) -> FloatArray:
    """Return weights of mean one."""
    if sample_weight is None:
        return np.ones(N)
    return np.asarray(sample_weight / sample_weight.mean())


def effective_rows(sample_weight: FloatArray | None, N: int) -> float:
    """Return (sum s)^2 / sum s^2, the equivalent number of unweighted rows (Kish)."""
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


# --- losses by row -------------------------------------------------------------------


def error_losses(predicted: Any, y: Any) -> FloatArray:
    """Return the squared error, or 1 for a wrong class code, by row.

    The targets y are numbers (floats) or class codes (integers), of shape (N,).
    `predicted` has shape (N,), or (N, M) for M members.
    """
    y = y.reshape(-1, *[1] * (predicted.ndim - 1))
    if y.dtype.kind == "f":
        return np.asarray((predicted - y) ** 2)
    return np.asarray(predicted != y, dtype=np.float64)


def decided(output: FloatArray) -> FloatArray | IntArray:
    """Return the class codes of scores (N, K); return numbers (N,) unchanged."""
    return output if output.ndim == 1 else output.argmax(axis=1)


def log_losses(p: FloatArray, y: IntArray, s: FloatArray | None = None) -> FloatArray:
    """Return -log p(y_n | x_n), with p cut at `LEAST`."""
    right = np.take_along_axis(p, y[:, None], axis=1)[:, 0]
    return np.asarray(-np.log(np.clip(right, LEAST, 1.0)))


def brier_losses(p: FloatArray, y: IntArray, s: FloatArray | None = None) -> FloatArray:
    """Return sum_k (p_k - [y = k])^2; for two classes half of it, as is usual."""
    squares = np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)
    return np.asarray(squares / 2 if p.shape[1] == 2 else squares)


def ranking_losses(p: FloatArray, y: IntArray, s: FloatArray) -> FloatArray:
    """Return losses whose mean is 1 - AUC; for K > 2 classes the mean over classes.

        mu = sum_{i in P, j not in P} s_i s_j [p_j > p_i] / (S_P S_Q),  ties half
        l_i = mu + S / S_P (a_i - mu),    a_i the share of S_Q ranked above p_i
        l_j = mu + S / S_Q (b_j - mu),    b_j the share of S_P ranked below p_j

    Their standard error is the one of DeLong. Raises ValueError if all rows are of one
    class.
    """
    K = p.shape[1]
    found = [
        _against_rest(p[:, k], y == k, s)
        for k in (range(1, 2) if K == 2 else range(K))
        if 0 < s[y == k].sum() < s.sum()
    ]
    if not found:
        raise ValueError("The area under the ROC curve needs rows of two classes.")
    return np.asarray(np.mean(found, axis=0))


def _against_rest(score: FloatArray, positive: Any, s: FloatArray) -> FloatArray:
    """Return the ranking losses of one class against all others."""
    _, rank = np.unique(score, return_inverse=True)
    P, Q = (np.bincount(rank, s * side) for side in (positive, ~positive))
    above = np.cumsum(Q[::-1])[::-1] - Q / 2  # negatives ranked above, ties half
    below = np.cumsum(P) - P / 2
    a, b = above[rank] / Q.sum(), below[rank] / P.sum()
    mu = float((s * positive) @ a / P.sum())
    scale = np.where(positive, s.sum() / P.sum(), s.sum() / Q.sum())
    return np.asarray(mu + scale * (np.where(positive, a, b) - mu))


def _absolute_losses(f: FloatArray, y: FloatArray, s: FloatArray) -> FloatArray:
    return np.abs(f - y)


# --- measures: the errors that a path, a summary and the shell can report --------------


@dataclass(frozen=True)
class Measure:
    """An error that is a mean of losses.

    Attributes
    ----------
    name : str
        Name for people.
    losses : callable or None
        f(p, y, s) of probabilities (N, K) or numbers (N,), targets (N,) and row weights
        (N,). None means 1 for a wrong class or the squared error, in expectation where
        votes are missing.
    root : bool
        Whether the root of the mean is reported.
    """

    name: str
    losses: Callable[[FloatArray, Any, FloatArray], FloatArray] | None = None
    root: bool = False

    def shown(self, mean: Any, se: Any) -> tuple[Any, Any]:
        """Return the error and its standard error: of a root by the delta method."""
        if not self.root:
            return mean, se
        root = np.sqrt(np.maximum(mean, 0.0))
        return root, se / np.maximum(2 * root, np.finfo(float).tiny)

    def difference(
        self, gap: float, se: float, before: float, after: float
    ) -> tuple[float, float]:
        """Return a difference of means as a difference of errors.

        sqrt(a) - sqrt(b) = (a - b) / (sqrt(a) + sqrt(b))
        """
        scale = before + after if self.root else 1.0
        return (gap / scale, se / scale) if scale > 0 else (gap, se)


LOG_LOSS = Measure("log-loss", log_losses)
#: Measures by the names of scikit-learn's scorers; the first is the default.
OF_CLASSES = {
    "accuracy": Measure("error rate"),
    "neg_log_loss": LOG_LOSS,
    "neg_brier_score": Measure("Brier score", brier_losses),
    "roc_auc": Measure("1 - AUC", ranking_losses),
}
_RMSE = Measure("RMSE", root=True)
OF_NUMBERS = {
    "neg_root_mean_squared_error": _RMSE,
    "neg_mean_squared_error": _RMSE,
    "neg_mean_absolute_error": Measure("mean absolute error", _absolute_losses),
}


def measure_of(scoring: str | None, *, of_classes: bool) -> Measure:
    """Return the measure of a name; raise ValueError with the known names."""
    known = OF_CLASSES if of_classes else OF_NUMBERS
    if scoring is None:
        return next(iter(known.values()))
    if scoring not in known:
        raise ValueError(
            f"scoring must be one of {', '.join(known)} for "
            f"{'classes' if of_classes else 'numbers'}. Got {scoring!r}."
        )
    return known[scoring]


# --- scores of predictions, as the shell and the report show them ---------------------


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
    p : array of shape (N, K), default=None
        Class probabilities. The Brier score is (p_1 - y)^2 for two classes and the
        squared distance of p from the one-hot y for more. The AUC for more than two
        classes is the mean over classes of one against the rest. Classes without rows
        are left out. There is no AUC if all rows are of one class.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    """
    s = sample_weight
    scores = {"error rate": mean_of(error_losses(predicted, y), s)}
    if p is None:
        return scores
    scores["log-loss"] = mean_of(log_losses(p, y), s)
    counted = y if s is None else y[s > 0]
    if len(np.unique(counted)) > 1:
        ranking = mean_of(ranking_losses(p, y, _scaled(s, len(y))), s)
        scores["AUC"] = Score(1 - ranking.value, -ranking.psi)
    scores["Brier score"] = mean_of(brier_losses(p, y), s)
    return scores


def area_under_curve(
    positive: BoolArray, score: FloatArray, sample_weight: FloatArray | None = None
) -> Score:
    """Return P(score of a positive row > score of a negative row), ties as halves."""
    s = _scaled(sample_weight, len(score))
    found = mean_of(_against_rest(score, positive, s), s)
    return Score(1 - found.value, -found.psi)


def regression_scores(
    y: FloatArray, predicted: FloatArray, sample_weight: FloatArray | None = None
) -> dict[str, Score]:
    """Return RMSE, MAE and R2 of numbers, of shape (N,).

    For a = mean (y - f)^2 and b = mean (y - mean y)^2,

        RMSE = sqrt(a),    psi = psi_a / (2 RMSE)
        R2   = 1 - a / b,  psi = -psi_a / b + psi_b a / b^2

    There is no R2 where all y are equal.
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
