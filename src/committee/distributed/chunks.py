"""One value for each chunk of rows, kept where the rows are.

map:  v_c -> f(v_c)            on the worker that has v_c
sum:  f(v_1) + ... + f(v_C)    in a tree; only the sums travel
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import reduce
from itertools import repeat
from typing import Any
from weakref import WeakSet

#: Sums that are added by one task.
_FAN_IN = 8
#: Seconds between two checks of the workers while results are awaited.
_LOOK_EVERY = 5.0
#: Seconds without a worker after which an error is raised.
_PATIENCE = 300.0

#: Clients that have had workers. Others may be queuing for their first ones.
_served: WeakSet[Any] = WeakSet()


class Chunks:
    """Delayed values, one for each chunk; None for a chunk without rows.

    If a worker is lost, Dask computes its values again from the same inputs by the same
    functions, so they are equal to the last digit.

    >>> import pytest
    >>> dask = pytest.importorskip("dask")
    >>> from committee.distributed.chunks import Chunks
    >>> chunks = Chunks([dask.delayed(v) for v in (1.0, None, 3.0)])
    >>> chunks.map(lambda v, c: c * v, 2.0).sum(lambda v: v + 1.0)
    10.0
    """

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.parts)

    def map(self, function: Callable[..., Any], *args: Any) -> Chunks:
        """Return function(v_c, *args) for each chunk, not yet computed.

        For `args` that are `Chunks`, each call gets the value of its chunk. Other
        arguments are sent once and shared by all calls.
        """
        rows = self._with_args(args, shared)
        return Chunks([deferred(_call, function, *row) for row in rows])

    def _with_args(
        self, args: tuple[Any, ...], prepared: Callable[[Any], Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Return the value and the arguments of each chunk."""
        columns = [
            arg.parts if isinstance(arg, Chunks) else repeat(prepared(arg), len(self))
            for arg in args
        ]
        return zip(self.parts, *columns, strict=True)

    def kept(self, *, verbose: bool = False) -> Chunks:
        """Start computing the values, which then stay on their workers.

        With Dask's threads the values are computed before this returns, with a progress
        bar if `verbose`; on a cluster the computation only starts.
        """
        from dask import persist
        from dask.diagnostics import ProgressBar

        progress = ProgressBar(out=sys.stderr) if verbose else nullcontext()
        with _scheduler(), progress:
            return Chunks(list(persist(*self.parts)))

    def listed(self) -> Chunks:
        """Return the list of all values as one value, not yet computed."""
        return Chunks([deferred(_listed, *self.parts)])

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(v_c, *args) over chunks; None if all are empty.

        Values are added by their method `plus`, or by +, always in the same order.
        """
        level = self.map(function, *args).parts
        while len(level) > 1:
            level = [
                deferred(_add, *level[start : start + _FAN_IN])
                for start in range(0, len(level), _FAN_IN)
            ]
        return _computed(level[0])[0] if level else None

    def values(self) -> list[Any]:
        """Return the values in memory, in order."""
        return list(_computed(*self.parts))

    def each(self, values: Sequence[Any]) -> Chunks:
        """Return given values, one for each chunk, for the arguments of `map`."""
        return Chunks([shared(value) for value in values])


class InMemory(Chunks):
    """Values in this process: `map` calls at once, and Dask is not imported.

    >>> from committee.distributed.chunks import InMemory
    >>> InMemory([1.0, None, 3.0]).map(lambda v, c: c * v, 2.0).sum(lambda v: v + 1.0)
    10.0
    """

    def map(self, function: Callable[..., Any], *args: Any) -> InMemory:
        """Return function(v_c, *args) for each chunk."""
        rows = self._with_args(args, lambda arg: arg)
        return InMemory([_call(function, *row) for row in rows])

    def kept(self, *, verbose: bool = False) -> InMemory:
        """Return the values, which are computed already."""
        return self

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of function(v_c, *args) over chunks; None if all are empty."""
        return _add(*self.map(function, *args).parts)

    def values(self) -> list[Any]:
        """Return the values in their order."""
        return list(self.parts)

    def each(self, values: Sequence[Any]) -> InMemory:
        """Return given values, one for each chunk, for the arguments of `map`."""
        return InMemory(list(values))


