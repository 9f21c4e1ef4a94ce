"""Coupled ensembles whose subsets are cells: what the two estimators share."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee.cells import CellModel, CellOptions, CellTraining, grow_tree
from committee.cells.bcm import CommitteeMachine
from committee.cells.chunked_train import ChunkedTraining
from committee.cells.metric import learn_metric
from committee.cells.model import base_of
from committee.cells.partitioned import PartitionedModel
from committee.cells.train import COUPLINGS
from committee.cells.train_bcm import train_committee
from committee.cells.with_trend import train_around_trend, train_chunked_around_trend
from committee.coupled.cells_in_chunks import CellsInChunks, looked_rows
from committee.coupled.chunked_rows import ChunkedRows
from committee.coupled.copies import warn_of_copies
from committee.coupled.rows import Rows
from committee.coupled.sampling import check_subsets, draw_subsets, split_rows
from committee.kernels import Kernel, warn_of_scales

#: What None stands for where subsets are random; cells choose by leave-one-out.
RANDOM_DEFAULTS = {"kernel": "rbf", "alpha": 1.0, "coupling": 1.0, "n_coupling": 0.1}
#: Rows of Dask collections that are looked at for unlike scales of columns.
_SCALE_ROWS = 1000
#: Points of a cell on its borders, unless given.
_BORDER_POINTS = 32
#: Options that have a meaning for cells only, or for random subsets only.
_CELLS_ONLY = ("max_cell", "metric", "trend", "precision")
_LAYERS_ONLY = (
    *("coupling_set", "topology", "overlap", "solver"),
    *("allow_indefinite", "combiner", "weigh_on", "n_weighing"),
)
_RANDOM_ONLY = ("n_members", *_LAYERS_ONLY)
#: Those of members that are coupled, which experts of a gate are not.
_COUPLED_ONLY = ("trend", "coupling", "n_coupling", *_LAYERS_ONLY)


class InCells(CellsInChunks):
    """An ensemble that can be fitted in cells instead of random subsets."""

    n_members: int
    subsets: str
    max_cell: int
    metric: str | None
    trend: bool | None
    gate: str | None
    random_state: RandomState
    _turn: FloatArray | None
    members_: list[Any]
    dual_coef_: FloatArray
    cells_: CellModel | PartitionedModel | CommitteeMachine
    subsets_: list[IntArray]
    kernel_: Kernel
    alpha_: float
    coupling_: float
    trend_: bool
    loo_error_: float
    coupling_points_: FloatArray
    n_iter_: int
    converged_: bool

    @property
    def _n_machines(self) -> int:
        """M."""
        in_cells = hasattr(self, "cells_")
        return self.cells_.n_cells if in_cells else len(self.members_)

    @property
    def _in_cells(self) -> bool:
        """Whether weights depend on x, and everything is chosen by leave-one-out."""
        return self.subsets == "cells" or self.gate is not None

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
        if self.gate is None:
            self._refuse_random_options(X_coupling, subsets)
        else:
            self._refuse_coupled_options(X_coupling, subsets)
        training, data = self._trained_cells(rows, subsets)
        self.kernel_ = training.model.kernel
        self.alpha_, self.coupling_ = training.alpha, training.coupling
        self.trend_ = training.model.trend is not None
        self.coupling_points_ = training.borders.points
        self.n_iter_ = max(training.joint.n_iter, 1)
        self.converged_ = training.joint.converged
        self.loo_error_ = training.errors[training.coupling]
        return training, data

    def _trained_cells(
        self, rows: Rows | ChunkedRows, subsets: Any
    ) -> tuple[CellTraining | ChunkedTraining, Rows]:
        """Fit the cells; return the training and the rows that leave-one-out is of."""
        given: Any = self
        options = self._cell_options()
        self._turn = None
        if isinstance(rows, ChunkedRows):
            self.__dict__.pop("subsets_", None)
            chunks = rows.counted()
            if given.gamma is None:
                warn_of_scales(chunks.some(_SCALE_ROWS).X, given.kernel)
            if self.metric == "learned":
                self._turn = learn_metric(*chunks.sample(), options)
            chunked = train_chunked_around_trend(
                chunks.turned(self._turn), options, self.trend
            )
            self.cells_, kept = self._kept_cells(chunked)
            return kept, looked_rows(chunked.looked, rows)
        counted = rows.counted()
        data = rows.take(counted)
        warn_of_copies(data.X, data.Y)
        if self.metric == "learned":
            self._turn = learn_metric(data.X, data.Y, data.s, options)
        data = data._replace(X=self._turned(data.X))
        if self.gate is None:
            training = train_around_trend(data.X, data.Y, data.s, options, self.trend)
        else:
            training = self._trained_experts(rows, counted, data, options, subsets)
        self.cells_ = training.model
        self.subsets_ = [counted[cell] for cell in training.cells]
        return training, data

    def _trained_experts(
        self,
        rows: Rows,
        counted: IntArray,
        data: Rows,
        options: CellOptions,
        subsets: Any,
    ) -> CellTraining:
        """Fit the experts of a Bayesian committee machine; `data` are the counted rows."""
        assert self.gate is not None
        rng = check_random_state(self.random_state)
        numbers = np.arange(len(counted))
        if self.subsets == "cells":
            groups = grow_tree(data.X, options.max_cell)[1]
        else:
            if subsets is None:
                split_rows(numbers, "train", self.n_members, rng)
                groups = draw_subsets(numbers, self.n_members, rng)
            else:
                given = check_subsets(subsets, self.n_members, len(rows.X), counted)
                groups = [np.searchsorted(counted, part) for part in given]
            options = replace(options, max_cell=max(len(rows) for rows in groups))
        return train_committee(
            data.X, data.Y, data.s, groups, options, method=self.gate, rng=rng
        )

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

    def _refuse_coupled_options(self, X_coupling: Any, subsets: Any) -> None:
        """Refuse what would silently do nothing for experts that are not coupled."""
        cells = self.subsets == "cells"
        changed = self._changed(_COUPLED_ONLY)
        changed += self._changed(("n_members",) if cells else ("max_cell",))
        if X_coupling is not None:
            changed.append("X_coupling")
        if subsets is not None and cells:
            changed.append("subsets at fit")
        if changed:
            raise ValueError(
                f"{', '.join(changed)} {'does' if len(changed) == 1 else 'do'} nothing "
                f'with gate="{self.gate}" and subsets="{self.subsets}": experts are not '
                "coupled, and are as many as "
                f"{'max_cell makes' if cells else 'n_members says'}."
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
        if not isinstance(model, CellModel | CommitteeMachine):
            raise TypeError(
                "This asks every cell about every row, and the cells of this model are on "
                "workers: call gather() first."
            )
        values = [model.cell_values(c, X) for c in range(model.n_cells)]
        base = base_of(X, model.offset, model.trend)
        return np.stack(values, axis=1) + base[:, None]
