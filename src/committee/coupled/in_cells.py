"""Coupled ensembles whose subsets are cells: what the two estimators share."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells import CellModel, CellOptions, CellTraining, train_cells
from committee.cells.chunked_train import ChunkedTraining, train_chunked
from committee.cells.metric import learn_metric
from committee.cells.partitioned import PartitionedModel
from committee.cells.train import COUPLINGS
from committee.coupled.cells_in_chunks import CellsInChunks, looked_rows
from committee.coupled.chunked_rows import ChunkedRows
from committee.coupled.copies import warn_of_copies
from committee.coupled.rows import Rows
from committee.kernels import Kernel

#: What None stands for where subsets are random; cells choose by leave-one-out.
RANDOM_DEFAULTS = {"kernel": "rbf", "alpha": 1.0, "coupling": 1.0, "n_coupling": 0.1}
#: Points of a cell on its borders, unless given.
_BORDER_POINTS = 32
#: Options that have a meaning for cells only, or for random subsets only.
_CELLS_ONLY = ("max_cell", "metric", "precision")
_RANDOM_ONLY = (
    *("n_members", "coupling_set", "topology", "overlap", "solver"),
    *("allow_indefinite", "combiner", "weigh_on", "n_weighing"),
)


class InCells(CellsInChunks):
    """An ensemble that can be fitted in cells instead of random subsets."""

    subsets: str
    max_cell: int
    metric: str | None
    _turn: FloatArray | None
    members_: list[Any]
    dual_coef_: FloatArray
    cells_: CellModel | PartitionedModel
    subsets_: list[IntArray]
    kernel_: Kernel
    alpha_: float
    coupling_: float
    loo_error_: float
    coupling_points_: FloatArray
    n_iter_: int
    converged_: bool

    @property
    def _n_machines(self) -> int:
        """M."""
        in_cells = hasattr(self, "cells_")
        return self.cells_.tree.n_cells if in_cells else len(self.members_)

    @property
    def _n_targets(self) -> int:
        """T."""
        in_cells = hasattr(self, "cells_")
        return len(self.cells_.offset) if in_cells else int(self.dual_coef_.shape[1])

    def _option(self, name: str) -> Any:
        """Return a parameter, with its value for random subsets where it is None."""
        value = getattr(self, name)
        return RANDOM_DEFAULTS[name] if value is None else value

    def _train_cells(
        self, rows: Rows | ChunkedRows, X_coupling: Any, subsets: Any
    ) -> tuple[CellTraining | ChunkedTraining, Rows]:
        """Fit the cells, and keep what they are made of; return also the rows that count.

        The numbers of rows in the training are those of the rows that count, for chunks
        of those that leave-one-out is of.
        """
        self.__dict__.pop("_held_out_rows", None)
        self.__dict__.pop("cells_", None)
        self._refuse_random_options(X_coupling, subsets)
        training, data = self._trained_cells(rows)
        self.kernel_ = training.model.kernel
        self.alpha_, self.coupling_ = training.alpha, training.coupling
        self.coupling_points_ = training.borders.points
        self.n_iter_ = max(training.joint.n_iter, 1)
        self.converged_ = training.joint.converged
        self.loo_error_ = training.errors[training.coupling]
        return training, data

    def _trained_cells(
        self, rows: Rows | ChunkedRows
    ) -> tuple[CellTraining | ChunkedTraining, Rows]:
        """Fit the cells; return the training and the rows that leave-one-out is of."""
        options = self._cell_options()
        self._turn = None
        if isinstance(rows, ChunkedRows):
            self.__dict__.pop("subsets_", None)
            chunks = rows.counted()
            if self.metric == "learned":
                self._turn = learn_metric(*chunks.sample(), options)
            chunked = train_chunked(chunks.turned(self._turn), options)
            self.cells_, kept = self._kept_cells(chunked)
            return kept, looked_rows(chunked.looked, rows)
        counted = rows.counted()
        data = rows.take(counted)
        warn_of_copies(data.X, data.Y)
        if self.metric == "learned":
            self._turn = learn_metric(data.X, data.Y, data.s, options)
        data = data._replace(X=self._turned(data.X))
        training = train_cells(data.X, data.Y, data.s, options)
        self.cells_ = training.model
        self.subsets_ = [counted[cell] for cell in training.cells]
        return training, data

    def _cell_options(self, couplings: Sequence[float] | None = None) -> CellOptions:
        """Return the options of a fit; couplings take the place of the parameter."""
        given: Any = self
        if couplings is None:
            couplings = COUPLINGS if given.coupling is None else (given.coupling,)
        n = given.n_coupling
        if n is None:
            n = _BORDER_POINTS
        elif not isinstance(n, Integral):
            n = max(1, round(n * self.max_cell))
        return CellOptions(
            max_cell=self.max_cell,
            kernel=given.kernel,
            gamma=given.gamma,
            alpha=given.alpha,
            couplings=couplings,
            n_coupling=int(n),
            degree=given.degree,
            coef0=given.coef0,
            precision=given.precision,
            tol=given.tol,
            max_iter=given.max_iter,
            n_jobs=given.n_jobs,
        )

    def _refuse_random_options(self, X_coupling: Any, subsets: Any) -> None:
        """Refuse what would silently do nothing."""
        changed = self._changed(_RANDOM_ONLY)
        if X_coupling is not None:
            changed.append("X_coupling")
        if subsets is not None:
            changed.append("subsets at fit")
        if changed:
            raise ValueError(
                f"{', '.join(changed)} {'is' if len(changed) == 1 else 'are'} for "
                'subsets="random": cells are made by max_cell, coupled on their borders, '
                "and weighed by where a row is."
            )

    def _refuse_cell_options(self) -> None:
        """Refuse what would silently do nothing for random subsets."""
        if changed := self._changed(_CELLS_ONLY):
            raise ValueError(
                f"{', '.join(changed)} {'is' if len(changed) == 1 else 'are'} for "
                'subsets="cells": random subsets are made by n_members.'
            )

    def _changed(self, names: Sequence[str]) -> list[str]:
        """Return those of the options that are not as they come."""
        defaults = inspect.signature(type(self)).parameters
        return [
            name
            for name in names
            if getattr(self, name) is not defaults[name].default
            and getattr(self, name) != defaults[name].default
        ]

    def _turned(self, X: FloatArray) -> FloatArray:
        """Return X as cells and kernels see it: X R in the metric R R'."""
        return X if self._turn is None else X @ self._turn

    @property
    def metric_(self) -> FloatArray | None:
        """The learned metric, (d, d), largest entry about one; None where there is none."""
        return None if self._turn is None else self._turn @ self._turn.T

    def _all_cells(self, X: FloatArray) -> FloatArray:
        """Return the outputs of every cell on every row, (N, M, T)."""
        model, X = self.cells_, self._turned(X)
        if not isinstance(model, CellModel):
            raise TypeError(
                "This asks every cell about every row, and the cells of this model are on "
                "workers: call gather() first."
            )
        values = [model.cell_values(c, X) for c in range(model.tree.n_cells)]
        return np.stack(values, axis=1) + model.offset
