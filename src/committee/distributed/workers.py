"""Waiting for results on a cluster that may lose its workers."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakSet

#: Seconds between two looks at the workers while results are awaited.
_LOOK_EVERY = 5.0
#: Seconds without a worker after which a cluster is given up.
_PATIENCE = 300.0

#: Clients that have had workers. Others may be queuing for their first ones.
_served: WeakSet[Any] = WeakSet()


def current_client() -> Any:
    """Return the client that Dask computes with, None for threads or processes."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    # An asynchronous client cannot answer here.
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
    """Wait for results, and make sure that there are workers to compute them.

    A local cluster closes a worker for good if it is not there 15 s after it was lost,
    be it still starting or lost again meanwhile (`distributed.deploy.lost-worker-timeout`).
    Where that was the last one, the results would never come; where there are others,
    they would be slow from then on.
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
            "see why they died (memory, as a rule), start new ones and fit again."
        )
