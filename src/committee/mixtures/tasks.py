"""What a mixture does with numbers, and with classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import fit_context
from committee.mixtures.base import BaseMixture


class RegressionMixture(RegressorMixin, BaseMixture):
    """A mixture whose experts predict numbers, with Gaussian noise."""

    _default_expert = LinearRegression()

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit experts and gates by EM.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return self._fit(X, y.astype(np.float64), sample_weight, None)

    def predict(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x).

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        f_ens : array of shape (N,)
        """
        return self._combined(X)


class ClassMixture(ClassifierMixin, BaseMixture):
    """A mixture whose experts give class probabilities."""

    _default_expert = LogisticRegression(max_iter=1000)
    classes_: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit experts and gates by EM.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
            Labels of any type.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        if self.expert is not None and not hasattr(self.expert, "predict_proba"):
            raise ValueError(
                "EM needs the probabilities of classes: expert must have predict_proba. "
                f"{type(self.expert).__name__} does not."
            )
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "A classifier needs at least 2 classes in y. Got 1 class: "
                f"{self.classes_.tolist()[0]!r}."
            )
        return self._fit(X, codes, sample_weight, np.arange(len(self.classes_)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) p_m(k | x), columns in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        p : array of shape (N, K)
        """
        return self._combined(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        labels : array of shape (N,)
        """
        check_is_fitted(self)
        return self.classes_[self._combined(X).argmax(axis=1)]

    def _codes(self) -> IntArray | None:
        return np.arange(len(self.classes_))
