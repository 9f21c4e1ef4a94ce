"""Any score of combined predictions, by scikit-learn or, for areas, by `areas`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, log_loss, make_scorer

from committee._typing import FloatArray, IntArray
from committee.combiners.areas import Areas, area_slabs
from committee.probabilities import as_probabilities
from committee.votes import Votes

Scoring = str | Callable[..., float]
#: The score of sums T of shape (c, N).
Score = Callable[[FloatArray], float]


def never_negative(problem: Votes) -> bool:
    """Whether no vote that counts is below zero: then votes add up as they are."""
    if problem.held_out is None:
        return bool(problem.F.min() >= 0)
    return bool(problem.F.min(axis=2)[problem.held_out].min() >= 0)


def roc_auc(problem: Votes, scoring: Scoring) -> tuple[FloatArray, Areas] | None:
    """Return slabs and score of an area under the ROC curve, None for other scores.

    By sorting it takes a hundredth of the time of scikit-learn's function, which checks
    its arrays for every candidate.
    """
    K, y = problem.n_classes, np.asarray(problem.y, dtype=np.intp)
    if K is None or scoring not in ("roc_auc", "roc_auc_ovr"):
        return None
    if (K > 2 and scoring == "roc_auc") or not never_negative(problem):
        return None
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"scoring={scoring!r} compares rows of different classes. All rows that "
            f"count are of class {classes[0]}."
        )
    codes = classes if K > 2 else np.array([1])
    return area_slabs(problem, codes), Areas(y, codes, problem.sample_weight)


def any_score(problem: Votes, scoring: Scoring) -> tuple[FloatArray, Score]:
    """Return slabs, the predictions and 1, and the score of the ratios of their sums."""
    F, y, K = problem.F, problem.y, problem.n_classes
    columns = F.T[:, None] if K is None else F.transpose(1, 2, 0)
    slabs = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
    scorer, predictor = _scorer(scoring, K), _predictor(y, K, scoring)
    s = problem.sample_weight
    known = {} if s is None else {"sample_weight": s}

    def score(T: FloatArray) -> float:
        try:
            with (
                config_context(assume_finite=True, skip_parameter_validation=True),
                warnings.catch_warnings(
                    action="ignore", category=UndefinedMetricWarning
                ),
            ):
                value = float(scorer(predictor, (T[:-1] / T[-1]).T, y, **known))
        except (TypeError, ValueError) as error:
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

    return slabs.astype(np.float64), score


def _scorer(scoring: Scoring, K: int | None) -> Any:
    """Return the scorer; that of the log loss is told of classes without rows."""
    if scoring == "neg_log_loss" and K is not None:
        return make_scorer(
            log_loss,
            greater_is_better=False,
            response_method="predict_proba",
            labels=np.arange(K),
        )
    return get_scorer(scoring)


def _predictor(y: Any, K: int | None, scoring: Scoring) -> Any:
    if K is None:
        return _Values()
    # Scores of probabilities know the classes that y has, and no others.
    return _Classes(np.arange(K) if scoring == "neg_log_loss" else np.unique(y))


class _Values(RegressorMixin, BaseEstimator):
    """Predicts what it is given."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the only column."""
        return X[:, 0]


class _Classes(ClassifierMixin, BaseEstimator):
    """Predicts the probabilities that it is given, of the classes that there are."""

    def __init__(self, classes: IntArray) -> None:
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: FloatArray) -> IntArray:
        """Return the class with the largest score, of all."""
        return np.asarray(X.argmax(axis=1), dtype=np.intp)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the scores as probabilities."""
        return as_probabilities(X[:, self.classes])
