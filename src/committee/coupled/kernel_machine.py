"""Bases of kernel machines: rows are checked, values become numbers or classes.

Local machines have standard deviations, intervals and sets by leave-one-out.

A classifier turns scores into probabilities by one slope, which is fitted on rows that
the scores did not see:

    p(k | x) = exp(b s_k) / sum_l exp(b s_l),    b > 0

With a single slope the largest score stays the largest probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import Interval, StrOptions, check_size
from committee.cells.bcm import CommitteeTraining
from committee.cells.train import CellTraining
from committee.coupled.gram import in_blocks
from committee.coupled.rows import (
    ChunkedRows,
    Rows,
    check_subsets,
    codes_of,
    label_rows,
    memory_rows,
    regression_rows,
)
from committee.distributed.collections import lazy_rows, refuse_dask
from committee.kernels import KERNELS, Kernel
from committee.probabilities import fit_slope, slope_probabilities
from committee.targets import ClassTargets, NumberTargets, at_least_two
from committee.uncertainty.intervals import constant_interval, rank, scaled_interval
from committee.uncertainty.mixins import KeepsHeldOutRows, SetMixin
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores

#: Every kernel machine takes a kernel and a ridge.
RIDGE_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), None],
    "alpha": [Interval(Real, 0, None, closed="neither")],
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
    #: Of the classes for numbers and for labels.
    _target_rows: Callable[..., Any]
    classes_: Any
    slope_: float

    def _checked(self, check: Callable[..., Rows], X: Any, y: Any, s: Any) -> Any:
        """Return checked rows; `check` is `regression_rows` or `label_rows`."""
        # A fit that fails must not leave the model of the one before.
        self.__dict__.pop(self._fitted_attribute, None)
        cells = f"CellKernel{'Classifier' if is_classifier(self) else 'Regressor'}"
        refuse_dask(
            f"{type(self).__name__} needs all rows in one place: take {cells} for Dask "
            "collections, or compute() as many rows as fit into memory.",
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

    def _given_subsets(
        self, rows: Rows, subsets: Any, n_members: int | None = None
    ) -> list[IntArray] | None:
        """Return given subsets of the rows, checked, or None."""
        if subsets is None:
            return None
        given = check_subsets(subsets, n_members, rows.n_rows, rows.counted())
        if is_classifier(self):
            at_least_two(self.classes_[np.unique(rows.y[np.concatenate(given)])])
        return given

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


_METHODS = ("scaled", "constant")
Training = CellTraining | CommitteeTraining


@dataclass(eq=False, repr=False)
class LocalKernel(MemberMachine):
    """Base of estimators whose members have weights that depend on x."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RIDGE_CONSTRAINTS,
        # None stands for the choice of leave-one-out.
        "kernel": [*RIDGE_CONSTRAINTS["kernel"], None],
        "alpha": [*RIDGE_CONSTRAINTS["alpha"], None],
        "metric": [StrOptions({"learned"}), None],
        "n_jobs": [Integral, None],
    }
    _fitted_attribute = "loo_error_"

    _keep: ClassVar[Callable[..., None]]
    _turn: FloatArray | None = field(init=False)
    subsets_: list[IntArray] = field(init=False)
    kernel_: Kernel = field(init=False)
    alpha_: float = field(init=False)
    loo_error_: float = field(init=False)

    _: KW_ONLY
    metric: str | None = None
    kernel: Any = None
    gamma: float | None = None
    alpha: float | None = None
    n_jobs: int | None = None

    @property
    @abstractmethod
    def _machine(self) -> Any:
        """The fitted model, with `predict`, `n_cells` and `offset`."""

    @property
    def _n_members(self) -> int:
        """M."""
        return int(self._machine.n_cells)

    @property
    def _n_targets(self) -> int:
        """T."""
        return len(self._machine.offset)

    @property
    def metric_(self) -> FloatArray | None:
        """The learned metric, (d, d), with largest entry about one; None if not learned."""
        return None if self._turn is None else self._turn @ self._turn.T

    def _values(self, X: Any) -> FloatArray:
        """Return f, (N, T)."""
        X = self._check_X(X)
        values: FloatArray = self._machine.predict(X, self.n_jobs)
        return values

    def _check_X(self, X: Any) -> FloatArray:
        """Return the rows to predict, X R in the metric R R', once fitted."""
        X = super()._check_X(X)
        turned: FloatArray = X if self._turn is None else X @ self._turn
        return turned


