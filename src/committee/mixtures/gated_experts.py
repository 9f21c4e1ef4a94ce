"""What fitted experts behind a gate predict, numbers or classes: sum_m g_m(x) f_m(x)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray, Member
from committee._validation import fit_context
from committee.distributed import ScoreMixin, lazy_rows
from committee.ensembles import Roster
from committee.export.gated import LinearGate
from committee.mixtures.soft_gates import log_gates, shares, ways
from committee.predictions import predict_all, weighted_by_row
from committee.targets import at_least_two


def _expert_axes(model: GatedExperts) -> tuple[int, ...]:
    """Return the shape of F behind the rows."""
    codes = model._codes()
    return (len(model.experts_), *(() if codes is None else (len(codes),)))


class GatedExperts(BaseEstimator):
    """Fitted experts, and gates in a tree or a classifier that says which answers."""

    experts_: list[Member]
    gates_: list[FloatArray]
    #: A fitted classifier of the experts' numbers; None for gates in a tree.
    gate_: Member | None = None
    _centre: FloatArray
    _scale: FloatArray

    @lazy_rows(tail=lambda model: (len(model.experts_),))
    def gate_weights(self, X: Any) -> FloatArray:
        """Return g(x), the weight of every expert at every x.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        G : array of shape (N, M)
            Rows sum to one.
        """
        return self._gate(self._checked(X))

    @lazy_rows(tail=_expert_axes)
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every expert.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        n_jobs : int, optional
            Experts that predict at the same time.

        Returns
        -------
        F : array of shape (N, M) or (N, M, K)
        """
        return predict_all(
            self.experts_, self._checked(X), classes=self._codes(), n_jobs=n_jobs
        )

    def _combined(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x)."""
        X = self._checked(X)
        F = predict_all(self.experts_, X, classes=self._codes())
        return weighted_by_row(F, self._gate(X))

    def _codes(self) -> IntArray | None:
        """Return the class codes, None for regression."""
        return None

    def _as_roster(self) -> Roster:
        """Return the experts as members, who are not averaged by any weights."""
        check_is_fitted(self)
        return Roster(
            self.experts_,
            None,
            getattr(self, "classes_", None),
            self._codes(),
            arrays=True,
            no_oob_reason=(
                "All its experts were trained on all rows. Give rows that it was not "
                "trained on, without oob."
            ),
        )

    def _linear_gate(self) -> LinearGate:
        """Return the gates as numbers, if they are multinomial regressions."""
        if self.gate_ is not None:
            raise ValueError(
                "to_onnx writes gates that are multinomial regressions, gate=None. "
                f"Got {type(self.gate_).__name__}: use committee.save."
            )
        M = len(self.experts_)
        nodes = list(zip(self.gates_, ways(self.gates_), strict=True))
        return LinearGate(
            np.arange(len(self._centre)),
            self._centre,
            self._scale,
            nodes,
            np.full(M, 1.0 / M),
            1.0,
        )

    def _gate(self, X: FloatArray) -> FloatArray:
        if self.gate_ is not None:
            return shares(self.gate_, X, len(self.experts_))
        G: FloatArray = np.exp(log_gates(self._scaled(X), self.gates_))
        return G

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)  # type: ignore[no-any-return]

    def _scaled(self, X: FloatArray) -> FloatArray:
        """Return a column of ones, and X with mean zero and variance one."""
        Z: FloatArray = np.c_[np.ones(len(X)), (X - self._centre) / self._scale]
        return Z


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
