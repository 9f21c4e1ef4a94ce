"""prune() on Dask collections: weights from all rows, measures from a sample of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from committee._typing import IntArray
from committee._validation import label_codes, n_rows, safe_indexing
from committee.combiners import Combiner
from committee.distributed import Chunks, aligned, is_dask, map_rows, row_chunks
from committee.ensembles import Roster
from committee.predictions import member_predictions

#: Rows that errors, costs and the summary are measured on.
SAMPLED_ROWS = 10_000
#: Chunks that they are taken from, or more where these are small.
_SAMPLED_CHUNKS = 32


def fit_chunks(
    ensemble: Any,
    roster: Roster,
    combiner: Combiner,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Combiner:
    """Fit the combiner to F of all rows, which is never put together."""
    if not is_dask(X):
        raise ValueError(
            "y is a Dask collection, but X is not: hand in X as one too, or compute() y."
        )
    F = member_predictions(ensemble, X)
    y = aligned("y", y, "X", X)
    if roster.classes is not None:
        y = map_rows(_codes, y, (), np.intp, np.asarray(roster.classes))
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
