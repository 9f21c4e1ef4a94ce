"""Cells that were fitted to chunks: where their model is, and how it predicts chunks."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from committee._typing import FloatArray
from committee.cells import CellModel
from committee.cells.bcm import CommitteeMachine
from committee.cells.choose import Part
from committee.cells.chunked_train import ChunkedTraining
from committee.cells.partitioned import PartitionedModel, PartitionedVariance
from committee.coupled.chunked_rows import ChunkedRows
from committee.coupled.rows import Rows
from committee.distributed import check_block, naming, numbered, own_blocks

#: A model of up to so many bytes is brought into one place, and sent whole to workers
#: that predict: some 700,000 rows of ten columns.
_ONE_PLACE_BYTES = 2**26


def looked_rows(looked: Part, rows: ChunkedRows) -> Rows:
    """Return the rows of leave-one-out; classes are coded again from targets +-1."""
    X, Y, s = looked
    if not rows.has_labels:
        return Rows(X, Y[:, 0] if rows.vector else Y, Y, s)
    codes = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(axis=1)
    return Rows(X, codes, Y, s)


@dataclass(frozen=True, eq=False)
class Answered:
    """What stands for a model where its answers for a block of rows are known."""

    f: FloatArray
    n_cells: int
    offset: FloatArray

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return f, (N, T)."""
        return self.f


class CellsInChunks:
    """An estimator whose cells may be in groups on workers."""

    cells_: CellModel | PartitionedModel | CommitteeMachine
    _turn: FloatArray | None

    def gather(self) -> Self:
        """Bring cells that a fit to Dask collections has left on workers into one place.

        Returns
        -------
        self
        """
        self.__dict__.update(_in_one_place(self.__dict__))
        return self

    def _kept_cells(
        self, training: ChunkedTraining
    ) -> tuple[CellModel | PartitionedModel, ChunkedTraining]:
        """Return the model, a small one in one place, and the training that is kept."""
        regressor, parts = is_regressor(self), training.variance
        variance: Any = None
        # Variances need all points, where the model has some of them.
        largest = (regressor and parts.whole) or training.model
        small = largest.n_bytes <= _ONE_PLACE_BYTES
        if regressor:
            variance = parts.gathered() if small else parts.kept()
        model = training.model.gathered() if small else training.model
        return model, replace(training, variance=variance)

    def for_blocks(self, X: Any, columns: Any) -> Any:
        """Return what predicts the blocks of a Dask collection: itself, or one for each.

        Where the cells stay in groups, each block has a copy with their answers.
        """
        model = self.__dict__.get("cells_")
        if not isinstance(model, PartitionedModel):
            return self
        blocks = own_blocks(X)
        rows = numbered(len(blocks)).map(_as_array, blocks, columns, self._turn)
        without = copy.copy(self)
        del without.cells_
        if isinstance(parts := self.__dict__.get("_variance"), PartitionedVariance):
            without._variance = replace(parts, parts=None, whole=None)  # type: ignore[attr-defined]
        return model.answers(rows).map(
            _with_answers, without, model.n_cells, model.offset
        )

    def __getstate__(self) -> Any:
        """Return the attributes; the model goes into copies and files as a whole."""
        return _in_one_place(super().__getstate__())  # type: ignore[arg-type]

    def __copy__(self) -> Self:
        """Return another estimator with the same attributes, the model where it is."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


def _in_one_place(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of which none is in groups."""
    kinds = PartitionedModel, PartitionedVariance
    return {
        name: value.gathered() if isinstance(value, kinds) and value.parts else value
        for name, value in attributes.items()
    }


def _as_array(
    number: int, block: Any, columns: Any, turn: FloatArray | None
) -> FloatArray:
    """Return a block as the cells see it."""
    with naming(number):
        check_block(block, columns)
        X: FloatArray = np.asarray(block, dtype=np.float64)
    return X if turn is None else X @ turn


def _with_answers(f: FloatArray, without: Any, n_cells: int, offset: FloatArray) -> Any:
    model = copy.copy(without)
    model.cells_ = Answered(f, n_cells, offset)
    return model
