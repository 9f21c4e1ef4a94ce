"""Which files a table is made of, and that parts are read as the whole is."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from committee.shell import parts as module
from committee.shell.errors import USAGE, ShellError
from committee.shell.parts import (
    as_array,
    as_chunks,
    files_of,
    is_spread,
    naming_files,
    parts_of,
    refuse_more,
    refuse_spread,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    return tmp_path / "rows"


def test_files_come_in_the_order_of_their_numbers(folder):
    for number in (10, 2, 1):
        (folder / f"part.{number}.csv").write_text("a\n1\n")
    (folder / "part.1²3.csv").write_text("a\n1\n")  # int("²") is an error
    (folder / "_SUCCESS.csv").write_text("")
    (folder / "folder.csv").mkdir()
    assert files_of("rows/*.csv") == [f"rows/part.{i}.csv" for i in (1, "1²3", 2, 10)]


def test_a_folder_stands_for_its_parquet_files(folder, table):
    for number in (0, 1):
        table.to_parquet(folder / f"part.{number}.parquet")
    (folder / "notes.txt").write_text("hello")
    assert is_spread("rows")
    assert files_of("rows") == ["rows/part.0.parquet", "rows/part.1.parquet"]


@pytest.mark.parametrize(
    ("data", "said"),
    [("rows/*.csv", "check its folder"), ("rows", "has no files *.parquet")],
)
def test_no_files_at_all(data, said, folder):
    with pytest.raises(ShellError, match=said.replace("*", r"\*")) as caught:
        files_of(data)
    assert caught.value.status == USAGE


def test_a_file_with_stars_in_its_name_is_a_file(folder):
    (folder / "a*.csv").write_text("a\n1\n")
    assert not is_spread("rows/a*.csv")
    assert is_spread("rows/a*.csv", "tcp://10.0.0.1:8786")
    assert files_of("rows/a*.csv") == ["rows/a*.csv"]


def test_standard_input_is_not_for_workers():
    assert not is_spread("-")
    with pytest.raises(ShellError, match="standard input"):
        is_spread("-", "tcp://10.0.0.1:8786")


def test_a_pattern_is_refused_where_rows_must_be_in_memory():
    refuse_spread("rows.csv", "A page")
    with pytest.raises(ShellError, match=r"A page is made from rows in memory"):
        refuse_spread("rows/*.csv", "A page")


def test_files_of_two_kinds_are_refused(folder, table):
    table.to_csv(folder / "a.csv")
    table.to_parquet(folder / "b.parquet")
    with pytest.raises(ShellError, match=r"'rows/b.parquet' is Parquet and 'rows/a"):
        parts_of(files_of("rows/*"))


def test_a_large_parquet_file_is_read_by_groups_of_rows(folder, table, monkeypatch):
    table.to_parquet(folder / "a.parquet", row_group_size=30)
    path = str(folder / "a.parquet")
    (whole,) = parts_of([path])
    monkeypatch.setattr(module, "_LARGE", 0)
    monkeypatch.setattr(module, "_PART", 1)
    pieces = parts_of([path])
    assert [piece.groups for piece in pieces] == [(0,), (1,), (2,), (3,)]
    read = pd.concat([piece.read() for piece in pieces], ignore_index=True)
    assert_frame_equal(read, whole.read())
    monkeypatch.setattr(module, "_PART", 1 << 30)
    assert [piece.groups for piece in parts_of([path])] == [(0, 1, 2, 3)]


def test_a_part_without_rows_is_fine_and_a_damaged_one_has_a_name(folder):
    (folder / "a.csv").write_text("size,town\n")
    (folder / "b.csv").write_text("size,town\n1,Bonn,2\n")
    empty, ragged = parts_of(files_of("rows/*.csv"))
    assert empty.read().columns.tolist() == ["size", "town"]
    assert not len(empty.read())
    with pytest.raises(ShellError, match=r"'rows/b.csv' is ragged"):
        ragged.read()


def test_errors_have_the_name_of_the_file(folder):
    for name in "ab":
        (folder / f"{name}.csv").write_text("size\n1\n")
    both = parts_of(files_of("rows/*.csv"))
    with pytest.raises(ShellError, match=r"^'rows/b.csv': too short$"), both[1].named():
        raise ValueError("too short")
    with pytest.raises(ShellError, match=r"^'rows/b.csv': NaN\.$"), naming_files(both):
        raise ValueError("Chunk 1: NaN.")
    for said in ("All is wrong", "Chunk 7 is not of this table"):
        with pytest.raises(ValueError, match=f"^{said}$"), naming_files(both):
            raise ValueError(said)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Chunk 1 has rows of one class only", "'rows/b.csv' has rows of one"),
        ("Member 2 failed: Chunk 0: too deep", "Member 2 failed: 'rows/a.csv': too"),
    ],
)
def test_chunks_are_files_wherever_they_are_spoken_of(said, named, folder):
    for name in "ab":
        (folder / f"{name}.csv").write_text("size\n1\n")
    both = parts_of(files_of("rows/*.csv"))
    with pytest.raises(ShellError, match=f"^{named}"), naming_files(both):
        raise ValueError(said)


def test_a_file_that_cannot_be_read_has_a_name(folder):
    (folder / "a.csv").write_text("size\n1\n")
    (part,) = parts_of(files_of("rows/*.csv"))
    with pytest.raises(ShellError, match=r"^'rows/a.csv': Stale handle$"), part.named():
        raise OSError(116, "Stale handle", "/x")
    with pytest.raises(ShellError, match=r"^'rows/a.csv': short file$"), part.named():
        raise OSError("short file")


def test_a_pattern_without_quotes_is_more_than_one_file():
    refuse_more([])
    with pytest.raises(
        ShellError, match=r"'b.csv', 'c.csv' came .* in quotes"
    ) as caught:
        refuse_more(["b.csv", "c.csv"])
    assert caught.value.status == USAGE


def test_parts_become_an_array(folder):
    pytest.importorskip("dask.array")
    for name, size in (("a", 2), ("b", 3)):
        (folder / f"{name}.csv").write_text("size\n" + "1.5\n" * size)
    parts = parts_of(files_of("rows/*.csv"))
    chunks = as_chunks(parts).map(lambda part: part.read().to_numpy())
    array = as_array(chunks, [2, 3], (1,), np.float64)
    assert array.chunks == ((2, 3), (1,))
    np.testing.assert_array_equal(array.compute(), np.full((5, 1), 1.5))
