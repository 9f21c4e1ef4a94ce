"""Rows in many places: the same functions of chunks, mapped and summed by Dask.

Nothing here imports Dask before a Dask collection was handed in. Another engine's
collections would need their own `chunks` and `collections`.
"""

from committee.distributed.chunks import Chunks, InMemory, deferred, each, shared
from committee.distributed.collections import (
    aligned,
    blank_rows,
    check_block,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    columns_of,
    computed,
    is_dask,
    map_rows,
    naming,
    numbered,
    own_blocks,
    refuse_dask,
    row_chunks,
)
from committee.distributed.lazy import ScoreMixin, lazy_rows

__all__ = [
    "Chunks",
    "InMemory",
    "ScoreMixin",
    "aligned",
    "blank_rows",
    "check_block",
    "check_chunk_weight",
    "check_lead",
    "check_same_rows",
    "columns_of",
    "computed",
    "deferred",
    "each",
    "is_dask",
    "lazy_rows",
    "map_rows",
    "naming",
    "numbered",
    "own_blocks",
    "refuse_dask",
    "row_chunks",
    "shared",
]
