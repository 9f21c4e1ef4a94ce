"""The commands: what they print, their statuses, and that a study continues."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from studies import hamers_sine
from studies.__main__ import main
from studies.kept import read

ONE = ("--runs", "1", "--jobs", "1")


@pytest.fixture
def study(tmp_path, capsys):
    """Run a command on one store; return its status, output and errors."""

    def run(*arguments):
        try:
            status = main([*arguments, "--store", str(tmp_path / "studies.sqlite")])
        except SystemExit as stopped:
            status = stopped.code
        return status, *capsys.readouterr()

    return run


def test_run_then_continue_then_show_then_keep(study, tmp_path):
    assert study("run", "hamers-sine", *ONE)[1].startswith("1 new runs in")
    status, out, _ = study("run", "hamers-sine", "--runs", "3", "--jobs", "1")
    assert (status, out[:1]) == (0, "2")
    assert "3 runs of each cell (1)" in study("show", "hamers-sine")[1]
    assert study("keep", "hamers-sine", "--output", str(tmp_path))[0] == 0
    assert "3 runs of each cell (1)" in read("hamers-sine", tmp_path).made
    (line,) = [x for x in study("list")[1].splitlines() if "sine" in x]
    assert line.split()[-1] == "3"


def test_what_is_kept_is_shown_without_a_store(capsys):
    assert main(["show", "chen-ranks"]) == 0
    assert "1.1429" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["show", "hamers-sin"], 2, "invalid choice: 'hamers-sin'"),
        (["show"], 2, "required: NAME"),
        (["show", "hamers-sine", "--format", "pdf"], 2, "invalid choice: 'pdf'"),
        (["show", "hamers-sine"], 1, "There is no store"),
        (["keep", "hamers-sine"], 1, "There is no store"),
        (["run", "chen-classification", "--data", "."], 1, "needs raetsch_banana.npz"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_a_status(study, arguments, status, sentence):
    found, _, errors = study(*arguments)
    assert found == status
    assert sentence in errors.splitlines()[-1]


def test_a_run_that_fails_does_not_stop_the_next_study(study, monkeypatch):
    def broken(job):
        raise ZeroDivisionError("no such number")

    monkeypatch.setattr(hamers_sine, "STUDY", replace(hamers_sine.STUDY, run=broken))
    status, out, errors = study("run", "hamers-sine", "chen-ranks", *ONE)
    assert (status, out[:1]) == (1, "0")
    assert "error: 1 of 1 runs of hamers-sine failed" in errors


@pytest.mark.parametrize("runs", ["-3", "0", "1.5", "many"])
def test_runs_are_at_least_one(study, runs):
    status, _, error = study("run", "hamers-sine", f"--runs={runs}")
    assert status == 2
    assert f"--runs: must be a whole number, at least 1. Got '{runs}'" in error


def test_a_reader_that_has_enough_is_no_error():
    """As `show ... | head` does: the pipe is closed before the page is written."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "studies", "show", "chen-ranks"]
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "")
