"""Study: what it prints, its statuses, and that it continues."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from committee.cli import app

runner = CliRunner()


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "studies.sqlite")


def study(*arguments):
    return runner.invoke(app, ["study", *arguments])


def test_run_then_show_then_continue(store, tmp_path):
    done = study("run", "hamers-sine", "--runs", "2", "--jobs", "1", "--store", store)
    assert done.exit_code == 0
    assert "runs   2" in done.stdout
    again = study("run", "hamers-sine", "--runs", "3", "--jobs", "1", "--store", store)
    assert "runs   1" in again.stdout
    shown = study("show", "hamers-sine", "--store", store, "--format", "md")
    assert "3 runs of each cell (1)" in shown.stdout
    drawn = study(
        "figure", "hamers-sine", "--store", store, "-o", str(tmp_path / "sine.svg")
    )
    assert drawn.exit_code == 0
    assert (tmp_path / "sine.svg").exists()
    listed = study("list", "--store", store)
    assert [
        line.split()[-1] for line in listed.stdout.splitlines() if "sine" in line
    ] == ["3"]


def test_a_study_of_printed_tables_needs_no_store(store):
    shown = study("show", "chen-ranks", "--store", store)
    assert shown.exit_code == 0
    assert "1.1429" in shown.stdout
    assert study("run", "chen-ranks", "--store", store).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["show", "hamers-sin"], 2, "Did you mean 'hamers-sine'?"),
        (["show"], 2, "Name studies, or ask for --all"),
        (["show", "hamers-sine", "--format", "pdf"], 2, "--format is one of"),
        (["run", "hamers-sine", "--jobs", "0"], 2, "--jobs is a number of processes"),
        (["show", "hamers-sine"], 1, "There is no store"),
        (["figure", "hamers-sine"], 1, "There is no store"),
    ],
)
def test_what_cannot_be_is_one_sentence(store, arguments, status, sentence):
    result = study(*arguments, "--store", store)
    assert result.exit_code == status
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_corrupted_store_is_one_sentence(tmp_path):
    path = tmp_path / "s.sqlite"
    path.write_text("no database at all " * 99)
    result = study("run", "hamers-sine", "--store", str(path))
    assert result.exit_code == 1
    assert "is not a sound store of studies" in result.stderr


def test_missing_data_are_one_sentence(store, tmp_path):
    result = study(
        "run", "chen-classification", "--store", store, "--data", str(tmp_path)
    )
    assert result.exit_code == 1
    assert "needs raetsch_banana.npz" in result.stderr
    assert "give --data DIR, the folder that holds it" in result.stderr


def test_a_figure_of_no_runs_is_one_sentence(store, tmp_path):
    done = study("run", "hamers-sine", "--runs", "1", "--jobs", "1", "--store", store)
    assert done.exit_code == 0
    result = study("figure", "chen-poker", "--store", store)
    assert result.exit_code == 1
    assert "There are no runs of chen-poker" in result.stderr


def test_a_run_that_fails_does_not_stop_the_next_study(store, monkeypatch):
    from committee.studies import hamers_sine

    def broken(job):
        raise ZeroDivisionError("no such number")

    monkeypatch.setattr(hamers_sine, "STUDY", replace(hamers_sine.STUDY, run=broken))
    result = study("run", "hamers-sine", "chen-ranks", "--runs", "2", "--jobs", "1",
                   "--store", store)  # fmt: skip
    assert result.exit_code == 1
    assert "chen-ranks is made of" in result.stderr
    assert "2 of 2 runs of hamers-sine failed" in result.stderr


def test_the_page_in_the_docs_is_what_show_writes(store):
    """The committed page has the head and the studies of `show --all --format md`."""
    study("run", "hamers-sine", "--runs", "1", "--jobs", "1", "--store", store)
    shown = study("show", "--all", "--format", "md", "--store", store).stdout

    def headings(text):
        return [line for line in text.splitlines() if line.startswith("## ")]

    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    assert headings(shown) == headings(page)
    assert shown.splitlines()[:3] == page.splitlines()[:3]
