"""What counts as a table, and what is said about anything else."""

import builtins
import io

import pandas as pd
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