class LocalRegressorMixin(KeepsHeldOutRows, KernelRegressorMixin):
    """Predictions with standard deviations and intervals."""

    _variance: Any
    _held_out_rows: HeldOutResiduals

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return f(x), and its standard deviation with `return_std`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.
        return_std : bool, default=False
            Whether to also return the standard deviation of f at each row. The variance
            of a target is larger by `noise_`. This factorises the members again.

        Returns
        -------
        f : array of shape (N,) or (N, T)
        std : array of the same shape
            Only with `return_std`.
        """
        f: FloatArray = super().predict(X)
        return (f, self._std(X)) if return_std else f

    @lazy_rows(tail=lambda model: model._target_shape)
    def _std(self, X: Any) -> FloatArray:
        """Return the standard deviation of f, shaped like predictions."""
        model: Any = self
        X = model._check_X(X)
        s: FloatArray = self._variance.std(model._machine, X, model.n_jobs)
        return s.reshape(len(s), *self._target_shape)

    @property
    def noise_(self) -> Any:
        """Noise variance around f, a number or an array of shape (T,)."""
        noise = self._variance.noise
        return noise if self._target_shape else float(noise[0])

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "scaled"
    ) -> FloatArray:
        """Return an interval for the target of each row.

        It is computed from leave-one-out residuals R of the training rows, so no
        further data are needed. S is the standard deviation of a target given all
        others.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
        coverage : float, default=0.9
            Fraction of targets to cover, above 0 and below 1.
        method : {"scaled", "constant"}, default="scaled"
            "scaled": wider where the standard deviation is larger, by a quantile of
            R / (S + mean S). "constant": f(x) -+ a quantile of R, as fast as `predict`.

        Returns
        -------
        interval : array of shape (N, 2)
            Lower and upper ends.
        """
        check_is_fitted(self, "loo_error_")
        if self._target_shape:
            raise ValueError(
                "predict_interval supports a single target: fit y of shape (N,)."
            )
        known = self._check_asked("predict_interval", coverage, method, _METHODS)
        rank(len(known.residual), coverage)  # raises for too few rows, before any work
        return self._interval(X, coverage=float(coverage), method=method)

    @lazy_rows(tail=lambda model: (2,))
    def _interval(self, X: Any, *, coverage: float, method: str) -> FloatArray:
        f, known = self.predict(X), self._held_out_rows
        if method == "constant":
            return constant_interval(f, known.residual, coverage)
        s = np.sqrt(self._std(X) ** 2 + self._variance.noise[0])
        return scaled_interval(f, s, known.residual, known.spread, coverage)

    def _keep(self, training: Training, rows: Rows | ChunkedRows) -> None:
        """Store variances, and the residuals for intervals."""
        self.__dict__.pop("_held_out_rows", None)
        self._variance = training.variance
        Y, (f, variance) = training.measured.Y, training.left_out
        if len(f) and not self._target_shape:
            residual = np.abs(Y[:, 0] - f[:, 0])
            spread = np.sqrt(training.variance.scale[0] * variance)
            self._held_out_rows = HeldOutResiduals(residual, spread)


class LocalClassifierMixin(SetMixin, KernelClassifierMixin):
    """Classes with probabilities and sets, by leave-one-out scores."""

    def _keep(self, training: Training, rows: Rows | ChunkedRows) -> None:
        """Fit the slope, and store the scores for sets of classes.

        Rows of the fit are used if leave-one-out scores are missing because rows that
        repeat fill every cell: they are each other's test.
        """
        self.__dict__.pop("_held_out_rows", None)
        f = training.left_out.f
        codes, s = codes_of(training.measured.Y), training.measured.s
        if len(f):
            self.slope_ = fit_slope(both_sides(f), codes, s)
        else:
            X, Y, weight = rows.chunks().sample()
            self.slope_ = fit_slope(self._scores(X), codes_of(Y), weight)
        p = slope_probabilities(both_sides(f), self.slope_)
        every = np.ones(len(p), dtype=bool)
        self._held_out_rows = HeldOutScores.of(p, codes, every, s)

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        return (1.0 + both_sides(outputs)) / 2.0
