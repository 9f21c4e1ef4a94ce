"""Round trips through every ending, and files that are whole or not there."""

import bz2
import gzip
import io
import lzma
import os
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from committee.shell.errors import ShellError
from committee.shell.tables import (
    check_output,
    read_table,
    write_table,
    write_tables,
)

FRAME = pd.DataFrame({"a": [1.5, None], "town": ["Bonn", "Köln, am Rhein"]})
ENDINGS = (
    ".csv",
    ".tsv",
    ".parquet",
    ".csv.gz",
    ".csv.bz2",
    ".csv.xz",
    ".csv.zst",
    ".tsv.gz",
    ".PQ",
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(ending, tmp_path):
    path = str(tmp_path / f"t{ending}")
    write_table(FRAME, path)
    assert_frame_equal(read_table(path), FRAME)
    assert os.listdir(tmp_path) == [f"t{ending}"]


@pytest.mark.parametrize("pack", [None, gzip, bz2, lzma])
def test_standard_input_is_known_by_its_first_bytes(pack, monkeypatch):
    data = FRAME.to_csv(index=False).encode()
    if pack is not None:
        data = pack.compress(data)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert_frame_equal(read_table("-"), FRAME)


def test_a_parquet_file_may_be_compressed_as_a_whole(tmp_path):
    path = tmp_path / "t.parquet.gz"
    file = io.BytesIO()
    FRAME.to_parquet(file)
    path.write_bytes(gzip.compress(file.getvalue()))
    assert_frame_equal(read_table(str(path)), FRAME)


def test_names_are_text_and_rows_are_numbered(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame([[1, 2], [3, 4]], index=[7, 7]).to_parquet(path)
    frame = read_table(str(path))
    assert frame.columns.tolist() == ["0", "1"]
    assert frame.index.tolist() == [0, 1]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="there is no /dev/fd")
def test_a_pipe_is_read_like_a_file():
    read, write = os.pipe()
    os.write(write, FRAME.to_csv(index=False).encode())
    os.close(write)
    assert_frame_equal(read_table(f"/dev/fd/{read}"), FRAME)
    os.close(read)


def test_standard_output_is_csv(capsys):
    write_table(FRAME, "-")
    assert capsys.readouterr().out == 'a,town\n1.5,Bonn\n,"Köln, am Rhein"\n'


def test_a_header_alone_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    with pytest.raises(ShellError, match="a header but no rows"):
        read_table(str(path))


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_a_file_that_is_cut_short_is_refused(pack, tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(pack.compress(b"a,b\n" + b"1,2\n" * 100)[:-9])
    with pytest.raises(ShellError, match="is damaged"):
        read_table(str(path))


def test_a_missing_file_raises_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("out.xlsx", 2, "must end in .csv"),
        ("out", 2, "must end in .csv"),
        ("out.parquet.gz", 2, "must end in .csv"),
        ("none/out.csv", 2, "no folder"),
        ("folder.csv", 2, "not a file"),
    ],
)
def test_an_output_that_cannot_be_is_refused_at_once(name, status, words, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ShellError, match=words) as error:
        check_output(str(tmp_path / name), table=True)
    assert error.value.status == status


def test_a_read_only_folder_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(ShellError, match="cannot be written") as error:
        check_output(str(tmp_path / "m.skops"))
    assert error.value.status == 1


def test_a_device_is_not_replaced():
    with pytest.raises(ShellError, match="not a file"):
        check_output(os.devnull)


def test_an_old_table_stays_whole_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_table(FRAME, str(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_an_output_is_no_input(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n", encoding="utf-8")
    other = tmp_path / "other.csv"
    check_output(str(other), table=True, inputs=[str(path), "-"])
    with pytest.raises(ShellError, match="that is read: it would be lost") as error:
        check_output(str(path), table=True, inputs=["-", str(path)])
    assert error.value.status == 2


@pytest.mark.parametrize("ending", ENDINGS)
def test_tables_are_written_below_each_other(ending, tmp_path):
    path = str(tmp_path / f"t{ending}")
    write_tables((FRAME[i : i + 1] for i in range(2)), path)
    assert_frame_equal(read_table(path), FRAME)


def test_a_table_that_fails_half_way_leaves_the_old_file(tmp_path):
    def frames():
        yield FRAME
        raise ShellError("The second part is damaged.")

    for ending in ENDINGS:
        path = tmp_path / f"t{ending}"
        path.write_text("old")
        with pytest.raises(ShellError):
            write_tables(frames(), str(path))
        assert path.read_text() == "old"
    assert len(os.listdir(tmp_path)) == len(ENDINGS)
