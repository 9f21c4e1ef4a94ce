"""Run what is missing of a study, in any order, on any number of cores."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from os import getpid
from pathlib import PurePath
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from committee._parallel import track
from studies.datasets import load
from studies.store import Finished, Store
from studies.study import Job, Outcome, Study

#: Every cell has its first runs before any cell has this many more.
_STRIDE = 5
#: Seconds between two lines of progress where there is no terminal.
_A_MINUTE = 60.0


class FailedRunsError(RuntimeError):
    """Some runs of a study failed; those that did not are in the store."""


def run_study(
    study: Study,
    store: Store,
    *,
    runs: int | None = None,
    jobs: int = 1,
    data: str | None = None,
    progress: bool = False,
    note: Callable[[str], None] = warnings.warn,
) -> int:
    """Run what is not yet in the store, and return how many runs that were.

    Parameters
    ----------
    study : Study
    store : Store
    runs : int, optional
        Runs of each cell; those of the paper unless given.
    jobs : int, default=1
        Processes; -1 for all cores. The numbers do not depend on it.
    data : str, optional
        The folder of data sets.
    progress : bool, default=False
        Show a progress bar on standard error; otherwise `note` gets a line a minute.
    note : callable
        Gets a sentence about cells that cannot be run, runs that failed, and progress.
    """
    cells = _runnable(study, data, note)
    done = store.done(study.name, study.protocols)
    missing = [
        Job(study.name, cell, run, data)
        for cell in cells
        for run in range(study.runs if runs is None else runs)
        if (cell, run) not in done
    ]
    # Two processes that share a store in the same order would do the same runs.
    shuffle = random.Random(getpid())
    missing.sort(key=lambda job: (job.run // _STRIDE, shuffle.random()))
    parallel = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="n_jobs",
    )
    stream = parallel(
        delayed(_attempt)(study.run, job) for job in _not_done(study, store, missing)
    )
    count, failures = 0, []
    stream = track(stream, len(missing), study.name, progress)
    if not progress:
        stream = noted(stream, len(missing), study.name, note)
    for result in stream:
        if isinstance(result, str):
            note(result)
            failures.append(result)
        else:
            store.add(replace(result, source=cells[result.job.cell]))
            count += 1
    if failures:
        raise FailedRunsError(
            f"{len(failures)} of {len(missing)} runs of {study.name} failed, the others "
            f"are in the store. {failures[0]}"
        )
    return count


def noted(
    items: Iterable[Any],
    total: int,
    label: str,
    note: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Any]:
    """Yield the items; once a minute, `note` gets how many there have been."""
    start = last = clock()
    for count, item in enumerate(items, 1):
        yield item
        now = clock()
        if now - last >= _A_MINUTE:
            last = now
            note(
                f"{label}: {count} of {total} runs after {(now - start) / 60:.0f} min."
            )


def _not_done(study: Study, store: Store, missing: list[Job]) -> Iterator[Job]:
    """Yield what no other process has finished by the time that its turn comes."""
    for job in missing:
        if (job.cell, job.run) not in store.done(study.name, study.protocols):
            yield job


def _attempt(run: Callable[..., Outcome], job: Job) -> Finished | str:
    """Do one run, or return a sentence about its failure: the others go on."""
    try:
        return perform(run, job)
    except Exception as error:  # noqa: BLE001 (reported, and one run costs no other)
        place = f"Run {job.run} of {job.study}, {job.cell}"
        return f"{place}, failed ({type(error).__name__}: {error})."


def perform(run: Callable[..., Outcome], job: Job, **options: Any) -> Finished:
    """Do one run on one BLAS thread; `options` are smaller sizes than the paper's."""
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop before they converge
        outcome = run(job, **options)
    return Finished(job, outcome, time.perf_counter() - start, _peak_memory())


def _peak_memory() -> float | None:
    """Return the most memory in MB that this process has held, where known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _runnable(
    study: Study, data: str | None, note: Callable[[str], None]
) -> dict[str, str]:
    """Return the cells whose data are there, and their sources."""
    sources, missing = {"": ""}, {}
    for name in dict.fromkeys(study.datasets.values()):
        try:
            # The name of a file, not its folder, is the same on all machines.
            sources[name] = PurePath(load(name, data=data).source).name
        except FileNotFoundError as error:
            missing[name] = str(error)
    names = {cell: study.datasets.get(cell, "") for cell in study.cells}
    cells = {cell: sources[name] for cell, name in names.items() if name in sources}
    if study.cells and not cells:
        raise FileNotFoundError(next(iter(missing.values())))
    for sentence in missing.values():
        note(f"Cells of {study.name} are left out. {sentence}")
    return cells
