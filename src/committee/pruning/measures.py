"""What an error is: losses by row, whose mean is shown.

Losses by row give the spread of an error, and of the difference of two errors on the
same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.diagnostics.filled_probabilities import LEAST, FilledProbabilities


@dataclass(frozen=True)
class Measure:
    """An error that is a mean of losses.

    Attributes
    ----------
    name : str
        As people read it.
    losses : callable or None
        f(p, y, s) of probabilities (N, K) or numbers (N,), targets (N,) and row weights
        (N,). None: 1 for a wrong class or the squared error, in expectation where
        votes are missing.
    root : bool
        Whether the root of the mean is shown.
    expected : callable or None
        The losses of probabilities that are weighted means with weights (M,), in
        expectation where votes are missing.
    """

    name: str
    losses: Callable[[FloatArray, Any, FloatArray], FloatArray] | None = None
    root: bool = False
    expected: Callable[[FilledProbabilities, FloatArray], FloatArray] | None = None

    def shown(self, mean: Any, se: Any) -> tuple[Any, Any]:
        """Return the error and its standard error: of a root by the delta method."""
        if not self.root:
            return mean, se
        root = np.sqrt(np.maximum(mean, 0.0))
        return root, se / np.maximum(2 * root, np.finfo(float).tiny)

    def difference(
        self, gap: float, se: float, before: float, after: float
    ) -> tuple[float, float]:
        """Return a difference of means as one of errors.

        sqrt(a) - sqrt(b) = (a - b) / (sqrt(a) + sqrt(b))
        """
        scale = before + after if self.root else 1.0
        return (gap / scale, se / scale) if scale > 0 else (gap, se)


def log_losses(p: FloatArray, y: IntArray, s: FloatArray | None = None) -> FloatArray:
    """Return -log p(y_n | x_n)."""
    right = np.take_along_axis(p, y[:, None], axis=1)[:, 0]
    return np.asarray(-np.log(np.maximum(right, LEAST)))


def _brier_losses(p: FloatArray, y: IntArray, s: FloatArray) -> FloatArray:
    """Return sum_k (p_k - [y = k])^2; for two classes half of it, as is usual."""
    squares = np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1)
    return np.asarray(squares / 2 if p.shape[1] == 2 else squares)


def _ranking_losses(p: FloatArray, y: IntArray, s: FloatArray) -> FloatArray:
    """Return losses whose mean is 1 - AUC; of K > 2 classes the mean over classes.

        mu = sum_{i in P, j not in P} s_i s_j [p_j > p_i] / (S_P S_Q),  ties half
        l_i = mu + S / S_P (a_i - mu),    a_i the share of S_Q that p_i stands below
        l_j = mu + S / S_Q (b_j - mu),    b_j the share of S_P that p_j stands above

    By these the spread is that of DeLong.
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
    """Return the losses of one class against all others."""
    _, rank = np.unique(score, return_inverse=True)
    P, Q = (np.bincount(rank, s * side) for side in (positive, ~positive))
    above = np.cumsum(Q[::-1])[::-1] - Q / 2  # negatives that stand above, ties half
    below = np.cumsum(P) - P / 2
    a, b = above[rank] / Q.sum(), below[rank] / P.sum()
    mu = float((s * positive) @ a / P.sum())
    scale = np.where(positive, s.sum() / P.sum(), s.sum() / Q.sum())
    return np.asarray(mu + scale * (np.where(positive, a, b) - mu))


def _absolute_losses(f: FloatArray, y: FloatArray, s: FloatArray) -> FloatArray:
    return np.abs(f - y)


LOG_LOSS = Measure("log-loss", log_losses, expected=FilledProbabilities.log_losses)
#: Measures by the names of scikit-learn's scorers; the first is the one without a name.
OF_CLASSES = {
    "accuracy": Measure("error rate"),
    "neg_log_loss": LOG_LOSS,
    "neg_brier_score": Measure(
        "Brier score", _brier_losses, expected=FilledProbabilities.brier_losses
    ),
    "roc_auc": Measure("1 - AUC", _ranking_losses),
}
_RMSE = Measure("RMSE", root=True)
OF_NUMBERS = {
    "neg_root_mean_squared_error": _RMSE,
    "neg_mean_squared_error": _RMSE,
    "neg_mean_absolute_error": Measure("mean absolute error", _absolute_losses),
}


def measure_of(scoring: str | None, *, of_classes: bool) -> Measure:
    """Return the measure of a name, or say which names there are."""
    known = OF_CLASSES if of_classes else OF_NUMBERS
    if scoring is None:
        return next(iter(known.values()))
    if scoring not in known:
        raise ValueError(
            f"scoring must be one of {', '.join(known)} for "
            f"{'classes' if of_classes else 'numbers'}. Got {scoring!r}."
        )
    return known[scoring]
