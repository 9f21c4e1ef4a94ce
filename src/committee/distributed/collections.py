"""Dask arrays and frames as chunks of rows, and back; methods that take them lazily."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray
from committee._validation import n_rows
from committee.distributed.chunks import Chunks

_FRAMES = ("DataFrame", "Series", "Index")


def is_dask(*collections: Any) -> bool:
    """Return True if one of the objects is a Dask collection; does not import Dask."""
    return any(
        type(x).__module__.split(".")[0] in ("dask", "dask_expr")
        and hasattr(x, "__dask_graph__")
        for x in collections
    )


def is_frame(X: Any) -> bool:
    """Return True if a Dask collection has partitions of frames."""
    return type(X).__name__ in _FRAMES


def row_chunks(**columns: Any) -> dict[str, Chunks | None]:
    """Return collections with the same rows as blocks of matching rows.

    Chunks follow the first collection, which must be one of Dask; each has all its
    columns. Where sizes are unknown, the k-th chunks of all are matched.
    Collections are Dask arrays, frames or series, plain arrays, or None; the values of
    their chunks are plain arrays or frames.
    """
    check_lead(**columns)
    (first, lead), *others = columns.items()
    result: dict[str, Chunks | None] = {first: own_blocks(lead)}
    for name, other in others:
        result[name] = None
        if other is not None:
            result[name] = own_blocks(aligned(name, other, first, lead))
    return result


def check_lead(**columns: Any) -> None:
    """Raise if X is not a Dask collection and another argument is."""
    (first, lead), *others = columns.items()
    lazy = " and ".join(name for name, other in others if is_dask(other))
    if lazy and not is_dask(lead):
        raise ValueError(
            f"{lazy} is a Dask collection, but {first} is not: pass {first} as one "
            f"too, or compute() {lazy}."
        )


def check_same_rows(**blocks: Any) -> None:
    """Raise ValueError if blocks of one chunk have different numbers of rows."""
    (one, first), (two, second) = blocks.items()
    if n_rows(first) != n_rows(second):
        raise ValueError(
            f"{one} has {n_rows(first)} rows and {two} has {n_rows(second)}; chunks of "
            "both must be equal."
        )


def check_chunk_weight(sample_weight: Any, size: int) -> FloatArray | None:
    """Return the weights of one chunk, which may all be zero, or None."""
    if sample_weight is None:
        return None
    s: FloatArray = np.asarray(sample_weight, dtype=np.float64)
    if s.ndim == 0:
        s = np.full(size, s)
    if s.shape != (size,) or not np.isfinite(s).all() or np.any(s < 0):
        raise ValueError(
            f"sample_weight must be {size} finite numbers >= 0. Got shape {s.shape} and "
            f"values from {s.min():g} to {s.max():g}."
        )
    return s


def map_rows(
    function: Callable[..., Any], X: Any, tail: tuple[int, ...], dtype: Any, *args: Any
) -> Any:
    """Return function(block, *args) of every block of rows as one lazy (N, *tail) array.

    The function takes a block of X as it is, a plain array or frame with at least one
    row; `args` are sent once to every worker that has rows.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    blocks = own_blocks(X)
    call = _RowsOf(function, tail, np.dtype(dtype))
    parts = numbered(len(blocks)).map(call, blocks, *args).parts
    # Assembled here: da.concatenate would leave out chunks without rows.
    name = f"committee-rows-{uuid4().hex}"
    below = (0,) * len(tail)
    graph = HighLevelGraph.from_collections(
        name,
        {(name, i, *below): part.key for i, part in enumerate(parts)},
        dependencies=parts,
    )
    chunks = (_sizes(X), *((n,) for n in tail))
    return da.Array(graph, name, chunks, dtype=dtype)


def blank_rows(sizes: list[int]) -> Any:
    """Return a lazy array of zeros with chunks of the given sizes, to map over."""
    import dask.array as da

    return da.zeros(sum(sizes), chunks=(tuple(sizes),), dtype=bool)


def computed(*values: Any) -> tuple[Any, ...]:
    """Return values in memory, computing those that are Dask collections."""
    # One after the other: Dask warns where arrays and frames are computed at once.
    return tuple(value.compute() if is_dask(value) else value for value in values)


def refuse_dask(message: str, *collections: Any) -> None:
    """Raise ValueError if one of the objects is a Dask collection."""
    if is_dask(*collections):
        raise ValueError(message)


def columns_of(X: Any) -> Any:
    """Return X without rows: an array, or a frame with the names of its columns."""
    if X.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: give X as rows and "
            "columns, with one column for a single feature."
        )
    if is_frame(X):
        import pandas as pd

        return pd.DataFrame(columns=X.columns)
    if np.isnan(X.shape[1]):
        raise ValueError(
            "The number of columns of X is unknown: call compute_chunk_sizes() on it."
        )
    return np.empty((0, *X.shape[1:]))


def check_block(block: Any, columns: Any) -> None:
    """Raise ValueError if a block has other columns than `columns_of(X)`."""
    names, expected = (list(getattr(part, "columns", [])) for part in (block, columns))
    if names != expected:
        raise ValueError(
            f"The columns of X are {expected}, and the columns of this chunk are "
            f"{names}: use the same columns in the same order in all chunks."
        )
    if block.shape[1:] != columns.shape[1:]:
        raise ValueError(
            f"X has {columns.shape[1]} columns and this chunk is of shape "
            f"{block.shape}: use the same columns in all chunks."
        )


