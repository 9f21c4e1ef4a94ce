"""Run what is missing of a study, in any order, on any number of cores."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import getpid
from pathlib import PurePath
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from committee._progress import track
from committee.studies.datasets import load
from committee.studies.store import Finished, Store
from committee.studies.study import Job, Outcome, Study

#: Runs of one cell that may be apart while a study is under way.
_STRIDE = 5


def run_study(
    study: Study,
    store: Store,
    *,
    runs: int | None = None,
    jobs: int = 1,
    data: str | None = None,
    shown: bool = False,
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
    shown : bool, default=False
        Show a progress bar on standard error.
    note : callable
        Is told in a sentence about cells that cannot be run, and runs that failed.

    Examples
    --------
    >>> import tempfile
    >>> from committee.studies.runner import run_study
    >>> from committee.studies.store import Store
    >>> from committee.studies.study import Study
    >>> toy = Study("toy", "", "", ("a", "b"), lambda job: {"paper": {"x": job.run}},
    ...             lambda shelf: [], lambda shelf, data: None, "", ("paper",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/studies.sqlite")
    ...     run_study(toy, store, runs=3), run_study(toy, store, runs=4)
    (6, 2)
    """
    cells = _runnable(study, data, note)
    wanted = study.runs if runs is None else runs
    done = store.done(study.name, study.protocols)
    missing = [
        Job(study.name, cell, run, data)
        for cell in cells
        for run in range(wanted)
        if (cell, run) not in done
    ]
    # Two processes on one store would step on each other's heels in the same order.
    shuffle = random.Random(getpid())
    missing.sort(key=lambda job: (job.run // _STRIDE, shuffle.random()))
    parallel = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="n_jobs",
    )
    stream = parallel(
        delayed(_attempt)(study.run, job) for job in _still_open(study, store, missing)
    )
    count, failed = 0, []
    for done_now in track(stream, len(missing), study.name, shown):
        if isinstance(done_now, str):
            note(done_now)
            failed.append(done_now)
            continue
        store.add(replace(done_now, source=cells[done_now.job.cell]))
        count += 1
    if failed:
        raise FailedRunsError(
            f"{len(failed)} of {len(missing)} runs of {study.name} failed, the others "
            f"are in the store. {failed[0]}"
        )
    return count


class FailedRunsError(RuntimeError):
    """Some runs of a study failed; those that did not are in the store."""


def _attempt(run: Callable[..., Outcome], job: Job) -> Finished | str:
    """Do one run, or return a sentence about it: the others are to go on."""
    try:
        return perform(run, job)
    except Exception as error:  # noqa: BLE001 (it is told, and one run costs no other)
        place = f"Run {job.run} of {job.study}, {job.cell}"
        return f"{place}, failed ({type(error).__name__}: {error})."


def perform(run: Callable[..., Outcome], job: Job, **options: Any) -> Finished:
    """Do one run on one BLAS thread; what converges slowly does so silently.

    Parameters
    ----------
    run : callable
        Of a study.
    job : Job
    **options
        Smaller sizes than those of the paper.
    """
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = run(job, **options)
    return Finished(job, outcome, time.perf_counter() - start, peak_memory())


def peak_memory() -> float | None:
    """Return the most memory in MB that this process has held, where known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _still_open(study: Study, store: Store, missing: list[Job]) -> Iterator[Job]:
    """Yield what nobody else has finished by the time that its turn comes."""
    for job in missing:
        if (job.cell, job.run) not in store.done(study.name, study.protocols):
            yield job


def _runnable(
    study: Study, data: str | None, note: Callable[[str], None]
) -> dict[str, str]:
    """Return the cells whose data are there, and their sources; fetch what is needed."""
    sentences, sources = {}, {}
    for name in dict.fromkeys(study.datasets.values()):
        try:
            # The name of a file, not its folder, is the same on all machines.
            sources[name] = PurePath(load(name, data=data).source).name
        except FileNotFoundError as error:
            sentences[name] = str(error)
    cells = {
        cell: sources.get(study.datasets.get(cell, ""), "")
        for cell in study.cells
        if study.datasets.get(cell) not in sentences
    }
    if study.cells and not cells:
        raise FileNotFoundError(next(iter(sentences.values())))
    for sentence in sentences.values():
        note(f"Cells of {study.name} are left out. {sentence}")
    return cells
