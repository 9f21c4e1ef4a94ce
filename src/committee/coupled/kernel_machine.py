"""Regressors and classifiers of kernel machines: predictions, scores, probabilities.

A classifier turns scores into probabilities by one slope, which is fitted on rows that
the scores did not see:

    p(k | x) = exp(b s_k) / sum_l exp(b s_l),    b > 0

With a single slope the largest score stays the largest probability.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from committee._typing import FloatArray
from committee._validation import Interval, StrOptions
from committee.distributed import ScoreMixin, lazy_rows
from committee.kernels import KERNELS

#: Every kernel machine takes a kernel and a ridge.
RIDGE_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "degree": [Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "alpha": [Interval(Real, 0, None, closed="neither")],
}
#: The same where None stands for the choice of leave-one-out.
CHOSEN_CONSTRAINTS: dict[str, Any] = {
    **RIDGE_CONSTRAINTS,
    "kernel": [*RIDGE_CONSTRAINTS["kernel"], None],
    "alpha": [*RIDGE_CONSTRAINTS["alpha"], None],
}


def target_axes(model: Any) -> tuple[int, ...]:
    """Return the shape of a regressor's prediction for one row."""
    return () if model._vector else (model._n_targets,)


def score_axes(model: Any) -> tuple[int, ...]:
    """Return the shape of a classifier's decision function for one row."""
    return () if len(model.classes_) == 2 else (len(model.classes_),)


def both_sides(f: FloatArray) -> FloatArray:
    """Return one value for each class, (..., K): of a single value f, -f and f."""
    return np.concatenate([-f, f], axis=-1) if f.shape[-1] == 1 else f


class KernelRegressorMixin(ScoreMixin, RegressorMixin):
    """A regressor of one target or several; its predictions are shaped like y."""

    _vector: bool
    #: Returns f, (N, T), for rows X; defined by the machine.
    _values: Callable[[Any], FloatArray]

    @lazy_rows(tail=target_axes)
    def predict(self, X: Any) -> FloatArray:
        """Return f.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        f : array of shape (N,) or (N, T)
        """
        f = self._values(X)
        return f[:, 0] if self._vector else f

    def __sklearn_tags__(self) -> Any:
        """Take several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class KernelClassifierMixin(ScoreMixin, ClassifierMixin):
    """A classifier by scores: the largest decides, the slope makes probabilities."""

    classes_: Any
    slope_: float
    #: Returns f, (N, 1) for two classes, else (N, K); defined by the machine.
    _values: Callable[[Any], FloatArray]

    def _scores(self, X: Any) -> FloatArray:
        """Return s_k, (N, K)."""
        return both_sides(self._values(X))

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the class with the largest score.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        labels : array of shape (N,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities by the calibrated slope.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        p : array of shape (N, K)
        """
        scores = self._scores(X)  # raises where there is no slope yet
        p: FloatArray = softmax(self.slope_ * scores, axis=1)
        return p

    @lazy_rows(tail=score_axes)
    def decision_function(self, X: Any) -> FloatArray:
        """Return f, for two classes the value of the second.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        f : array of shape (N,) or (N, K)
        """
        s = self._scores(X)
        return s[:, 1] if len(self.classes_) == 2 else s
