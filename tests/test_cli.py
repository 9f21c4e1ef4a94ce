"""The shell: what it prints where, and its exit status."""

import pytest
from typer.testing import CliRunner

import committee
from committee import Ambiguity
from committee.cli import app
from committee.demo import Outcome, unlike_models

runner = CliRunner()


@pytest.fixture
def two_outcomes(monkeypatch):
    outcomes = [
        Outcome(
            "unlike models", 25, 6, 0.007, 0.012, 0.005, Ambiguity(1, 3, 2), 4.2, 9.0
        ),
        Outcome(
            "bagged trees", 100, 87, 0.15, 0.045, 0.043, Ambiguity(1, 3, 2), 1.1, 0.5
        ),
    ]
    asked = {}

    def run_demo(**options):
        asked.update(options)
        return outcomes

    monkeypatch.setattr("committee.demo.run_demo", run_demo)
    return asked


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"committee {committee.__version__}\n"


def test_demo_prints_a_table_that_fits_80_columns(two_outcomes):
    result = runner.invoke(app, ["demo", "--seed", "3", "--jobs", "1"])
    assert result.exit_code == 0
    assert two_outcomes == {"seed": 3, "n_jobs": 1, "verbose": True}
    lines = result.stdout.splitlines()
    cells = {" ".join(x[:-2]): x[-2:] for x in map(str.split, lines) if len(x) > 2}
    assert cells["test error of the best member"] == ["0.7%", "15.0%"]
    assert cells["test error of the committee"] == ["0.5%", "4.3%"]
    assert cells["= committee's error"] == ["1.000", "1.000"]
    assert any("6 of 25" in line and "87 of 100" in line for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", [["nonsense"], ["demo", "--jobs", "many"]])
def test_usage_errors_have_status_2(words):
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    assert words[0 if len(words) == 1 else 1] in result.stderr
    assert result.stdout == ""


def test_without_a_command_the_help_is_shown():
    assert "demo" in runner.invoke(app, []).output


def test_the_pool_of_the_demo_holds_unlike_models():
    models = unlike_models()
    assert len(models) == 25
    assert len({name for name, _ in models}) == 25
