"""Dask collections: functions of chunks of rows, mapped and summed.

Dask is not imported before a Dask collection is passed. Another engine would need its
own `chunks` and `collections`.
"""

from committee.distributed.chunks import Chunks, InMemory, deferred
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
    lazy_rows,
    map_rows,
    naming,
    numbered,
    own_blocks,
    refuse_dask,
    row_chunks,
)

__all__ = [
    "Chunks",
    "InMemory",
    "aligned",
    "blank_rows",
    "check_block",
    "check_chunk_weight",
    "check_lead",
    "check_same_rows",
    "columns_of",
    "computed",
    "deferred",
    "is_dask",
    "lazy_rows",
    "map_rows",
    "naming",
    "numbered",
    "own_blocks",
    "refuse_dask",
    "row_chunks",
]
