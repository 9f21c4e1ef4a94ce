"""prune() on Dask collections: weights from all rows, measures from a sample of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from committee._typing import IntArray
from committee._validation import label_codes, n_rows, safe_indexing
from committee.combiners import Combiner
from committee.distributed import (
    Chunks,
    aligned,
    check_lead,
    is_dask,
    map_rows,
    row_chunks,
)
from committee.predictions import member_predictions
from committee.pruning.pruning_data import Evaluation, PruningData

#: Rows that errors, costs and the summary are measured on.
SAMPLED_ROWS = 10_000
#: Chunks that they are taken from, or more where these are small.
_SAMPLED_CHUNKS = 32


def kind_of_data(X: Any, y: Any) -> type[PruningData]:
    """Return the class for rows in memory, or in chunks."""
    return ChunkedPruningData if is_dask(X, y) else PruningData


class ChunkedPruningData(PruningData):
    """Rows of Dask collections: all are weighed, errors and costs are of a sample."""

    @cached_property
    def evaluation(self) -> Evaluation:
        """Some rows from all over the collections, predicted by all members."""
        self.oob = False  # a sample of the rows is not recognised
        return self.evaluate(*sample_rows(*self.given))

    def fit(self, combiner: Combiner) -> Combiner:
        """Fit a combiner on F of all rows, which is never gathered."""
        if self.oob is True:
            raise ValueError(
                "oob=True needs the training rows in memory, in their order. Give Dask "
                "collections of rows that the ensemble was not trained on, without oob."
            )
        X, y, sample_weight = self.given
        check_lead(X=X, y=y)
        F = member_predictions(self.ensemble, X)
        y = aligned("y", y, "X", X)
        if self.roster.classes is not None:
            y = map_rows(_codes, y, (), np.intp, np.asarray(self.roster.classes))
        return combiner.fit(F, y, sample_weight=sample_weight)


def _codes(y: Any, classes: Any) -> IntArray:
    return label_codes(column_or_1d(y), classes)


def sample_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return plain X, y and weights of some rows from all over the collection."""
    columns = row_chunks(X=X, y=y, sample_weight=sample_weight)
    s = columns["sample_weight"]
    assert columns["y"] is not None
    counts = np.array(columns["y"].map(_n_counted, s).values())
    some = _spread(counts)
    share = -(-SAMPLED_ROWS // len(some))
    X_few, y_few, s_few = (
        None if blocks is None else _stacked(_few(blocks, s, some, share))
        for blocks in columns.values()
    )
    return X_few, y_few, s_few


def _n_counted(y: Any, s: Any) -> int:
    """Return the number of rows with a positive weight."""
    return n_rows(y) if s is None else int(np.count_nonzero(np.asarray(s) > 0))


def _spread(counts: IntArray) -> IntArray:
    """Return chunks from all over that have enough rows together, if there are."""
    there = np.flatnonzero(counts)
    needed = -(-SAMPLED_ROWS // counts[there].mean())
    n = min(len(there), max(_SAMPLED_CHUNKS, int(needed)))
    some: IntArray = there[np.unique(np.linspace(0, len(there) - 1, n).astype(int))]
    return some


def _few(blocks: Chunks, s: Chunks | None, some: IntArray, share: int) -> list[Any]:
    """Return a share of the rows of some chunks."""
    weights = None if s is None else Chunks([s.parts[c] for c in some])
    chosen = Chunks([blocks.parts[c] for c in some])
    return chosen.map(_spaced, weights, share).values()


def _spaced(block: Any, s: Any, share: int) -> Any:
    """Return up to `share` rows of a block that count, evenly spaced."""
    rows = np.arange(n_rows(block)) if s is None else np.flatnonzero(np.asarray(s) > 0)
    return safe_indexing(block, rows[:: max(1, -(-len(rows) // share))])


def _stacked(blocks: list[Any]) -> Any:
    """Put blocks of rows together, arrays or frames."""
    if hasattr(blocks[0], "columns"):
        import pandas as pd

        return pd.concat(blocks)
    return np.concatenate(blocks)
