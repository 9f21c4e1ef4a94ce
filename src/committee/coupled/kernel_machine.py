"""Bases of kernel machines: rows are checked, values become numbers or classes.

A classifier turns scores into probabilities by one slope, which is fitted on rows that
the scores did not see:

    p(k | x) = exp(b s_k) / sum_l exp(b s_l),    b > 0

With a single slope the largest score stays the largest probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray
from committee._validation import Interval, StrOptions, check_size
from committee.coupled.expansion import in_blocks
from committee.coupled.rows import Rows, label_rows, memory_rows, regression_rows
from committee.distributed import lazy_rows, refuse_dask
from committee.kernels import KERNELS
from committee.probabilities import slope_probabilities
from committee.targets import ClassTargets, NumberTargets

#: Every kernel machine takes a kernel and a ridge.
RIDGE_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "alpha": [Interval(Real, 0, None, closed="neither")],
}
#: The same where None stands for the choice of leave-one-out.
CHOSEN_CONSTRAINTS: dict[str, Any] = {
    **RIDGE_CONSTRAINTS,
    "kernel": [*RIDGE_CONSTRAINTS["kernel"], None],
    "alpha": [*RIDGE_CONSTRAINTS["alpha"], None],
}


def score_axes(model: Any) -> tuple[int, ...]:
    """Return the shape of a classifier's decision function for one row."""
    return () if len(model.classes_) == 2 else (len(model.classes_),)


def _member_axes(model: Any) -> tuple[int, ...]:
    one_row = np.zeros((1, model._n_members, model._n_targets))
    return model._member_view(one_row).shape[1:]  # type: ignore[no-any-return]


def both_sides(f: FloatArray) -> FloatArray:
    """Return one value for each class, (..., K): of a single value f, -f and f."""
    return np.concatenate([-f, f], axis=-1) if f.shape[-1] == 1 else f


class KernelMachine(BaseEstimator):
    """Base of estimators that check rows to fit and to predict.

    A machine has `_values`, which returns f, (N, T), of rows X: T targets, one for two
    classes, or one for each of more classes.
    """

    #: The attribute that only a fitted machine has.
    _fitted_attribute: ClassVar[str]

    def _checked(self, check: Callable[..., Rows], X: Any, y: Any, s: Any) -> Any:
        """Return checked rows; `check` is `regression_rows` or `label_rows`."""
        # A fit that fails must not leave the model of the one before.
        self.__dict__.pop(self._fitted_attribute, None)
        cells = f"CellKernel{'Classifier' if is_classifier(self) else 'Regressor'}"
        refuse_dask(
            f"{type(self).__name__} needs all rows in one place: take {cells} for Dask "
            "collections, or compute() as many rows as fit.",
            *(X, y, s),
        )
        return memory_rows(self, check, X, y, s)

    def _check_X(self, X: Any) -> FloatArray:
        """Return the rows to predict, once fitted."""
        check_is_fitted(self, self._fitted_attribute)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        check_size(X, "X")
        return X  # type: ignore[no-any-return]


class MemberMachine(KernelMachine):
    """Base of machines that consist of members."""

    @property
    @abstractmethod
    def _n_members(self) -> int:
        """M."""

    @property
    @abstractmethod
    def _n_targets(self) -> int:
        """T."""

    @abstractmethod
    def _outputs(self, X: FloatArray) -> FloatArray:
        """Return the outputs of every member on checked rows, (N, M, T)."""

    @abstractmethod
    def _member_view(self, outputs: FloatArray) -> FloatArray:
        """Return F of the outputs, (N, M, T)."""

    @lazy_rows(tail=_member_axes)
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every member for every row.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.
        n_jobs : int, default=None
            Ignored: BLAS uses its own threads.

        Returns
        -------
        F : array of shape (N, M), (N, M, T) or (N, M, K)
            For classifiers one-hot votes of coupled members, otherwise (1 + f) / 2.
        """
        X = self._check_X(X)
        width = self._n_members * self._n_targets
        return in_blocks(X, width, lambda rows: self._member_view(self._outputs(rows)))


class KernelRegressorMixin(NumberTargets):
    """A regressor of one target or several; its predictions are shaped like y."""

    _several_targets = True
    _checked: Callable[..., Any]
    _values: Callable[[Any], FloatArray]

    def _target_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the checked rows of a fit."""
        rows = self._checked(regression_rows, X, y, sample_weight)
        self._target_shape = rows.target_shape
        return rows

    def _scores(self, X: Any) -> FloatArray:
        """Return f, (N, T)."""
        return self._values(X)

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        """Return F, (N, M) or (N, M, T)."""
        return outputs.reshape(*outputs.shape[:2], *self._target_shape)


class KernelClassifierMixin(ClassTargets):
    """A classifier by scores: the largest decides, the slope makes probabilities."""

    slope_: float
    _checked: Callable[..., Any]
    _values: Callable[[Any], FloatArray]

    def _target_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return the checked rows of a fit, with class codes and targets +-1."""
        rows = self._checked(label_rows, X, y, sample_weight)
        self.classes_ = rows.classes()
        return rows.coded(self.classes_)

    def _scores(self, X: Any) -> FloatArray:
        """Return s_k, (N, K)."""
        return both_sides(self._values(X))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return exp(b s_k) / sum_l exp(b s_l), (N, K)."""
        return slope_probabilities(scores, self.slope_)

    def _of_second(self, s: FloatArray) -> FloatArray:
        """Return the value f of the second of two classes, (N,), of scores (N, 2)."""
        return s[:, 1]

    @lazy_rows(tail=score_axes)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores s_k; one value for two classes, positive for the second.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        s : array of shape (N,) or (N, K)
        """
        s = self._scores(X)
        return self._of_second(s) if len(self.classes_) == 2 else s
