import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from studies.runner import FailedRunsError, noted, run_study
from studies.store import Store
from tests.reference.data import load_or_skip
from tests.studies.small import TOY, folder, rows, toy_run

#: Runs the toy; the first of two processes is killed once so many runs are finished.
SCRIPT = """
import os, signal, sys
from dataclasses import replace
from studies.runner import run_study
from studies.store import Store
from tests.studies.small import TOY, toy_run

store, fatal = Store(sys.argv[1]), int(sys.argv[2])

def run(job):
    if len(store.done("toy", TOY.protocols)) >= fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return toy_run(job)

run_study(replace(TOY, run=run), store, runs=6)
"""


def start(path, fatal):
    arguments = [sys.executable, "-c", SCRIPT, str(path), str(fatal)]
    return subprocess.Popen(arguments, cwd=Path(__file__).parents[2])


@pytest.fixture
def undisturbed(tmp_path):
    store = Store(tmp_path / "undisturbed.sqlite")
    assert run_study(TOY, store, runs=6) == 18
    return rows(store)


@pytest.mark.slow
def test_two_processes_share_a_store_are_killed_and_it_goes_on(tmp_path, undisturbed):
    path = tmp_path / "killed.sqlite"
    with start(path, fatal=7) as one, start(path, fatal=9) as other:
        assert {one.wait(), other.wait()} == {-signal.SIGKILL}
    finished = len(Store(path).done("toy", TOY.protocols))
    assert 7 <= finished < 18
    assert run_study(TOY, Store(path), runs=6) == 18 - finished
    assert rows(Store(path)) == undisturbed


def fails_once(job):
    if (job.cell, job.run) == ("b", 1):
        raise ZeroDivisionError("no such number")
    return toy_run(job)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_noted_and_the_others_go_on(tmp_path, undisturbed, jobs):
    """The numbers are the same for any number of jobs."""
    store, notes = Store(tmp_path / "s.sqlite"), []
    study = replace(TOY, run=fails_once)
    with pytest.raises(FailedRunsError, match="1 of 18 runs of toy failed"):
        run_study(study, store, runs=6, jobs=jobs, note=notes.append)
    assert notes == ["Run 1 of toy, b, failed (ZeroDivisionError: no such number)."]
    assert len(store.done("toy", TOY.protocols)) == 17
    assert run_study(TOY, store, runs=6) == 1
    assert rows(store) == undisturbed


def test_more_runs_continue_and_fewer_do_nothing(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    assert run_study(TOY, store, runs=1) == 3
    assert run_study(TOY, store) == 12  # up to the five of the study
    assert run_study(TOY, store, runs=2) == 0


def test_cells_without_data_are_left_out_with_a_note(tmp_path):
    study = replace(TOY, datasets={"b": "raetsch_banana"})
    store, notes = Store(tmp_path / "s.sqlite"), []
    assert run_study(study, store, runs=2, data=tmp_path, note=notes.append) == 4
    (note,) = notes
    assert "raetsch_banana.npz" in note
    study = replace(study, cells=("b",))
    with pytest.raises(FileNotFoundError, match=r"raetsch_banana\.npz"):
        run_study(study, store, data=tmp_path)


def test_the_source_of_data_is_stored_without_the_folder(tmp_path):
    load_or_skip("raetsch_banana")
    store = Store(tmp_path / "s.sqlite")
    study = replace(TOY, cells=("b",), datasets={"b": "raetsch_banana"})
    run_study(study, store, runs=1, data=folder())
    (versions,) = store.costs("toy").versions
    assert json.loads(versions)["data"] == "raetsch_banana.npz"


def test_a_line_a_minute_where_there_is_no_terminal():
    """Items take 25 s: the third is the first after a minute, the sixth the next."""
    times, lines = iter(range(0, 1000, 25)), []
    out = list(noted("abcdefg", 7, "toy", lines.append, clock=lambda: next(times)))
    assert out == list("abcdefg")
    assert lines == ["toy: 3 of 7 runs after 1 min.", "toy: 6 of 7 runs after 2 min."]
