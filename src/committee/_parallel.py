"""Calls through joblib, and BLAS held to one thread where matrices are small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)
from sklearn.utils.parallel import Parallel
from threadpoolctl import ThreadpoolController


def results_of(
    calls: Iterable[Any], n_jobs: int | None, prefer: str | None = None
) -> Iterator[Any]:
    """Return the results of delayed calls, in their order.

    Each comes as soon as it is there, or all at the end on a backend that cannot
    stream, as Ray's. `prefer` holds unless the user has chosen a backend.

    >>> from sklearn.utils.parallel import delayed
    >>> from committee._parallel import results_of
    >>> list(results_of((delayed(abs)(i) for i in (-1, 2)), n_jobs=2, prefer="threads"))
    [1, 2]
    """
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    except ValueError:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer)
    return iter(parallel(calls))


@cache
def _controller() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds: do it once.
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    On matrices of a few dozen rows the threads of a BLAS cost more than they save,
    and on a busy machine a hundred times more.
    """
    context: AbstractContextManager[Any] = _controller().limit(
        limits=1, user_api="blas"
    )
    return context
