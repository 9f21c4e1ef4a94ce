"""Which files a table is made of, and that parts are read as the whole is."""

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from committee.shell import file_parts as module
from committee.shell.errors import USAGE, ShellError
from committee.shell.file_parts import files_of, is_for_dask, naming_files, parts_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    return tmp_path / "rows"


@pytest.fixture
def both(folder):
    for name in "ab":
        (folder / f"{name}.csv").write_text("size\n1\n")
    return parts_of(files_of("rows/*.csv"))


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
    assert is_for_dask("rows")
    assert files_of("rows") == ["rows/part.0.parquet", "rows/part.1.parquet"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [("rows/*.csv", "check its folder"), ("rows", r"has no files \*.parquet")],
)
def test_no_files_at_all(data, sentence, folder):
    with pytest.raises(ShellError, match=sentence) as caught:
        files_of(data)
    assert caught.value.status == USAGE


def test_a_file_with_stars_in_its_name_is_a_file(folder):
    (folder / "a*.csv").write_text("a\n1\n")
    assert not is_for_dask("rows/a*.csv")
    assert is_for_dask("rows/a*.csv", "tcp://10.0.0.1:8786")
    assert files_of("rows/a*.csv") == ["rows/a*.csv"]


def test_a_large_parquet_file_is_read_by_groups_of_rows(folder, table, monkeypatch):
    table.to_parquet(folder / "a.parquet", row_group_size=30)
    path = str(folder / "a.parquet")
    (whole,) = parts_of([path])
    for size, groups in (
        (1, [(0,), (1,), (2,), (3,)]),
        ((folder / "a.parquet").stat().st_size - 1, [(0, 1), (2, 3)]),
    ):
        monkeypatch.setattr(module, "_LARGE", size)
        pieces = parts_of([path])
        assert [piece.groups for piece in pieces] == groups
        read = pd.concat([piece.read() for piece in pieces], ignore_index=True)
        assert_frame_equal(read, whole.read())


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (ValueError("too short"), "'rows/b.csv': too short"),
        (OSError(116, "Stale handle", "/x"), "'rows/b.csv': Stale handle"),
        (OSError("short file"), "'rows/b.csv': short file"),
    ],
)
def test_errors_have_the_name_of_the_file(error, named, both):
    with pytest.raises(ShellError, match=f"^{named}$"), both[1].named():
        raise error


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Chunk 1 has rows of one class only", "'rows/b.csv' has rows of one"),
        ("Member 2 failed: Chunk 0: too deep", "Member 2 failed: 'rows/a.csv': too"),
    ],
)
def test_chunks_in_errors_become_files(text, named, both):
    with pytest.raises(ShellError, match=f"^{named}"), naming_files(both):
        raise ValueError(text)


@pytest.mark.parametrize("text", ["All is wrong", "Chunk 7 is not of this table"])
def test_other_errors_stay_as_they_are(text, both):
    with pytest.raises(ValueError, match=f"^{text}$"), naming_files(both):
        raise ValueError(text)
