"""Which files are tables, how they are read, and how tables are written."""

import builtins
import bz2
import datetime
import gzip
import io
import os
import sys
from decimal import Decimal
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas.testing import assert_frame_equal

from committee.shell.column_types import typed
from committee.shell.messages import ShellError
from committee.shell.tables import (
    PAGE,
    check_output,
    read_table,
    write_table,
)
from committee.shell.tables import pyarrow as import_pyarrow

FRAME = pd.DataFrame({"a": [1.5, None], "town": ["Bonn", "Köln, am Rhein"]})
CSV = FRAME.to_csv(index=False).encode()


@pytest.fixture
def read(tmp_path):
    """Return the columns of a file as lists."""

    def read(data, words=()):
        path = tmp_path / "t"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        frame = read_table(str(path), words)
        frame = typed(frame).to_numbers(frame)
        return frame.astype(object).where(frame.notna(), None).to_dict("list")

    return read


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_seen_in_the_header(separator, read):
    rows = [["a", '"b,c;d;e"', "f"], ["1", "x", ""], ["2", "y", "3"]]
    found = read("\n".join(map(separator.join, rows)))
    assert found == {"a": [1, 2], "b,c;d;e": ["x", "y"], "f": [None, 3]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a,b\n1,None\n?,x\nNA,\n2,NA\n",
            [[1, None, None, 2], ["None", "x", None, None]],
        ),
        ("\ufeffa, b\n1, x\n2, ?\n", [[1, 2], ["x", None]]),
        ("a\n" + "1\n" * 5 + "x\n", [["1"] * 5 + ["x"]]),
        ('a,b\n1,\n2,"x\ny"\n\n3,\n', [[1, 2, 3], [None, "x\ny", None]]),
        ("a,b\nTrue,1\n,0\n", [[1, None], [1, 0]]),
        (
            "a;b\n1,5;-,5\n;1e3\n-0,25;+2,5E-1\n",
            [[1.5, None, -0.25], [-0.5, 1e3, 0.25]],
        ),
        ("a;b\n1.5;1,5\n2.5;2,5\n", [[1.5, 2.5], [1.5, 2.5]]),
        ("a;b\n1,5;1.234,5\nx;1,5\n", [["1,5", "x"], ["1.234,5", "1,5"]]),
        ("a\tb\n1,5\t2\n", [["1,5"], [2]]),
        ("a,a.1,A,,\n1,2,3,4,5\n", [[1], [2], [3], [4], [5]]),
        ("d,t\n1970-01-02,00:01\n1970-01-03 12:00,\n", [[1.0, 2.5], [60.0, None]]),
        ("a,b\n1," + "x" * 200_000 + "\n", [[1], ["x" * 200_000]]),
    ],
    ids=[
        *("gaps", "blanks and mark", "mixed", "lines in quotes", "booleans"),
        *("decimal commas", "and points", "not all commas", "commas elsewhere"),
        *("names that only look alike", "dates and times", "a long field"),
    ],
)
def test_values_of_csv(text, expected, read):
    assert list(read(text).values()) == expected


def test_words_stay_text(read):
    found = read("zip, b;c\n01234, 1;2\n, 2;3\n", words=["zip", "not there"])
    assert found["zip"] == ["01234", None]
    assert read("a;b\n1,5;2\n", words=["a"]) == {"a": ["1,5"], "b": [2]}
    assert read("a, b\n1, 2\n", words=["b"]) == {"a": [1], "b": ["2"]}


def test_types_of_parquet_become_numbers_and_text(read):
    midnight = datetime.datetime(1970, 1, 2)
    columns = {
        "date": pa.array([datetime.date(1970, 1, 2), None]),
        "time": pa.array([midnight, None], pa.timestamp("ns", "Europe/Berlin")),
        "pause": pa.array([datetime.timedelta(minutes=1), None]),
        "money": pa.array([Decimal("1.50"), None]),
        "yes": pa.array([True, None]),
        "kind": pa.array(["u", None]).dictionary_encode(),
        "nothing": pa.array([None, None]),
        "list": pa.array([[1, 2], None]),
    }
    file = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), file)
    found = {name: values[0] for name, values in read(file.getvalue()).items()}
    assert found.pop("list").tolist() == [1, 2]  # somebody may have no need of it
    assert found == {
        "date": 1.0,
        "time": 1.0,
        "pause": 60.0,
        "money": 1.5,
        "yes": 1.0,
        "kind": "u",
        "nothing": None,
    }


def test_names_are_text_and_rows_are_numbered(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame([[1, 2], [3, 4]], index=[7, 7]).to_parquet(path)
    frame = read_table(str(path))
    assert frame.columns.tolist() == ["0", "1"]
    assert frame.index.tolist() == [0, 1]


@pytest.mark.parametrize("pack", [None, gzip, bz2])
@pytest.mark.parametrize("parquet", [False, True])
def test_standard_input_is_known_by_its_first_bytes(pack, parquet, monkeypatch):
    data = FRAME.to_parquet() if parquet else CSV
    if pack is not None:
        data = pack.compress(data)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert_frame_equal(read_table("-"), FRAME)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="there is no /dev/fd")
