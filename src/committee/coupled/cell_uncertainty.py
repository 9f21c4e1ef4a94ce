"""Standard deviations, intervals and sets of classes of cells, from leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray
from committee.cells import CellTraining, CellVariance
from committee.cells.bcm import CommitteeVariance
from committee.cells.chunked_train import ChunkedTraining
from committee.cells.partitioned import PartitionedVariance
from committee.coupled.link import both_sides
from committee.coupled.rows import Rows
from committee.distributed import lazy_rows
from committee.probabilities import slope_probabilities
from committee.uncertainty.intervals import constant_interval, rank, scaled_interval
from committee.uncertainty.mixins import KeepsHeldOutRows, SetMixin
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores

_METHODS = ("scaled", "constant")


def _refuse_random(model: Any, name: str) -> None:
    check_is_fitted(model, ["weights_", "cells_"], all_or_any=any)
    if not hasattr(model, "cells_"):
        raise ValueError(
            f'{name} needs subsets="cells" or a gate: random subsets have neither variances '
            "nor leave-one-out errors."
        )


class CellIntervals(KeepsHeldOutRows):
    """Standard deviations and intervals of a regressor in cells."""

    _variance: CellVariance | PartitionedVariance | CommitteeVariance
    _held_out_rows: HeldOutResiduals

    def _keep_residuals(
        self, training: CellTraining | ChunkedTraining, data: Rows
    ) -> None:
        """Keep what variances and intervals need; `data` are the rows that count."""
        self._variance = training.variance
        rows, f, variance = training.left_out
        if data.Y.shape[1] == 1 and len(rows):
            residual = np.abs(data.Y[rows, 0] - f[:, 0])
            spread = np.sqrt(training.variance.scale[0] * variance)
            self._held_out_rows = HeldOutResiduals(residual, spread)

    @lazy_rows(tail=lambda model: () if model._vector else (model._n_targets,))
    def _std(self, X: Any) -> FloatArray:
        """Return the standard deviation of f, shaped like predictions."""
        _refuse_random(self, "return_std")
        model: Any = self
        X = model._turned(model._check_X(X))
        s = self._variance.std(model.cells_, X, model.n_jobs)
        return s[:, 0] if model._vector else s

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "scaled"
    ) -> FloatArray:
        """Return an interval for the target of each row, of an ensemble in cells.

        It comes from leave-one-out residuals R of the training rows, with S the standard
        deviation of a target given all others; no further data are needed.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
        coverage : float, default=0.9
            The share of targets to lie within, above 0 and below 1.
        method : {"scaled", "constant"}, default="scaled"
            "scaled": wider where the cells are less sure, by a quantile of R / (S + mean
            S). "constant": f(x) -+ a quantile of R, no more work than `predict`.

        Returns
        -------
        interval : array of shape (N, 2)
            Lower and upper ends.
        """
        _refuse_random(self, "predict_interval")
        if not self._vector:  # type: ignore[attr-defined]
            raise ValueError("predict_interval is for one target: fit y of shape (N,).")
        known = self._check_asked("predict_interval", coverage, method, _METHODS)
        rank(len(known.residual), coverage)  # too few rows are told of before any work
        return self._interval(X, coverage=float(coverage), method=method)

    @lazy_rows(tail=lambda model: (2,))
    def _interval(self, X: Any, *, coverage: float, method: str) -> FloatArray:
        f, known = self.predict(X), self._held_out_rows  # type: ignore[attr-defined]
        if method == "constant":
            return constant_interval(f, known.residual, coverage)
        s = np.sqrt(self._std(X) ** 2 + self._variance.noise[0])
        return scaled_interval(f, s, known.residual, known.spread, coverage)


class CellSets(SetMixin):
    """Sets of classes of a classifier in cells."""

    def _keep_scores(
        self, training: CellTraining | ChunkedTraining, counted: Rows, slope: float
    ) -> None:
        """Keep leave-one-out scores of the classes of rows."""
        p = slope_probabilities(both_sides(training.left_out.f), slope)
        every = np.ones(len(p), dtype=bool)
        self._held_out_rows = HeldOutScores.of(p, counted.y, every, counted.s)

    def _check_asked(self, name: str, coverage: Any, method: str, methods: Any) -> Any:
        _refuse_random(self, name)
        return super()._check_asked(name, coverage, method, methods)
