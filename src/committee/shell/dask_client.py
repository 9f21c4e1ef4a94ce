"""Dask workers for one command: of a given scheduler, or started on this machine."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any

from committee._install import how_to_install
from committee._progress import progress_bar
from committee.shell.messages import Messages, ShellError

#: Seconds to wait for a scheduler to answer, and for the first of its workers.
SCHEDULER_TIMEOUT, WORKERS_TIMEOUT = 5, 10

#: Seconds between two updates of the progress bar.
_INTERVAL = 0.25

#: A model is sent with the first task of each worker: no warning about its size.
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}


@contextmanager
def workers(scheduler: str | None, messages: Messages) -> Iterator[Any]:
    """Yield a client of Dask workers, and close it afterwards.

    Parameters
    ----------
    scheduler : str or None
        Its address; None for one process on each core of this machine.
    messages : Messages

    Yields
    ------
    client : distributed.Client
    """
    try:
        import dask.dataframe
        from distributed import Client
    except ImportError as error:
        raise ShellError(
            f"Tables in many files need {error.name or 'dask'}, which is not "
            f"installed: {how_to_install('shell', 'dask')}."
        ) from error
    with _no_log(), dask.config.set(_SETTINGS), _losses(scheduler):
        if scheduler is None:
            with _local_cluster() as cluster, Client(cluster) as client:
                client.run(_ignore_interrupts)
                yield client
            return
        _check_answers(scheduler)
        with Client(scheduler) as client:
            _wait_for_workers(client, scheduler, messages)
            _refuse_other_versions(client)
            yield client


@contextmanager
def watched(client: Any, label: str, messages: Messages) -> Iterator[None]:
    """Show on standard error how many of Dask's tasks are done."""
    if messages.quiet:
        yield
        return
    from rich.progress import TextColumn, TimeElapsedColumn

    columns = TextColumn("Dask tasks"), TimeElapsedColumn()
    finished = threading.Event()
    with progress_bar(*columns, redirect_stdout=False) as bar:
        line = bar.add_task(label, total=None)

        def look() -> None:
            while not finished.wait(_INTERVAL):
                done, known = _counts(client)
                if known:
                    bar.update(line, completed=done, total=known)

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
        total = bar.tasks[line].total or 1
        bar.update(line, completed=total, total=total)


def _counts(client: Any) -> tuple[int, int]:
    """Return the number of finished tasks, and of all tasks of the scheduler."""
    try:
        states = client.sync(client.scheduler.get_task_prefix_states)
    except (OSError, RuntimeError):  # the work itself will raise the reason
        return 0, 0
    done = sum(prefix["memory"] + prefix["released"] for prefix in states.values())
    return done, sum(sum(prefix.values()) for prefix in states.values())


def _local_cluster() -> Any:
    """Return one worker process of one thread for each core."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=CPU_COUNT,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        # A free port: another dashboard may use the usual one.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
    )


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which every process gets: the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_answers(scheduler: str) -> None:
    """Raise ShellError if no scheduler answers at the address.

    A client that cannot connect is hard to close, so this connects without one.
    """
    from distributed import Security
    from distributed.core import coerce_to_address, connect

    async def connect_once() -> None:
        options = Security().get_connection_args("client")
        comm = await connect(coerce_to_address(scheduler), **options)
        await comm.close()

    try:
        asyncio.run(asyncio.wait_for(connect_once(), SCHEDULER_TIMEOUT))
    except (OSError, ValueError) as error:
        raise ShellError(
            f"No Dask scheduler answers at {scheduler!r}: --scheduler takes an "
            "address such as tcp://10.0.0.1:8786, as 'dask scheduler' prints it."
        ) from error


def _wait_for_workers(client: Any, scheduler: str, messages: Messages) -> None:
    """Wait some seconds for the first worker; raise ShellError if there is none."""
    if client.scheduler_info()["workers"]:
        return
    messages.note(f"the Dask scheduler at {scheduler} has no workers yet.")
    try:
        client.wait_for_workers(1, timeout=WORKERS_TIMEOUT)
    except TimeoutError as error:
        raise ShellError(
            f"The Dask scheduler at {scheduler} has no workers: start some with "
            f"'dask worker {scheduler}'."
        ) from error


def _refuse_other_versions(client: Any) -> None:
    """Raise ShellError if the scheduler or a worker has another version of committee.

    They run a function of the standard library, which all of them have.
    """
    version = resolve_name, "committee:__version__"
    own = version[0](version[1])
    found: dict[str, Any] = {}
    try:
        found["scheduler"] = client.run_on_scheduler(*version)
    except Exception as error:  # noqa: BLE001 (whatever an import there may raise)
        found["scheduler"] = error
    for where, answer in client.run(*version, on_error="return").items():
        found[f"worker at {where}"] = answer
    for who, answer in found.items():
        if answer != own:
            has = (
                f"committee {answer}"
                if isinstance(answer, str)
                else f"no committee that can be imported ({answer})"
            )
            raise ShellError(
                f"The Dask {who} has {has}: install committee {own} there, the "
                "version of this machine."
            )


@contextmanager
def _no_log() -> Iterator[None]:
    """Disable Dask's log, since problems are raised as exceptions."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _losses(scheduler: str | None) -> Iterator[None]:
    """Raise ShellError if workers or the scheduler are lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.core import CommClosedError

    gone = (CommClosedError, CancelledError)
    try:
        yield
    except KilledWorker as error:
        raise ShellError(
            "Dask's workers died while working on one part of the rows, usually because "
            "memory ran out: give smaller files, or workers with more memory."
        ) from error
    except (*gone, RuntimeError) as error:
        if not isinstance(error, gone) and not isinstance(error.__cause__, gone):
            raise
        where = "of this machine" if scheduler is None else f"at {scheduler}"
        raise ShellError(
            f"The Dask scheduler {where} went away before the work was done."
        ) from error
