"""Predictions over Dask collections, block by block when they are computed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from committee.distributed import map_rows
from committee.distributed.collections import is_frame


def lazily(model: Any, method: str, X: Any, tail: tuple[int, ...], dtype: Any) -> Any:
    """Return what a method says on a Dask collection, as a lazy Dask array.

    Parameters
    ----------
    model : fitted estimator
        Sent once to every worker that has rows.
    method : str
    X : Dask array or frame
        Number and names of its columns are checked here, its values block by block.
    tail : tuple of int
        Shape of the answer behind the rows.
    dtype : data type of the answer

    Returns
    -------
    dask array of shape (N, *tail)

    Examples
    --------
    >>> import pytest
    >>> da = pytest.importorskip("dask.array")
    >>> from committee import LSSVMRegressor
    >>> from committee.coupled.lazy import lazily
    >>> model = LSSVMRegressor(kernel="linear", alpha=1e-6)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> rows = da.arange(6, chunks=4).reshape(6, 1)
    >>> lazily(model, "predict", rows, (), float).compute().round(3).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]
    """
    columns = columns_of(X)
    validate_data(model, columns, reset=False, skip_check_array=True)
    # What has been said of names once need not be said for every block.
    nameless = copy.copy(model)
    nameless.__dict__.pop("feature_names_in_", None)
    return map_rows(_said, X, tail, dtype, nameless, method, columns)


def columns_of(X: Any) -> Any:
    """Return X of no rows, an array or a frame with the names of its columns.

    Parameters
    ----------
    X : Dask array or frame

    Returns
    -------
    array or frame of shape (0, d)
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: give X as rows and "
            "columns, of one feature as one column."
        )
    if not is_frame(X):
        if np.isnan(X.shape[1]):
            raise ValueError(
                "The number of columns of X is unknown: call compute_chunk_sizes() on it."
            )
        return np.empty((0, X.shape[1]))
    import pandas as pd

    return pd.DataFrame(columns=X.columns)


def check_columns(block: Any, columns: Any) -> None:
    """Refuse a block whose columns are not those of X, in their order.

    Parameters
    ----------
    block : array or frame of shape (n, d)
    columns : array or frame of shape (0, d)
        As `columns_of` returns it.
    """
    names, expected = (list(getattr(part, "columns", [])) for part in (block, columns))
    if names != expected:
        raise ValueError(
            f"The columns of X are {expected}, those of this chunk {names}: give all "
            "chunks the same columns in the same order."
        )
    if block.shape[1:] != columns.shape[1:]:
        raise ValueError(
            f"X has {columns.shape[1]} columns and this chunk is of shape "
            f"{block.shape}: give all chunks the same columns."
        )


def _said(block: Any, model: Any, method: str, columns: Any) -> Any:
    check_columns(block, columns)
    if hasattr(block, "columns"):
        block = block.set_axis(range(block.shape[1]), axis=1)
    return getattr(model, method)(block)
