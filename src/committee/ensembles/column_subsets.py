"""A member that looks at some of the columns only."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if

from committee._typing import FloatArray, IntArray, Member
from committee._validation import safe_indexing


class OnFeatures(MetaEstimatorMixin, BaseEstimator):
    """A member that is trained on features made of X, and predicts from them.

    f(x) = f_member(phi(x)); a subclass writes phi as `_features`.
    """

    estimator: Member

    @abstractmethod
    def _features(self, X: Any) -> Any:
        """Return phi of every row."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the estimator on its features."""
        self.estimator.fit(self._features(X), y, **fit_params)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Return the estimator's predictions from its features."""
        return self.estimator.predict(self._features(X), **options)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **options: Any) -> FloatArray:
        """Return the estimator's probabilities from its features."""
        p: FloatArray = self.estimator.predict_proba(self._features(X), **options)
        return p

    @property
    def classes_(self) -> Any:
        """The estimator's classes."""
        return self.estimator.classes_

    def __sklearn_is_fitted__(self) -> bool:
        """Hold a fitted estimator from the start."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Be what the estimator is."""
        return self.estimator.__sklearn_tags__()


class OnColumns(OnFeatures):
    """A fitted estimator and the columns of X that it was trained on.

    f(x) = f_member(x[columns])
    """

    def __init__(self, estimator: Member, columns: IntArray) -> None:
        self.estimator = estimator
        self.columns = columns

    def _features(self, X: Any) -> Any:
        if isinstance(X, list):
            X = np.asarray(X)
        return safe_indexing(X, self.columns, axis=1)
