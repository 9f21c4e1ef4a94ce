"""From y to codes, from scores to labels: the mixins of classifiers and regressors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from committee._typing import FloatArray, IntArray
from committee._validation import (
    check_sample_weight,
    check_size,
    fit_context,
    refuse_missing,
)
from committee.distributed.collections import computed, lazy_rows


def require_y(estimator: BaseEstimator, y: Any) -> None:
    """Raise ValueError if y is None."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but "
            "the target y is None."
        )


def labels_of(y: Any) -> Any:
    """Return y as a 1-D array of labels."""
    y = column_or_1d(y, warn=True)
    refuse_missing(y)
    refuse_mixed(y)
    check_classification_targets(y)
    return y


def refuse_mixed(y: Any) -> None:
    """Raise ValueError if labels have types that cannot be sorted together."""
    y = np.asarray(y)
    if y.dtype != object:
        return
    try:
        np.unique(y)
    except TypeError:
        types = sorted({type(label).__name__ for label in y.flat})
        raise ValueError(
            f"y mixes labels of the types {', '.join(types)}, which cannot be sorted. Make "
            "all of them text: [str(label) for label in y]."
        ) from None


def numbers_of(y: Any) -> FloatArray:
    """Return y as a 1-D array of finite numbers. Raises ValueError for labels."""
    return as_numbers(column_or_1d(y, warn=True))


def as_numbers(y: Any) -> FloatArray:
    """Return y in double precision.

    Raises ValueError for labels, missing numbers, and numbers whose squares are infinite.
    """
    refuse_missing(y)
    try:
        y = np.asarray(y).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "A regressor needs numbers as y. Got values such as "
            f"{np.asarray(y)[:3].tolist()}."
        ) from None
    check_size(y, "y")
    return y  # type: ignore[no-any-return]


def at_least_two(classes: Any) -> Any:
    """Return the classes; raise ValueError if there are fewer than two."""
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs at least 2 classes in y. Got 1 class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes


class _Targets:
    """Training steps and score of estimators of classes and of numbers.

    A subclass, or a later class in its order of bases, has the methods below, which take
    rows in memory.
    """

    #: y -> y as an array; it raises ValueError for y of the wrong kind.
    _check_y: Callable[[Any], Any]
    #: X -> scores of the rows, (N, K) of classes or (N, T) of targets.
    _scores: Callable[[Any], FloatArray]
    predict: Callable[[Any], Any]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R^2 of a regressor.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
        y : array-like of shape (N,) or (N, T), or a Dask collection
        sample_weight : array-like of shape (N,), default=None
            Sample weights.

        Returns
        -------
        float
            Accuracy, or R^2, averaged over targets.
        """
        predicted, y, s = computed(self.predict(X), y, sample_weight)
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, predicted, sample_weight=s))


class ClassTargets(_Targets, ClassifierMixin):
    """An estimator of classes: labels become codes, scores become labels.

        y_n = classes_[c_n],    s = _scores(x),    p = _probabilities(s)
        predict(x) = classes_[argmax_k s_k]

    A subclass writes `_scores`, (N, K). It overrides `_probabilities` where scores are
    not probabilities, and `_decided` where the largest score does not decide.
    """

    classes_: Any
    _check_y = staticmethod(labels_of)

    def _encoded(self, y: Any) -> tuple[IntArray, int]:
        """Store the classes; return codes (N,) and K."""
        self.classes_, codes = np.unique(self._check_y(y), return_inverse=True)
        return codes, len(at_least_two(self.classes_))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return probabilities (N, K) of the scores (N, K)."""
        return scores

    def _decided(self, scores: FloatArray) -> IntArray:
        """Return class codes (N,) of the scores (N, K)."""
        codes: IntArray = scores.argmax(axis=1)
        return codes

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, with columns in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        p : array of shape (N, K)
        """
        scores = self._scores(X)
        return self._probabilities(scores)

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the label of the largest score.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        labels : array of shape (N,)
        """
        codes = self._decided(self._scores(X))
        return self.classes_[codes]


class NumberTargets(_Targets, RegressorMixin):
    """An estimator of numbers, one target or several.

        predict(x) = _scores(x), shaped like y: (N,) or (N, T)

    A subclass writes `_scores`, (N,) or (N, T). One that takes several targets sets
    `_several_targets = True`, and in `fit` sets `_target_shape = y.shape[1:]`.
    """

    _check_y = staticmethod(numbers_of)
    #: Shape of the target of one row.
    _target_shape: tuple[int, ...] = ()
    _several_targets = False

    def _encoded(self, y: Any) -> tuple[FloatArray, None]:
        """Return y (N,) as numbers, and no classes."""
        return self._check_y(y), None

    @lazy_rows(tail=lambda model: model._target_shape)
    def predict(self, X: Any) -> FloatArray:
        """Return the predicted numbers.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        f : array of shape (N,) or (N, T)
            Shaped like the y of `fit`.
        """
        f = self._scores(X)
        return f.reshape(len(f), *self._target_shape)

    def __sklearn_tags__(self) -> Any:
        """Declare whether y may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags


class FitsArrays(BaseEstimator):
    """An estimator, of either targets, that is trained on checked arrays in memory."""

    #: y -> codes (N,) and K, or numbers (N,) and None.
    _encoded: Callable[[Any], tuple[Any, int | None]]
    #: (X, reset=bool) -> X as an array (N, d); with reset, its columns are stored.
    _check_X: Callable[..., Any]
    #: (X, y, n_classes, sample_weight) -> self, trained on checked arrays.
    _fit: Callable[..., Self]

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
            Numbers, or labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.

        Returns
        -------
        self
        """
        require_y(self, y)
        X = self._check_X(X, reset=True)
        y, n_classes = self._encoded(y)
        check_consistent_length(X, y)
        s = check_sample_weight(sample_weight, X)
        return self._fit(X, y, n_classes, s)
