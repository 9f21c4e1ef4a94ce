"""A table with all that tables have, models trained on it once, and the shell."""

import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from committee.cli import app
from committee.shell.messages import Messages

QUIET = Messages(quiet=True)


def make_table(n=120, seed=0):
    """Numbers with gaps, words with gaps, booleans, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n).round(3)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    frame = pd.DataFrame(
        {
            "size": size,
            "age": rng.integers(20, 60, n).astype(float),
            "town": town,
            "code": rng.choice([f"c{i:02d}" for i in range(30)], n),
            "member": rng.random(n) < 0.5,
            "grade": np.where((size > 0) ^ (town == "Bonn"), "yes", "no"),
            "price": (3 * size + rng.normal(size=n)).round(3),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "town"] = None
    return frame


def run(*words, status=0, **options):
    """Run a command and check its status; nothing ever shows a traceback."""
    result = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result


def refused(*words, status=1):
    """Run a command that fails, and return the one sentence that it prints."""
    result = run(*words, "--quiet", status=status)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


@pytest.fixture
def table():
    return make_table()


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with grades.csv and prices.csv, and a model of each."""
    folder = tmp_path_factory.mktemp("trained")
    make_table().drop(columns="price").to_csv(folder / "grades.csv", index=False)
    make_table().drop(columns="grade").to_csv(folder / "prices.csv", index=False)
    for data, target, name in (
        ("grades", "grade", "classifier"),
        ("prices", "price", "regressor"),
    ):
        output = folder / f"{name}.skops"
        words = ("--target", target, "-o", output, "--members", 8, "--quiet")
        run("train", folder / f"{data}.csv", *words)
    return folder


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A working folder with those models and tables."""
    for path in trained.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
