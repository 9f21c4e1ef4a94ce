"""Long work: calls through joblib, one BLAS thread for small matrices, progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)
import threadpoolctl
from sklearn.utils.parallel import Parallel, delayed

T = TypeVar("T")


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


# --- progress bars on standard error ----------------------------------------------------


def track(items: Iterable[T], total: int, label: str, shown: bool) -> Iterator[T]:
    """Yield the items; if `shown`, with a progress bar and the remaining time."""
    if not shown:
        yield from items
        return
    from rich.progress import TimeRemainingColumn

    with progress_bar(TimeRemainingColumn(elapsed_when_finished=True)) as bar:
        yield from bar.track(items, total=total, description=label)


def progress_bar(*columns: Any, **options: Any) -> Any:
    """Return a progress bar of rich on standard error, with further columns."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    first = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*first, *columns, console=Console(stderr=True), **options)


def step_printer() -> Callable[[Any], None]:
    """Return a callback that prints the steps of a pruning path."""
    print("  size   LOO error   log evidence", file=sys.stderr)

    def show(step: Any) -> None:
        print(
            f"{step.size:6d}{step.loo_error:12.5g}{step.log_evidence:15.7g}",
            file=sys.stderr,
        )

    return show


@contextmanager
def bar_with_text(
    total: int, label: str, shown: bool
) -> Iterator[Callable[[int, str], None]]:
    """Yield advance(n, text); if `shown`, it moves a bar by n and displays the text."""
    if not shown:
        yield lambda n, text: None
        return
    from rich.progress import TextColumn

    with progress_bar(TextColumn("{task.fields[text]}")) as bar:
        task = bar.add_task(label, total=total, text="")
        yield lambda n, text: bar.update(task, advance=n, text=text)
