"""Calls through joblib, and a limit of one BLAS thread for small matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)
import threadpoolctl
from sklearn.utils.parallel import Parallel, delayed


def results_of(
    calls: Iterable[Any], n_jobs: int | None, prefer: str | None = None
) -> Iterator[Any]:
    """Return the results of delayed calls, in their order.

    Results are yielded as soon as they are computed, or all at the end on backends
    without `return_as="generator"`, such as Ray. A backend that the user has chosen
    overrides `prefer`.

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


def in_threads(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
) -> Iterator[Any]:
    """Yield function(*args) for each of the arguments, in threads of one BLAS thread.

    >>> from committee._parallel import in_threads
    >>> list(in_threads(max, [(1, 2), (4, 3)], n_jobs=2))
    [2, 4]
    """
    with one_thread():
        calls = (delayed(function)(*args) for args in arguments)
        yield from results_of(calls, n_jobs, prefer="threads")


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds: do it once.
    return threadpoolctl.ThreadpoolController()


class _OneThread:
    """A limit of one BLAS thread that nested and concurrent callers share.

    The number of threads is a setting of the process: the first `enter` limits it, and
    the last `leave` restores it, each in any thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                with _for_any_thread():
                    self._limits = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                with _for_any_thread():
                    self._limits.restore_original_limits()


@contextmanager
def _for_any_thread() -> Iterator[None]:
    """Let this thread set the number of BLAS threads, and any thread after it.

    threadpoolctl lets only the thread that has set OpenBLAS first set it again, and
    ignores all others, as long as that thread lives.
    """
    of_openblas = getattr(threadpoolctl, "OpenBLASController", None)
    # Older versions have no such thread.
    clear = getattr(of_openblas, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    yield
    clear(force=True)


_ONE_THREAD = _OneThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a context in which BLAS uses one thread, in all threads of the process.

    For matrices of a few dozen rows, BLAS threads take longer than one thread, on a busy
    machine a hundred times as long.
    """
    _ONE_THREAD.enter()
    try:
        yield
    finally:
        _ONE_THREAD.leave()