def own_blocks(X: Any) -> Chunks:
    """Return the blocks of a Dask collection as they are: arrays or frames."""
    if not is_frame(X):
        return _blocks(X)
    # Only the columns that are used are read; the full optimisation would also merge
    # small partitions, other ones for X than for y.
    return Chunks(list(X.simplify().to_delayed(optimize_graph=False)))


def numbered(n_chunks: int) -> Chunks:
    """Return the numbers of chunks, for use in errors."""
    from dask import delayed

    return Chunks([delayed(number) for number in range(n_chunks)])


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Put the number of the chunk in front of the message of an error."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(error).startswith("Chunk "):
            raise
        raise ValueError(f"Chunk {number}: {error}") from error


@dataclass(frozen=True)
class _RowsOf:
    """Calls a function of a block with rows; errors name the chunk."""

    function: Callable[..., Any]
    tail: tuple[int, ...]
    dtype: Any

    def __call__(self, number: int, block: Any, *args: Any) -> Any:
        if len(block) == 0:
            return np.zeros((0, *self.tail), dtype=self.dtype)
        with naming(number):
            return np.asarray(self.function(block, *args), dtype=self.dtype)


def _sizes(X: Any) -> tuple[float, ...]:
    """Return the number of rows in each chunk; NaN if unknown."""
    if is_frame(X):
        return (np.nan,) * int(X.npartitions)
    return tuple(X.chunks[0])


def _blocks(X: Any) -> Chunks:
    """Return the blocks of a Dask array, each with all columns."""
    if X.ndim > 1 and any(n > 1 for n in X.numblocks[1:]):
        X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    # With optimised graphs, two fused graphs of one block could hold different tasks of
    # the same name.
    return Chunks(list(X.to_delayed(optimize_graph=False).ravel()))


def aligned(name: str, other: Any, first: str, lead: Any) -> Any:
    """Return the other collection, a Dask one or not, in the chunks of the first.

    Errors call them `name` and `first`.
    """
    import dask.array as da

    sizes = _sizes(lead)
    if not is_dask(other):
        other = np.asarray(other)
        if np.isnan(sizes).any():
            raise ValueError(
                f"{name} is a plain array, but the chunks of {first} have unknown "
                f"sizes: call compute_chunk_sizes() on {first} as an array, or make "
                "both from one Dask collection."
            )
        other = da.from_array(other, chunks=-1)
    others = _sizes(other)
    if np.isnan([sum(sizes), sum(others)]).any():
        if len(sizes) != len(others):
            raise ValueError(
                f"{first} has {len(sizes)} chunks of rows and {name} has {len(others)}, "
                "of unknown sizes: call compute_chunk_sizes() on both, or make them "
                "from one Dask collection."
            )
        return other
    if sum(sizes) != sum(others):
        raise ValueError(
            f"{name} must have one entry for each row of {first}. Got "
            f"{sum(others)} for {sum(sizes)} rows."
        )
    return other if sizes == others else other.rechunk({0: sizes})


_Method = TypeVar("_Method", bound=Callable[..., Any])


def lazy_rows(
    *,
    tail: Callable[[Any], tuple[int, ...]] = lambda model: (),
    dtype: Callable[[Any], Any] = lambda model: np.float64,
    check: bool = True,
) -> Callable[[_Method], _Method]:
    """Let a method (model, X) -> (N, *tail) take Dask collections as X.

    The result is then a lazy Dask array, computed block by block with a copy of the model
    that is sent once to every worker. Number and names of the columns are checked at the
    call, values with their block. `tail` and `dtype` are functions of a fitted model: the
    shape of the result behind the rows, and its data type.
    With `check=False`, for estimators of other libraries, the model is sent unchanged and
    nothing is checked at the call.

    >>> import pytest
    >>> da = pytest.importorskip("dask.array")
    >>> from committee import LSSVMRegressor
    >>> model = LSSVMRegressor(kernel="linear", alpha=1e-6)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> rows = da.arange(6, chunks=4).reshape(6, 1)
    >>> model.predict(rows).compute().round(3).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]
    """

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def on_rows(model: Any, X: Any, **options: Any) -> Any:
            if not is_dask(X):
                return method(model, X, **options)
            sent, columns = _checked(model, X) if check else (model, None)
            shape, kind = tail(model), dtype(model)
            # Blocks are evaluated at the same time already.
            options.pop("n_jobs", None)
            return map_rows(_on_block, X, shape, kind, on_rows, sent, columns, options)

        return cast(_Method, on_rows)

    return decorate


def _checked(model: Any, X: Any) -> tuple[Any, Any]:
    """Return a copy of the model to send, and X without rows; raise for wrong columns."""
    check_is_fitted(model)
    columns = columns_of(X)
    if hasattr(model, "check_members"):
        model.check_members(columns)  # a combiner: columns of F are members
    else:
        validate_data(model, columns, reset=False, skip_check_array=True)
    sent = copy.copy(model)
    # Warn about names once, not for every block.
    validate_data(sent, columns, reset=True, skip_check_array=True)
    if hasattr(sent, "n_jobs"):
        sent.n_jobs = None
    return sent, columns


def _on_block(
    block: Any, function: Any, model: Any, columns: Any, options: dict[str, Any]
) -> Any:
    if columns is not None:
        check_block(block, columns)
    return function(model, block, **options)