def test_a_pipe_is_read_like_a_file():
    read, write = os.pipe()
    os.write(write, CSV)
    os.close(write)
    assert_frame_equal(read_table(f"/dev/fd/{read}"), FRAME)
    os.close(read)


TWINS = pa.BufferOutputStream()
pa.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), TWINS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "is empty."),
        ("\n\n", "is empty."),
        ("a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1"),
        ("a,b\n1,2\n3,4,5\n", "Row #3: Expected 2 columns, got 3"),
        ('a,b\n1,"2\n3,4\n', "quoted field at its end is not closed"),
        ("a; b;b;a\n1;2;3;4\n", "more than one column named 'a', 'b'"),
        (TWINS.getvalue().to_pybytes(), "Multiple matches"),
        (b"a,b\n\xff\xfe,1\n", "not UTF-8 text: see the column 'a'"),
        (b"\xff,b\n1,1\n", "not UTF-8"),
        (b"a\0b", "neither CSV nor Parquet"),
        (b"PK\x03\x04abc", "neither CSV nor Parquet"),
        (b"PAR1 and then nothing", "Parquet that cannot be read"),
        # Bytes of gzip hold the time of day: ids must be the same in every process.
        *(
            pytest.param(pack.compress(CSV * 9)[:-9], "is damaged", id=pack.__name__)
            for pack in (gzip, bz2)
        ),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(data, words, read):
    with pytest.raises(ShellError, match=r"^'.*t' ") as error:
        read(data)
    assert words in str(error.value)
    assert error.value.status == 1
    assert "\n" not in str(error.value)


def test_a_missing_package_gives_the_pip_line(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ShellError, match=r"need pyarrow.*pip install pandas pyarrow\."):
        import_pyarrow()


FRAME = pd.DataFrame({"a": [1.5, None], "town": ["Bonn", "Köln, am Rhein"]})
ENDINGS = (".csv", ".tsv", ".parquet", ".csv.gz", ".csv.bz2", ".tsv.zst")


@pytest.mark.parametrize("ending", ENDINGS)
def test_tables_are_written_whole_or_not_at_all(ending, tmp_path):
    path = str(tmp_path / f"t{ending}")
    write_table(FRAME, path)
    assert_frame_equal(read_table(path), FRAME)

    class Broken:
        def to_csv(self, **_):
            raise ShellError("The table is damaged.")

        def to_parquet(self, file, **_):
            file.write(b"PAR1")
            raise ShellError("The table is damaged.")

    with pytest.raises(ShellError):
        write_table(Broken(), path)
    assert_frame_equal(read_table(path), FRAME)
    assert os.listdir(tmp_path) == [f"t{ending}"]


def test_standard_output_is_csv(capsys):
    write_table(FRAME, "-")
    assert capsys.readouterr().out == 'a,town\n1.5,Bonn\n,"Köln, am Rhein"\n'


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("out.xlsx", 2, "must end in .csv"),
        ("out", 2, "must end in .csv"),
        ("out.parquet.gz", 2, "must end in .csv"),
        ("none/out.csv", 2, "no folder"),
        ("folder.csv", 2, "not a regular file"),
        ("in.csv", 2, "which is the input: it would be lost"),
        ("link.csv", 2, "which is the input: it would be lost"),
    ],
)
def test_an_output_that_cannot_be_is_refused_at_once(name, status, words, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "in.csv").write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    inputs = ["-", str(tmp_path / "in.csv")]
    check_output(str(tmp_path / "OUT.PQ"), table=True, inputs=inputs)
    with pytest.raises(ShellError, match=words) as error:
        check_output(str(tmp_path / name), table=True, inputs=inputs)
    assert error.value.status == status


def test_devices_and_read_only_folders_are_refused_at_once(tmp_path, monkeypatch):
    with pytest.raises(ShellError, match="not a regular file"):
        check_output(os.devnull, endings=("null",))
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(ShellError, match="cannot be written") as error:
        check_output(str(tmp_path / "m.skops"))
    assert error.value.status == 1


@pytest.mark.parametrize("name", ["m.pdf", "m.csv", "m.onnx", "m"])
def test_a_file_has_the_ending_of_what_is_in_it(name, tmp_path):
    with pytest.raises(ShellError, match=r"must end in \.skops\.") as error:
        check_output(str(tmp_path / name))
    assert error.value.status == 2
    with pytest.raises(ShellError, match=r"must end in \.html or \.htm"):
        check_output(str(tmp_path / name), endings=PAGE)
    check_output(str(tmp_path / "REPORT.HTML"), endings=PAGE)
