"""prune() on Dask collections: weights from all rows, measures from a sample of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import IntArray
from committee._validation import n_rows, safe_indexing
from committee.combiners import Combiner
from committee.distributed import Chunks, map_rows, own_blocks, row_chunks
from committee.ensembles import Roster
from committee.predictions import member_predictions
from committee.pruning.rows import codes_of

#: Rows that errors, costs and the summary are measured on.
SAMPLED_ROWS = 10_000
#: Chunks that they are taken from.
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
    F = member_predictions(ensemble, X)
    if roster.classes is not None:
        y = map_rows(codes_of, y, (), np.intp, np.asarray(roster.classes))
    return combiner.fit(F, y, sample_weight=sample_weight)


def sample_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return plain X, y and weights of some rows from all over the collection."""
    columns = row_chunks(X=X, y=y, sample_weight=sample_weight)
    n_chunks = len(own_blocks(X))
    some = np.unique(np.linspace(0, n_chunks - 1, _SAMPLED_CHUNKS).astype(int))
    share = -(-SAMPLED_ROWS // len(some))
    parts: list[list[Any]] = []
    for blocks in (own_blocks(X), columns["y"], columns["sample_weight"]):
        chosen = None if blocks is None else _few(blocks, some, share)
        parts.append([] if chosen is None else chosen)
    X_few, y_few, s_few = (_stacked(blocks) for blocks in parts)
    return X_few, y_few, s_few


def _few(blocks: Chunks, some: IntArray, share: int) -> list[Any]:
    """Return a share of the rows of some chunks."""
    chosen = Chunks([blocks.parts[c] for c in some])
    rows: list[Any] = chosen.map(_spaced, share).sum(_listed)
    return rows


def _spaced(block: Any, share: int) -> Any:
    """Return up to `share` rows of a block, evenly spaced."""
    N = n_rows(block)
    return safe_indexing(block, np.arange(0, N, max(1, -(-N // share))))


def _listed(block: Any) -> list[Any]:
    return [block]


def _stacked(blocks: list[Any]) -> Any:
    """Put blocks of rows together, arrays or frames."""
    if not blocks:
        return None
    if hasattr(blocks[0], "columns"):
        import pandas as pd

        return pd.concat(blocks)
    return np.concatenate(blocks)
