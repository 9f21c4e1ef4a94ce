"""Predictions over Dask collections, block by block when they are computed."""

from __future__ import annotations

from typing import Any

from committee.distributed import map_rows


def lazily(model: Any, method: str, X: Any, tail: tuple[int, ...], dtype: Any) -> Any:
    """Return what a method says on a Dask collection, as a lazy Dask array.

    Parameters
    ----------
    model : fitted estimator
        Sent once to every worker that has rows.
    method : str
    X : Dask array or frame
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
    return map_rows(_said, X, tail, dtype, model, method)


def _said(block: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(block)
