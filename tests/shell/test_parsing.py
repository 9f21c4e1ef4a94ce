"""What counts as a table, and what is said about anything else."""

import builtins
import io

import pandas as pd
import pyarrow.parquet
import pytest

from committee.shell.errors import ShellError
from committee.shell.parsing import pandas, parse


def read(text, words=()):
    data = text if isinstance(text, bytes) else text.encode()
    return parse(io.BytesIO(data), "It", words)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_seen_in_the_header(separator):
    rows = [["a", '"b,c;d;e"', "f"], ["1", "x", ""], ["2", "y", "3"]]
    frame = read("\n".join(map(separator.join, rows)))
    assert frame.columns.tolist() == ["a", "b,c;d;e", "f"]
    assert frame["a"].tolist() == [1, 2]


def test_gaps_are_missing_and_none_is_a_word():
    frame = read("a,b\n1,None\n?,x\nNA,\n2,NA\n")
    assert frame["a"].isna().tolist() == [False, True, True, False]
    assert frame["b"].isna().tolist() == [False, False, True, True]
    assert frame["b"][0] == "None"


def test_words_stay_text():
    frame = read("zip,n\n01234,1\n,2\n", words=["zip", "not there"])
    assert frame["zip"].tolist()[0] == "01234"
    assert frame["zip"].isna().tolist() == [False, True]


def test_spaces_after_separators_and_a_byte_order_mark_are_no_part_of_values():
    frame = read("\ufeffa, b\n1, x\n2, y\n")
    assert frame.columns.tolist() == ["a", "b"]
    assert frame["b"].tolist() == ["x", "y"]


def test_a_column_of_mixed_content_is_text_throughout():
    frame = read("a\n" + "1\n" * 5 + "x\n")
    assert set(frame["a"]) == {"1", "x"}


def test_decimal_commas_are_numbers_where_semicolons_separate():
    frame = read("a;b;c;d\n1,5;2;u;-,5\n;3;v;1e3\n-0,25;4;w;+2,5E-1\n")
    assert frame["a"].tolist()[::2] == [1.5, -0.25]
    assert frame["a"].isna().tolist() == [False, True, False]
    assert frame["b"].tolist() == [2, 3, 4]
    assert frame["c"].tolist() == ["u", "v", "w"]
    assert frame["d"].tolist() == [-0.5, 1000.0, 0.25]


def test_decimal_points_stay_numbers_where_semicolons_separate():
    frame = read("a;b\n1.5;1,5\n2.5;2,5\n")
    assert frame["a"].tolist() == frame["b"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("values", ["1,5;x", "1,2,3;4,5", "1.234,5;1,5", "1;x"])
def test_what_is_not_all_decimal_commas_stays_text(values):
    frame = read("a;b\n" + "".join(f"{v};0\n" for v in values.split(";")))
    assert frame["a"].tolist() == values.split(";")


def test_decimal_commas_elsewhere_and_in_words_stay_text():
    assert read("a\tb\n1,5\t2\n")["a"].tolist() == ["1,5"]
    assert read("a;b\n1,5;2\n", words=["a"])["a"].tolist() == ["1,5"]


@pytest.mark.parametrize("text", ["a,b,a\n1,2,3\n", "a; b;b;a\n1;2;3;4\n", "a,a\n"])
def test_columns_of_one_name_are_refused_by_that_name(text):
    with pytest.raises(
        ShellError, match=r"^It has more than one column named 'a'"
    ) as e:
        read(text)
    assert ("'b'" in str(e.value)) == (";" in text)
    assert "a.1" not in str(e.value)


def test_columns_that_only_look_like_twins_are_two():
    frame = read("a,a.1,A,,\n1,2,3,4,5\n")
    assert frame.columns.tolist()[:3] == ["a", "a.1", "A"]
    assert frame.shape == (1, 5)


def test_twins_in_parquet_are_refused():
    file = io.BytesIO()
    table = pyarrow.table([[1], [2]], names=["a", "a"])
    pyarrow.parquet.write_table(table, file)
    with pytest.raises(ShellError, match=r"^It "):
        read(file.getvalue())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "It is empty."),
        ("\n\n", "It is empty."),
        ("a,b\n1,2\n3\n", "ragged: expected 2 fields in line 3, saw 1."),
        ("a,b\n1,2\n3,4,5\n", "ragged: Expected 2 fields in line 3, saw 3."),
        ("a,b\n1,2,3\n3,4,5\n", "ragged: its rows have more fields than its header."),
        ('a,b\n"1,2\n3,4\n', "ragged: EOF inside string"),
        (b"a,b\n\xff\xfe,1\n", "not UTF-8"),
        (b"a\0b", "neither CSV nor Parquet"),
        (b"PK\x03\x04abc", "neither CSV nor Parquet"),
        (b"PAR1 and then nothing", "Parquet that cannot be read"),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(text, words):
    with pytest.raises(ShellError, match=r"^It is ") as error:
        read(text)
    assert words in str(error.value)
    assert error.value.status == 1
    assert "\n" not in str(error.value)


def test_a_gap_in_the_last_field_is_not_ragged():
    assert read('a,b\n1,\n2,"x\ny"\n\n3,\n')["b"].isna().tolist() == [True, False, True]


def test_parquet_is_known_by_its_first_bytes():
    file = io.BytesIO()
    pd.DataFrame({"a": [1, 2]}).to_parquet(file)
    assert read(file.getvalue())["a"].tolist() == [1, 2]


def test_a_missing_package_gives_the_pip_line(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ShellError, match=r"need pyarrow.*pip install 'committee\["):
        pandas()
