"""Calls through joblib, whose results come one by one where the backend can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.utils.parallel import Parallel


def results_of(
    calls: Iterable[Any], n_jobs: int | None, prefer: str | None = None
) -> Iterator[Any]:
    """Return the results of delayed calls, in their order.

    Parameters
    ----------
    calls : iterable of `sklearn.utils.parallel.delayed` calls
    n_jobs : int, optional
    prefer : {"threads", "processes"}, optional
        Unless the user has chosen a backend.

    Returns
    -------
    iterator
        Each result as soon as it is there; all at the end on a backend that keeps
        them together, as Ray's does.

    Examples
    --------
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
