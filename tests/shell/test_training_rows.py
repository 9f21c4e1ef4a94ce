"""Rows in files are learned from as the same rows in memory."""

import numpy as np
import pandas as pd
import pytest

from committee.shell import training_rows as module
from committee.shell.errors import ShellError
from committee.shell.output import Voice
from committee.shell.training_rows import in_memory, in_parts
from tests.shell.conftest import QUIET
from tests.shell.test_survey import write

pytest.importorskip("dask.dataframe")


def both(folder, frame, target, cuts=(0, 40, 40, 90), *, for_trees=True, **options):
    """The lesson of a table in memory, and of the same table in parts."""
    options = {"task": None, "for_trees": for_trees, "voice": QUIET} | options
    pieces = [frame.iloc[r] for r in np.split(np.arange(len(frame)), cuts)]
    return (
        in_memory(frame, target, **options),
        in_parts(write(folder, *pieces), target, **options),
    )


def assert_same(found, expected):
    assert (found.task, found.columns) == (expected.task, expected.columns)
    assert found.n_rows == expected.n_rows
    np.testing.assert_allclose(found.X.compute(), expected.X, rtol=1e-12)
    np.testing.assert_array_equal(found.y.compute(), expected.y)
    assert found.y.dtype == expected.y.dtype


@pytest.mark.parametrize("for_trees", [True, False])
@pytest.mark.parametrize("target", ["grade", "price", "member"])
def test_parts_equal_memory(target, for_trees, tmp_path, table):
    expected, found = both(tmp_path, table, target, for_trees=for_trees)
    assert_same(found, expected)
    assert found.X.chunks[0] == (40, 50, 30)
    assert [part.name[-7:] for part in found.parts] == ["-1.csv'", "-3.csv'", "-4.csv'"]
    new = table.assign(town="Oslo")
    np.testing.assert_allclose(
        found.reader.transform(found.columns.take(new)),
        expected.reader.transform(expected.columns.take(new)),
        rtol=1e-12,
    )


def test_codes_with_zeros_in_front_stay_text(tmp_path):
    n = 60
    frame = pd.DataFrame({"code": ["007", "012"] * (n // 2), "grade": ["a", "b"] * 30})
    frame.loc[n - 1, "code"] = "x"
    expected, found = both(tmp_path, frame, "grade", [30])
    assert_same(found, expected)
    assert found.columns.words == ["code"]


def test_large_tables_are_scaled_by_a_sample(tmp_path, table, monkeypatch, capsys):
    monkeypatch.setattr(module, "SAMPLED_ROWS", 50)
    parts = write(tmp_path, table[:70], table[70:])
    options = {"task": None, "for_trees": False, "voice": Voice()}
    found = in_parts(parts, "price", **options)
    assert "those of one row in 3." in capsys.readouterr().err
    rows = pd.concat([table[:70:3], table[70::3]])
    scaler = found.reader.named_transformers_["numbers"][-1]
    assert scaler.mean_[0] == pytest.approx(rows["size"].mean())


def test_the_task_is_guessed_from_all_parts(tmp_path, capsys):
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40) // 4})
    parts = write(tmp_path, frame[:20], frame[20:])
    found = in_parts(parts, "y", task=None, for_trees=True, voice=Voice())
    assert found.task == "classification"
    assert "has 10 distinct values such as 0" in capsys.readouterr().err
    more = pd.DataFrame({"a": [1.0], "y": [99]})
    parts = write(tmp_path, frame[:20], frame[20:], more)
    found = in_parts(parts, "y", task=None, for_trees=True, voice=QUIET)
    assert found.task == "regression"


def test_one_value_in_all_parts_is_refused(tmp_path, table):
    parts = write(tmp_path, table[:50].assign(grade="a"), table[50:].assign(grade="a"))
    with pytest.raises(ShellError, match="All 120 rows have 'a'"):
        in_parts(parts, "grade", task=None, for_trees=True, voice=QUIET)


def test_an_infinite_number_names_file_and_row(tmp_path, table):
    table.loc[75, "size"] = np.inf
    parts = write(tmp_path, table[:70], table[70:])
    found = in_parts(parts, "grade", task=None, for_trees=True, voice=QUIET)
    with pytest.raises(
        ShellError, match=r"part-1.csv': The column 'size' .* Row 6 has"
    ):
        found.X.compute()
