"""`lazy_rows`: methods of estimators that take Dask collections, block by block."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.distributed.collections import (
    check_block,
    columns_of,
    is_dask,
    map_rows,
)

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