def shared(value: Any) -> Any:
    """Return a value as one node of the graph."""
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def deferred(function: Callable[..., Any], *args: Any) -> Any:
    """Return function(*args), not yet computed; `args` may be delayed too."""
    return shared(function)(*args)


def _call(function: Callable[..., Any], value: Any, *args: Any) -> Any:
    return None if value is None else function(value, *args)


def _listed(*values: Any) -> list[Any]:
    return list(values)


def _add(*values: Any) -> Any:
    """Add the values that are not None."""
    there = [value for value in values if value is not None]
    return reduce(_plus, there) if there else None


def _plus(one: Any, two: Any) -> Any:
    return one.plus(two) if hasattr(one, "plus") else one + two


def _computed(*parts: Any) -> Any:
    """Compute values."""
    from dask import compute

    with _scheduler():
        client = watched_client()
        if client is None:
            return compute(*parts)
        futures = client.compute(list(parts))
        wait_for_workers_too(client, futures)
        return client.gather(futures)


@contextmanager
def _scheduler() -> Iterator[None]:
    """Raise one RuntimeError for all errors of a lost scheduler.

    Warnings about large graphs are silenced: a large value is in the graph once, and must
    be, so that it is not lost with a worker.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            yield
    except Exception as error:
        if _is_loss(error):
            raise RuntimeError(
                "The connection to the Dask scheduler was lost before the work was done. Connect to a "
                "new one and fit again; EPPruner and ARDPruner with checkpoint=PATH "
                "continue from their last sweep."
            ) from error
        raise


def _is_loss(error: Exception) -> bool:
    """Return True if the error means a lost scheduler, rather than lost tasks."""
    names = {kind.__name__ for kind in type(error).__mro__}
    lost = {"CommClosedError", "CancelledError", "FutureCancelledError"}
    text = str(error).lower()
    gone = bool(names & lost) and "lost dependencies" not in text
    return gone or "client is not" in text


def current_client() -> Any:
    """Return the client that Dask computes with; None for threads or processes."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    # An asynchronous client cannot be used here.
    known = hasattr(client, "ncores") and not getattr(client, "asynchronous", True)
    return client if known else None


def watched_client() -> Any:
    """Return the current client if its workers can be watched from here."""
    client = current_client()
    if client is None:
        return None
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return client
    # Inside a task Dask has to leave the worker's thread while it waits.
    return None


def wait_for_workers_too(client: Any, futures: list[Any]) -> None:
    """Wait for results, and restart missing workers of a local cluster.

    A local cluster closes a worker for good if it is not back 15 s after it was lost
    (`distributed.deploy.lost-worker-timeout`). If it was the last worker, the results
    would never come; if there are others, they would take longer. Raise RuntimeError if
    there has been no worker for `_PATIENCE` seconds.
    """
    from distributed import wait

    seen = time.monotonic()
    while True:
        _start_missing(client.cluster)
        if client not in _served and client.ncores():
            _served.add(client)
        try:
            wait(futures, timeout=_LOOK_EVERY)
            return
        except TimeoutError:
            if client.ncores():
                seen = time.monotonic()
            elif client in _served:
                _check_patience(time.monotonic() - seen)


def _start_missing(cluster: Any) -> None:
    """Restart the closed workers of a local cluster."""
    wanted = getattr(cluster, "worker_spec", ())
    if len(getattr(cluster, "workers", ())) < len(wanted):
        cluster.scale(len(wanted))


def _check_patience(seconds: float) -> None:
    if seconds > _PATIENCE:
        raise RuntimeError(
            f"All Dask workers were lost, and none has come back for {seconds:.0f} s: "
            "check why they died (usually memory), start new ones and fit again."
        )
