"""Round trips through every ending, and files that are whole or not there."""

import os

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from committee.shell.errors import ShellError
from committee.shell.table_output import PAGE, check_output, write_tables
from committee.shell.tables import read_table

FRAME = pd.DataFrame({"a": [1.5, None], "town": ["Bonn", "Köln, am Rhein"]})
ENDINGS = (".csv", ".tsv", ".parquet", ".csv.gz", ".csv.bz2", ".csv.xz", ".tsv.zst")


@pytest.mark.parametrize("ending", ENDINGS)
def test_tables_are_written_below_each_other_or_not_at_all(ending, tmp_path):
    path = str(tmp_path / f"t{ending}")
    write_tables((FRAME[i : i + 1] for i in range(2)), path)
    assert_frame_equal(read_table(path), FRAME)

    def broken():
        yield FRAME
        raise ShellError("The second part is damaged.")

    with pytest.raises(ShellError):
        write_tables(broken(), path)
    assert_frame_equal(read_table(path), FRAME)
    assert os.listdir(tmp_path) == [f"t{ending}"]


def test_standard_output_is_csv(capsys):
    write_tables([FRAME], "-")
    assert capsys.readouterr().out == 'a,town\n1.5,Bonn\n,"Köln, am Rhein"\n'


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("out.xlsx", 2, "must end in .csv"),
        ("out", 2, "must end in .csv"),
        ("out.parquet.gz", 2, "must end in .csv"),
        ("none/out.csv", 2, "no folder"),
        ("folder.csv", 2, "not a file"),
        ("in.csv", 2, "that is read: it would be lost"),
        ("link.csv", 2, "that is read: it would be lost"),
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
    with pytest.raises(ShellError, match="not a file"):
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
