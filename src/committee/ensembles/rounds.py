"""A round of a booster as a member of a committee."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from committee._typing import FloatArray

#: Yields the raw values (N, T) of the rounds, one after the other.
Stages = Callable[[Any], Iterator[FloatArray]]

#: Losses and objectives whose rounds add up to the prediction itself.
_REGRESSION = {
    *("squared_error", "absolute_error", "huber"),
    *("regression", "regression_l1", "fair", "mape"),
    *("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"),
}
#: Those whose rounds add up to log odds.
_CLASSIFICATION = {
    *("log_loss", "exponential"),
    *("binary", "multiclass"),
    *("binary:logistic", "multi:softprob", "multi:softmax"),
}


@dataclass(frozen=True)
class Shared:
    """What all rounds of one booster share.

        raw(x) = start(x) + sum_m h_m(x)

    Attributes
    ----------
    n_rounds : int
        M, the rounds that the booster itself uses.
    start : array of shape (T,) or None
        T is 1, or K for more than two classes. None where start depends on x.
    classes : array of shape (K,) or None
        None for regression.
    slope : float
        Log odds for each unit of raw.
    shell : estimator or None
        The user's estimator without its rounds, where the library keeps these in an
        object of their own.
    """

    n_rounds: int
    start: FloatArray | None
    classes: Any = None
    slope: float = 1.0
    shell: Any = None

    @property
    def missing(self) -> Any:
        """What XGBoost takes for a missing value."""
        return getattr(self.shell, "missing", np.nan)

    def zeros(self, X: Any) -> FloatArray:
        """Return a start of zeros as XGBoost takes it, (N,) or (N, T).

        It stands in for the base score: in single precision a small h would drown
        in a large start.
        """
        N = X.shape[0] if hasattr(X, "shape") else len(X)
        K = 0 if self.classes is None else len(self.classes)
        return np.zeros((N, K) if K > 2 else N, dtype=np.float32)

    def spoken(self, raw: FloatArray) -> FloatArray:
        """Return raw values (N, T) as predictions (N,) or class scores (N, K).

        With s the raw scores of the classes, centred,

            F_k = (1 + s_k) / K,

        the softmax of s to first order. Rows sum to one, and softmax(K F) is the
        softmax of s exactly.
        """
        if self.classes is None:
            return raw[:, 0]
        s = self.slope * raw
        if s.shape[1] == 1:
            s = s * [-0.5, 0.5]
        s = s - s.mean(axis=1, keepdims=True)
        return (1.0 + s) / s.shape[1]  # type: ignore[no-any-return]


class Round(ABC, BaseEstimator):
    """One round of a booster, raised to speak for the whole.

        f_m(x) = start(x) + M h_m(x)

    The mean of the M rounds is the booster: equal weights give its own predictions.

    Parameters
    ----------
    model : the booster, cut down to this round
    shared : Shared
        What it shares with the other rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee.ensembles.boosters import booster_roster
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    >>> rounds = booster_roster(model).members
    >>> f = np.mean([member.predict(X) for member in rounds], axis=0)
    >>> bool(np.allclose(f, model.predict(X)))
    True
    """

    def __init__(self, model: Any, shared: Shared) -> None:
        self.model = model
        self.shared = shared

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: a round is trained with its booster."""
        return self

    def scores(self, X: Any) -> FloatArray:
        """Return F of a classifier, (N, K): rows sum to one, entries may be negative."""
        return self.shared.spoken(self.raw(X))

    def predict(self, X: Any) -> Any:
        """Return f_m, or the class with the largest score."""
        spoken = self.shared.spoken(self.raw(X))
        if self.shared.classes is None:
            return spoken
        return self.shared.classes[spoken.argmax(axis=1)]

    @abstractmethod
    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""

    @property
    def classes_(self) -> Any:
        """The booster's classes."""
        if self.shared.classes is None:
            raise AttributeError("A round of a regression booster has no classes.")
        return self.shared.classes

    def __sklearn_is_fitted__(self) -> bool:
        """Hold a fitted round from the start."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Be what the booster is, for any X that it takes."""
        tags = super().__sklearn_tags__()
        regression = self.shared.classes is None
        tags.estimator_type = "regressor" if regression else "classifier"
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class GradientRound(Round):
    """A round of GradientBoosting*; start(x) is the model's own `init_`."""

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""
        raised = copy.copy(self.model)
        raised.learning_rate = self.shared.n_rounds * self.model.learning_rate
        return raw_predictions(raised, X)


class IncrementRound(Round):
    """A round that says h_m by itself; start is a constant."""

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""
        h = np.asarray(self._increment(X), dtype=np.float64)
        start = np.asarray(self.shared.start)
        raw: FloatArray = start + self.shared.n_rounds * h.reshape(len(h), -1)
        return raw

    @abstractmethod
    def _increment(self, X: Any) -> FloatArray:
        """Return h_m."""


class HistGradientRound(IncrementRound):
    """A round of HistGradientBoosting*, cut down to start at zero."""

    def _increment(self, X: Any) -> FloatArray:
        return raw_predictions(self.model, X)


class LightGBMRound(IncrementRound):
    """A round of a LightGBM model; `model` is a lightgbm.Booster."""

    def _increment(self, X: Any) -> FloatArray:
        h: FloatArray = self.model.predict(X, raw_score=True)
        return h


class XGBoostRound(IncrementRound):
    """A round of an XGBoost model; `model` is an xgboost.Booster."""

    def _increment(self, X: Any) -> FloatArray:
        h: FloatArray
        try:
            h = self.model.inplace_predict(
                X,
                predict_type="margin",
                base_margin=self.shared.zeros(X),
                missing=self.shared.missing,
            )
        except TypeError:  # the faster way does not take all kinds of X
            rows = margin_rows(self.model, self.shared, X)
            h = self.model.predict(rows, output_margin=True)
        return h


def margin_rows(booster: Any, shared: Shared, X: Any, *, from_zero: bool = True) -> Any:
    """Return X as an xgboost.DMatrix, from which a model may start at zero."""
    from xgboost import DMatrix

    names = {}
    if not hasattr(X, "columns"):
        names = {
            "feature_names": booster.feature_names,
            "feature_types": booster.feature_types,
        }
    return DMatrix(
        X,
        base_margin=shared.zeros(X) if from_zero else None,
        missing=shared.missing,
        enable_categorical=True,
        **names,
    )


def raw_predictions(model: Any, X: Any) -> FloatArray:
    """Return what a booster of scikit-learn says before its link, (N, T)."""
    speak = getattr(model, "decision_function", model.predict)
    raw: FloatArray = speak(X)
    return raw.reshape(len(raw), -1)


def checked_classes(model: Any, option: str, value: str) -> Any:
    """Return the classes, None for regression; refuse what cannot be re-weighed."""
    bare = not hasattr(model, "fit")  # a library's own object, for any task
    if value in _REGRESSION and (bare or is_regressor(model)):
        return None
    if value in _CLASSIFICATION and (bare or is_classifier(model)):
        return () if bare else model.classes_
    reason = "they add up to its predictions neither directly nor as log odds"
    if "quantile" in value:
        reason = "weights for the mean would not keep the quantile"
    raise refusal(model, option, value, reason)


def refusal(model: Any, option: str, value: Any, reason: str) -> ValueError:
    """Return the error that says which option is in the way, and why."""
    return ValueError(
        f"The rounds of a {type(model).__name__} with {option}={value!r} cannot be "
        f"re-weighed: {reason}. Train it with plain boosting and squared error, "
        "absolute error or Huber loss, or for classes log loss."
    )
