"""Kernel machines on parts of the rows, combined differently at each x.

Cells and Bayesian committee machines share standard deviations, intervals and sets of
classes, all of which come from leave-one-out.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray
from committee.cells.bcm import CommitteeTraining
from committee.cells.row_chunks import RowChunks
from committee.cells.train import CellTraining
from committee.coupled.kernel_machine import (
    KernelClassifierMixin,
    KernelRegressorMixin,
    MemberMachine,
    both_sides,
)
from committee.coupled.rows import codes_of
from committee.distributed import lazy_rows
from committee.kernels import Kernel
from committee.probabilities import fit_slope, slope_probabilities
from committee.uncertainty.intervals import constant_interval, rank, scaled_interval
from committee.uncertainty.mixins import KeepsHeldOutRows, SetMixin
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores

_METHODS = ("scaled", "constant")
Training = CellTraining | CommitteeTraining


class LocalKernel(MemberMachine):
    """Base of estimators whose members have weights that depend on x."""

    _fitted_attribute = "loo_error_"

    n_jobs: int | None
    _turn: FloatArray | None
    subsets_: list[IntArray]
    kernel_: Kernel
    alpha_: float
    loo_error_: float

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

    def _keep(self, training: Training) -> None:
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

    def _keep(self, training: Training, rows: RowChunks) -> None:
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
            X, Y, weight = rows.sample()
            self.slope_ = fit_slope(self._scores(X), codes_of(Y), weight)
        p = slope_probabilities(both_sides(f), self.slope_)
        every = np.ones(len(p), dtype=bool)
        self._held_out_rows = HeldOutScores.of(p, codes, every, s)

    def _member_view(self, outputs: FloatArray) -> FloatArray:
        return (1.0 + both_sides(outputs)) / 2.0
