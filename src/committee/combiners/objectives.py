"""Scores of a growing committee: what each candidate would make of them.

Accuracy and log loss are sums over rows and are computed for all candidates at
once, in pieces that stay in the cache; any other scikit-learn score is computed
once for each candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from committee._typing import FloatArray, IntArray
from committee.combiners.likelihoods import signed_rows
from committee.combiners.problem import Problem
from committee.probabilities import as_probabilities

#: Share of the whole committee's vote, which decides where no chosen member votes.
_FALLBACK = 1e-9
#: Rows and numbers in one piece of a sum over rows.
_ROWS, _NUMBERS = 2**13, 2**16

Scoring = str | Callable[..., float]
#: Losses, (b,), of slabs of shape (b, c, n).
Losses = Callable[[FloatArray], FloatArray]
#: Makes the losses of T + slabs, from T of shape (c, n) on a slice of the rows.
Loss = Callable[[FloatArray, slice], Losses]


class RowScore:
    """error = loss(T), for T the sums over the picks of each member's slab.

    slabs (M, c, N): what a member adds to the c sums of each row, zero where it
    abstains; prior (c, N): the sums before the first pick; total: where the loss is a
    sum over rows, what to divide it by, else None.
    """

    def __init__(
        self, slabs: FloatArray, loss: Loss, prior: FloatArray, total: float | None
    ) -> None:
        self.slabs, self.loss, self.prior = slabs, loss, prior
        self.total = total
        self.T = prior.copy()

    def only(self, members: IntArray) -> RowScore:
        """Return the objective of some members."""
        return RowScore(self.slabs[members], self.loss, self.prior, self.total)

    def start(self) -> FloatArray:
        """Forget all picks and return the errors of single members."""
        self.T = self.prior.copy()
        return self.candidates()

    def candidates(self) -> FloatArray:
        """Return the error with each of the members added."""
        return self._errors(self.slabs, self.T)

    def add(self, m: int) -> float:
        """Pick m and return the error."""
        self.T += self.slabs[m]
        return float(self._errors(self.T[None], np.zeros_like(self.T))[0])

    def error(self, w: FloatArray) -> float:
        """Return the error of a weighted sum."""
        T = self.prior + np.tensordot(w, self.slabs, axes=(0, 0))
        return float(self._errors(T[None], np.zeros_like(T))[0])

    def _errors(self, slabs: FloatArray, T: FloatArray) -> FloatArray:
        M, c, N = slabs.shape
        n = N if self.total is None else min(_ROWS, N)
        step = max(1, _NUMBERS // (c * n))
        errors = np.zeros(M)
        for start in range(0, N, n):
            rows = slice(start, start + n)
            losses = self.loss(T[:, rows], rows)
            for i in range(0, M, step):
                errors[i : i + step] += losses(slabs[i : i + step, :, rows])
        return errors / (self.total or 1.0)


def row_score(problem: Problem, scoring: Scoring) -> RowScore:
    """Return minus the score, on the rows with votes."""
    if problem.held_out is not None:
        problem = problem.at(problem.held_out.any(axis=1))
    mask, K = problem.held_out, problem.n_classes
    # At most one: sums of ones are exact, so that ties are ties.
    s = problem.row_weights / problem.row_weights.max()
    total: float | None = float(s.sum())
    if K is not None and scoring == "accuracy":
        slabs, loss = _accuracy(problem, K, s)
    elif K is not None and scoring == "neg_log_loss" and problem.F.min() >= 0:
        slabs, loss = _log_loss(problem, K, s)
    else:
        slabs, loss = _any_score(problem, scoring)
        total = None
    prior = np.zeros(slabs.shape[1:])
    if mask is not None:
        slabs *= mask.T[:, None]
        prior = _FALLBACK * slabs.sum(axis=0) / mask.sum(axis=1)
    return RowScore(slabs, loss, prior, total)


def _accuracy(problem: Problem, K: int, s: FloatArray) -> tuple[FloatArray, Loss]:
    """Slabs: preference of the right class to each wrong one. Loss: minus the right."""
    S = signed_rows(problem).F.reshape(-1, K - 1, problem.n_members)
    # Of tied classes argmax takes the first: against a later one a tie is enough.
    later = np.arange(K - 1)[:, None] >= np.asarray(problem.y)

    def loss(T: FloatArray, rows: slice) -> Losses:
        # T + slab > 0, or >= 0, without a rounded sum.
        bound = np.where(later[:, rows], np.nextafter(-T, -np.inf), -T)

        def losses(slabs: FloatArray) -> FloatArray:
            right = slabs[:, 0] > bound[0]
            for k in range(1, K - 1):
                right &= slabs[:, k] > bound[k]
            sums: FloatArray = right @ s[rows]
            return -sums

        return losses

    return np.ascontiguousarray(S.transpose(2, 1, 0), dtype=np.float64), loss


def _log_loss(problem: Problem, K: int, s: FloatArray) -> tuple[FloatArray, Loss]:
    """Slabs: the right class, and the sum of all. Loss: minus the log of the ratio."""
    F = problem.F
    right = F[np.arange(len(F)), :, np.asarray(problem.y)]
    slabs = np.stack([right.T, F.sum(axis=2).T], axis=1).astype(np.float64)
    eps = np.finfo(np.float64).eps

    def loss(T: FloatArray, rows: slice) -> Losses:
        def losses(slabs: FloatArray) -> FloatArray:
            p, total = slabs[:, 0] + T[0], slabs[:, 1] + T[1]
            if empty:
                p[total == 0], total[total == 0] = 1.0 / K, 1.0
            p /= total
            np.maximum(p, eps, out=p)
            sums: FloatArray = np.log(p, out=p) @ s[rows]
            return -sums

        empty = bool(np.any(T[1] == 0))
        return losses

    return slabs, loss


def _any_score(problem: Problem, scoring: Scoring) -> tuple[FloatArray, Loss]:
    """Slabs: the predictions, and 1. Loss: minus the score of their ratio."""
    F, y = problem.F, problem.y
    classes = problem.n_classes is not None
    columns = F.transpose(1, 2, 0) if classes else F.T[:, None]
    slabs = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
    predictor: Any = _Classes(F.shape[2]) if classes else _Values()
    scorer = get_scorer(scoring)
    s = problem.sample_weight
    known = {} if s is None else {"sample_weight": s}

    def score(T: FloatArray) -> float:
        try:
            value = float(scorer(predictor, (T[:-1] / T[-1]).T, y, **known))
        except TypeError as error:
            raise ValueError(
                f"scoring={scoring!r} cannot be computed on these predictions"
                f"{' with sample_weight' if known else ''}: {error}"
            ) from error
        if not np.isfinite(value):
            raise ValueError(
                f"scoring={scoring!r} must be a finite number on the rows of the fit. "
                f"Got {value}."
            )
        return value

    def loss(T: FloatArray, rows: slice) -> Losses:
        def losses(slabs: FloatArray) -> FloatArray:
            with config_context(assume_finite=True, skip_parameter_validation=True):
                return np.array([-score(slab + T) for slab in slabs])

        return losses

    return slabs.astype(np.float64), loss


class _Values(RegressorMixin, BaseEstimator):
    """Predicts what it is given."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the only column."""
        return X[:, 0]


class _Classes(ClassifierMixin, BaseEstimator):
    """Predicts the probabilities that it is given."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def predict(self, X: FloatArray) -> IntArray:
        """Return the class with the largest score."""
        return np.asarray(X.argmax(axis=1), dtype=np.intp)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the scores as probabilities."""
        return as_probabilities(X)
