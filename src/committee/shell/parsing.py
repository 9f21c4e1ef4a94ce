"""From bytes to a table: CSV by what its header shows, or Parquet."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from committee.shell.errors import ShellError, listed

#: What a CSV file writes where it has no value. "None" is a word: it names a class
#: of some well-known data sets.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")

#: A number with a comma for the point, as files with semicolons may have them.
_DECIMAL_COMMA = r"\s*[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?\s*"


def pandas() -> Any:
    """Return pandas, or say how to get it.

    Examples
    --------
    >>> from committee.shell.parsing import pandas
    >>> pandas().__name__
    'pandas'
    """
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ShellError(
            f"Tables need {error.name}, which is not installed: pip install "
            "'committee[shell]'."
        ) from error
    return pandas


def parse(stream: Any, name: str, words: Sequence[str] = ()) -> Any:
    r"""Return the rows of a Parquet or CSV stream.

    Parameters
    ----------
    stream : binary file that can be rewound
    name : str
        What errors call it.
    words : sequence of str
        Columns that hold text, even where it looks like numbers.

    Examples
    --------
    >>> import io
    >>> from committee.shell.parsing import parse
    >>> parse(io.BytesIO(b"age;town\n31;Bonn"), "It").to_dict("records")
    [{'age': 31, 'town': 'Bonn'}]
    """
    head = stream.read(1 << 16)
    stream.seek(0)
    if not head.strip():
        raise ShellError(f"{name} is empty.")
    if head.startswith(b"PAR1"):
        return _parsed_parquet(stream, name)
    if b"\0" in head or head.startswith(b"PK\x03\x04"):
        raise ShellError(
            f"{name} is neither CSV nor Parquet (plain, or as .gz, .bz2, .xz or .zst)."
        )
    return _parsed_csv(stream, _separator(head), name, words)


def _parsed_parquet(stream: Any, name: str) -> Any:
    pd = pandas()
    try:
        frame = pd.read_parquet(stream)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise ShellError(f"{name} is Parquet that cannot be read: {first}") from error
    _refuse_twins(map(str, frame.columns), name)
    return frame


def _parsed_csv(stream: Any, separator: str, name: str, words: Sequence[str]) -> Any:
    pd = pandas()
    read = partial(
        pd.read_csv,
        sep=separator,
        encoding="utf-8-sig",
        index_col=False,
        keep_default_na=False,
        skipinitialspace=True,
    )
    try:
        with warnings.catch_warnings():
            # Every row longer than the header is a warning to pandas.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # pandas gives twins new names, and only the header knows the old ones.
            header = read(stream, header=None, nrows=1, dtype=str)
            _refuse_twins(header.iloc[0], name)
            stream.seek(0)
            kinds = dict.fromkeys(words, str)
            frame = read(stream, dtype=kinds, low_memory=False, na_values=MISSING)
    except UnicodeDecodeError as error:
        raise ShellError(f"{name} is not UTF-8 text: {error}.") from error
    except pd.errors.EmptyDataError as error:
        raise ShellError(f"{name} is empty.") from error
    except pd.errors.ParserWarning as error:
        raise ShellError(
            f"{name} is ragged: its rows have more fields than its header."
        ) from error
    except pd.errors.ParserError as error:
        what = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ShellError(f"{name} is ragged: {what}.") from error
    if frame.iloc[:, -1].isna().any():
        _refuse_short_rows(stream, separator, name, frame.shape[1])
    if separator == ";":
        _read_decimal_commas(frame, words)
    return frame


def _read_decimal_commas(frame: Any, words: Sequence[str]) -> None:
    """Turn columns of text that are numbers with a decimal comma into numbers."""
    pd = pandas()
    for name in frame.columns:
        column = frame[name]
        if name in words or pd.api.types.is_numeric_dtype(column):
            continue
        text = column.dropna().astype(str)
        commas = text.str.contains(",", regex=False).any()
        if commas and text.str.fullmatch(_DECIMAL_COMMA).all():
            points = column.str.replace(",", ".", regex=False)
            frame[name] = pd.to_numeric(points)


def _refuse_twins(names: Iterable[str], where: str) -> None:
    """Refuse a name that two columns have."""
    twins = [name for name, n in Counter(names).items() if n > 1 and name]
    if twins:
        raise ShellError(
            f"{where} has more than one column named {listed(twins)}: give every "
            "column a name of its own."
        )


def _separator(head: bytes) -> str:
    """Return what the header has most of, outside of quotes; a comma in doubt."""
    header = head.decode("utf-8", "replace").lstrip("\ufeff\r\n").splitlines()[0]
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count)


def _refuse_short_rows(stream: Any, separator: str, name: str, width: int) -> None:
    """Refuse rows with too few fields, which pandas fills up without a word."""
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    lines = csv.reader(text, delimiter=separator, skipinitialspace=True)
    try:
        for fields in lines:
            if fields and len(fields) < width:
                raise ShellError(
                    f"{name} is ragged: expected {width} fields in line "
                    f"{lines.line_num}, saw {len(fields)}."
                )
    finally:
        text.detach()
