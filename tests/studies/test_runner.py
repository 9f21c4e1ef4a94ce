import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from committee.studies.runner import FailedRunsError, run_study
from committee.studies.store import Store
from tests.reference.data import load_or_skip
from tests.studies.small import TOY, folder, rows, toy_run

ROOT = Path(__file__).parents[2]

#: Runs the toy; a run may kill the whole of it once so many others are finished.
SCRIPT = """
import os, signal, sys
from dataclasses import replace
from committee.studies.runner import run_study
from committee.studies.store import Store
from tests.studies.small import TOY, toy_run

store, (jobs, fatal) = Store(sys.argv[1]), map(int, sys.argv[2:])
main = os.getpid()

def run(job):
    if fatal and len(store.done("toy", TOY.protocols)) >= fatal:
        os.kill(main, signal.SIGKILL)
    return toy_run(job)

print(run_study(replace(TOY, run=run), store, runs=6, jobs=jobs))
"""


def start(path, jobs=1, fatal=0):
    arguments = [sys.executable, "-c", SCRIPT, str(path), str(jobs), str(fatal)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def undisturbed(tmp_path):
    store = Store(tmp_path / "undisturbed.sqlite")
    assert run_study(TOY, store, runs=6) == 18
    return rows(store)


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_in_mid_run_and_started_again_the_table_is_the_same(
    tmp_path, undisturbed, jobs
):
    path = tmp_path / "killed.sqlite"
    with start(path, jobs, fatal=7) as process:
        assert process.wait() == -signal.SIGKILL
    finished = len(Store(path).done("toy", TOY.protocols))
    assert 7 <= finished < 18
    assert run_study(TOY, Store(path), runs=6) == 18 - finished
    assert rows(Store(path)) == undisturbed


def test_two_processes_share_a_store(tmp_path, undisturbed):
    path = tmp_path / "shared.sqlite"
    with start(path) as one, start(path) as other:
        counts = [int(p.communicate()[0]) for p in (one, other)]
        assert (one.returncode, other.returncode) == (0, 0)
    assert sum(counts) >= 18
    assert rows(Store(path)) == undisturbed


def test_the_numbers_do_not_depend_on_the_jobs(tmp_path, undisturbed):
    store = Store(tmp_path / "parallel.sqlite")
    assert run_study(TOY, store, runs=6, jobs=2) == 18
    assert rows(store) == undisturbed


def test_more_runs_continue_and_fewer_do_nothing(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    assert run_study(TOY, store, runs=1) == 3
    assert run_study(TOY, store) == 12  # up to the five of the study
    assert run_study(TOY, store, runs=2) == 0


def test_cells_without_data_are_left_out_with_a_note(tmp_path):
    study = replace(TOY, datasets={"b": "raetsch_banana"})
    store, notes = Store(tmp_path / "s.sqlite"), []
    count = run_study(study, store, runs=2, data=str(tmp_path), note=notes.append)
    assert count == 4
    assert len(notes) == 1
    assert "raetsch_banana.npz" in notes[0]


def test_a_study_without_any_data_says_what_it_needs(tmp_path):
    study = replace(TOY, cells=("b",), datasets={"b": "raetsch_banana"})
    with pytest.raises(FileNotFoundError, match=r"raetsch_banana\.npz"):
        run_study(study, Store(tmp_path / "s.sqlite"), data=str(tmp_path))


def fails_once_in_a_while(job):
    if (job.cell, job.run) == ("b", 1):
        raise ZeroDivisionError("no such number")
    return toy_run(job)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path, undisturbed, jobs):
    store, notes = Store(tmp_path / "s.sqlite"), []
    study = replace(TOY, run=fails_once_in_a_while)
    with pytest.raises(FailedRunsError, match="1 of 18 runs of toy failed"):
        run_study(study, store, runs=6, jobs=jobs, note=notes.append)
    assert notes == ["Run 1 of toy, b, failed (ZeroDivisionError: no such number)."]
    assert len(store.done("toy", TOY.protocols)) == 17
    assert run_study(TOY, store, runs=6) == 1
    assert rows(store) == undisturbed


def test_the_source_of_data_is_stored_without_the_folder(tmp_path):
    load_or_skip("raetsch_banana")
    store = Store(tmp_path / "s.sqlite")
    study = replace(TOY, datasets={"b": "raetsch_banana"})
    run_study(study, store, runs=1, data=folder())
    assert store.costs("toy")["sources"] == ["raetsch_banana.npz"]
