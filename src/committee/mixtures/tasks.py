"""What gated experts do with numbers, and with classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import fit_context
from committee.distributed import ScoreMixin, lazy_rows
from committee.mixtures.gated_experts import GatedExperts
from committee.targets import at_least_two


class NumberTask(ScoreMixin, RegressorMixin, GatedExperts):
    """Experts that predict numbers."""

    _default_expert: ClassVar[Any] = LinearRegression()
    #: Writes what is learned: X, y or codes, sample weights, class codes or None.
    _fit: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the experts and their gate.

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
        return self._fit(X, y.astype(np.float64), sample_weight, None)  # type: ignore[no-any-return]

    @lazy_rows()
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


class ClassTask(ScoreMixin, ClassifierMixin, GatedExperts):
    """Experts that give class probabilities, or vote."""

    _default_expert: ClassVar[Any] = LogisticRegression(max_iter=1000)
    classes_: Any
    _fit: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the experts and their gate.

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
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        at_least_two(self.classes_)
        return self._fit(X, codes, sample_weight, np.arange(len(self.classes_)))  # type: ignore[no-any-return]

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) p_m(k | x), columns in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (N, n_features)

        Returns
        -------
        p : array of shape (N, K)
        """
        # Rounding makes a sum of weights 1 + 2e-16, which scikit-learn's log_loss refuses.
        return np.minimum(self._combined(X), 1.0)

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
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
