"""Rows in many places: the same functions of chunks, mapped and summed by Dask.

Nothing here imports Dask before a Dask collection was handed in.
"""

from committee.distributed.chunks import Chunks
from committee.distributed.collections import (
    aligned,
    brought,
    is_dask,
    map_rows,
    naming,
    numbered,
    own_blocks,
    row_chunks,
)

__all__ = [
    "Chunks",
    "aligned",
    "brought",
    "is_dask",
    "map_rows",
    "naming",
    "numbered",
    "own_blocks",
    "row_chunks",
]
