"""Facts about all rows are those of the rows in one table, whatever the parts."""

import numpy as np
import pandas as pd
import pytest

from committee.shell import survey as module
from committee.shell.encoding import Columns
from committee.shell.errors import ShellError
from committee.shell.parts import as_chunks, files_of, parts_of
from committee.shell.survey import Distinct, surveyed
from committee.shell.tables import read_table

pytest.importorskip("dask.dataframe")


def write(folder, *frames, ending="csv"):
    """Write frames as parts, and return these."""
    for number, frame in enumerate(frames):
        if ending == "csv":
            frame.to_csv(folder / f"part-{number}.csv", index=False)
        else:
            frame.to_parquet(folder / f"part-{number}.{ending}")
    return parts_of(files_of(str(folder / f"*.{ending}")))


def facts(parts, target="grade"):
    return surveyed(as_chunks(parts), target)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("cuts", [[], [50], [0, 7, 7, 90, 120]])
def test_columns_are_those_of_the_whole_table(cuts, ending, tmp_path, table):
    table["name"] = [f"row {i}" for i in range(len(table))]
    rows = np.split(np.arange(len(table)), cuts)
    parts = write(tmp_path, *(table.iloc[r] for r in rows), ending=ending)
    found, words = facts(parts)
    assert found.columns() == Columns.of(table.drop(columns="grade"))
    assert found.sizes == tuple(map(len, rows))
    assert sorted(found.target.values) == ["no", "yes"]
    assert words == []


def test_text_in_one_file_makes_the_column_text_in_all(tmp_path):
    one = pd.DataFrame({"code": ["007", "012"], "grade": ["a", "b"]})
    two = pd.DataFrame({"code": ["x1", None], "grade": ["a", "b"]})
    found, words = facts(write(tmp_path, one, two))
    assert words == ["code"]
    assert found.words["code"].values == ("007", "012", "x1")
    stand_in = found.stand_in(found.columns())
    assert stand_in["code"].tolist()[:3] == ["007", "012", "x1"]
    assert stand_in["code"].isna().sum() == 1


def test_booleans_and_numbers_are_what_they_are_in_one_file(tmp_path):
    one = pd.DataFrame({"a": [True, False], "b": [True, None], "c": [1, 2]})
    two = pd.DataFrame({"a": [0, 1], "b": [None, 0.5], "c": [1.5, None]})
    one, two = one.assign(grade=["a", "b"]), two.assign(grade=["b", "a"])
    parts = write(tmp_path, one, two)
    found, words = facts(parts)
    assert words == ["a", "b"]
    texts = [(tmp_path / f"part-{i}.csv").read_text() for i in (0, 1)]
    whole = tmp_path / "whole.csv"
    whole.write_text(texts[0] + texts[1].split("\n", 1)[1])
    table = read_table(str(whole))
    assert found.columns() == Columns.of(table.drop(columns="grade"))
    for name in words:
        values = table[name].dropna().unique().tolist()
        assert list(found.words[name].values) == values


def test_booleans_and_numbers_of_parquet_are_numbers(tmp_path):
    one = pd.DataFrame({"a": [True, False], "grade": ["a", "b"]})
    two = pd.DataFrame({"a": [0, 1], "grade": ["a", "b"]})
    found, words = facts(write(tmp_path, one, two, ending="parquet"))
    assert words == found.columns().words == []


def test_parquet_with_two_types_is_refused(tmp_path):
    one = pd.DataFrame({"code": [7, 12], "grade": ["a", "b"]})
    two = pd.DataFrame({"code": ["x1", "x2"], "grade": ["a", "b"]})
    with pytest.raises(ShellError, match=r"'code' has .* in '.*part-[01].parquet' and"):
        facts(write(tmp_path, one, two, ending="parquet"))


def test_files_with_other_columns_are_refused(tmp_path, table):
    parts = write(tmp_path, table, table, table.drop(columns="age"))
    with pytest.raises(ShellError, match=r"part-2.csv' lacks 'age' of '.*part-0.csv'"):
        facts(parts)


def test_columns_may_stand_in_any_order(tmp_path, table):
    found, _ = facts(write(tmp_path, table, table[table.columns[::-1]]))
    assert list(found.names) == [name for name in table.columns if name != "grade"]


def test_no_rows_in_any_file(tmp_path, table):
    with pytest.raises(ShellError, match="have no rows"):
        facts(write(tmp_path, table[:0], table[:0]))


def test_a_gap_in_the_target_names_the_file(tmp_path, table):
    table.loc[70, "grade"] = None
    with pytest.raises(ShellError, match=r"part-1.csv': The target .* first row 11"):
        facts(write(tmp_path, table[:60], table[60:]))


def test_a_target_of_booleans_and_numbers_is_refused(tmp_path):
    one = pd.DataFrame({"a": [1, 2], "grade": [True, False]})
    two = pd.DataFrame({"a": [1, 2], "grade": [1, 0]})
    with pytest.raises(ShellError, match=r"has .* in .* and .* in"):
        facts(write(tmp_path, one, two))


def test_row_numbers_may_begin_again_in_every_file(tmp_path, table):
    for number, part in enumerate((table[:60], table[60:].reset_index(drop=True))):
        part.to_csv(tmp_path / f"part-{number}.csv")
    found, _ = facts(parts_of(files_of(str(tmp_path / "*.csv"))))
    assert found.columns().left_out == ["Unnamed: 0"]


def test_too_many_texts_are_left_out_or_refused(tmp_path, table, monkeypatch):
    monkeypatch.setattr(module, "MOST_WORDS", 25)
    table["name"] = [f"row {i}" for i in range(len(table))]
    halves = table[:60].drop(columns="code"), table[60:].drop(columns="code")
    found, _ = facts(write(tmp_path, *halves))
    assert found.columns().left_out == ["name"]
    table.loc[1, "name"] = "row 0"
    found, _ = facts(write(tmp_path, table[:60], table[60:]))
    with pytest.raises(ShellError, match="more than 25 distinct texts"):
        found.columns()


def test_distinct_values_add_up_in_the_order_of_rows():
    column = pd.Series(["b", "a", None, "b", "c", "a"])
    whole = Distinct.of(column, 10)
    for cut in range(len(column) + 1):
        parts = Distinct.of(column[:cut], 10), Distinct.of(column[cut:], 10)
        both = parts[0].plus(parts[1])
        assert (both.values, both.missing) == (whole.values, whole.missing)
    assert Distinct.of(column, 2).more
    assert not whole.all_differ(6)
