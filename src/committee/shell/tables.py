"""Tables to read: CSV, Parquet and JSON lines, compressed or not, files or streams.

pyarrow reads: it refuses rows with too few or too many fields, and takes a column for
text if one value is. What is decided here is what a first look at the bytes shows.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from committee._install import how_to_install
from committee.shell.errors import USAGE, ShellError, listed

#: What a CSV file writes where it has no value. "None" is a word: it names a class
#: of some well-known data sets.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")

#: The marks of UTF-16, what may stand before an object of JSON, and some advice.
_UTF_16, _BLANK = (b"\xff\xfe", b"\xfe\xff"), b"\xef\xbb\xbf \t\r\n"
_TRY = "Name what it is, such as --encoding latin-1 or cp1252."

#: Bytes of CSV that pyarrow parses at once: no row may be longer.
_BLOCK = 1 << 26

#: The first bytes of compressed data, and what takes the compression off.
_DECOMPRESS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"\x28\xb5\x2f\xfd": lambda data: (
        pyarrow().CompressedInputStream(pyarrow().BufferReader(data), "zstd").read()
    ),
}


def pyarrow() -> Any:
    """Return pyarrow, or say how to get it and pandas."""
    try:
        import pandas  # noqa: F401
        import pyarrow
    except ImportError as error:
        raise ShellError(
            f"Tables need {error.name}, which is not installed: "
            f"{how_to_install('shell')}."
        ) from error
    return pyarrow


def read_table(
    path: str, words: Sequence[str] = (), encoding: str | None = None
) -> Any:
    r"""Return the rows of a file as a pandas DataFrame.

    What the file is, and how it is compressed, is read off its first bytes. Dates are
    datetimes, times of day and durations are timedeltas; what other words may mean is
    found out by `reading`.

    Parameters
    ----------
    path : str
        A file of CSV, Parquet or JSON lines, plain or as .gz, .bz2, .xz, .zst; "-" for
        standard input. CSV is text with a header; its separator, one of comma,
        semicolon, tab and bar, is the one that the header has most of.
    words : sequence of str
        Columns that hold text, even where it looks like numbers.
    encoding : str, optional
        Of text, such as latin-1; UTF-8 unless given, or UTF-16 with its mark.

    Returns
    -------
    frame : DataFrame
        With at least one row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from committee.shell.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("age;town\n31;Bonn\n;Kiel\n")
    ...     frame = read_table(str(path))
    >>> frame["age"].tolist(), frame["town"].tolist()
    ([31.0, nan], ['Bonn', 'Kiel'])
    """
    name = "Standard input" if path == "-" else f"'{path}'"
    frame = read_rows(path, name, words, encoding)
    if not len(frame):
        raise ShellError(f"{name} has a header but no rows.")
    return frame


def read_rows(
    path: str, name: str, words: Sequence[str] = (), encoding: str | None = None
) -> Any:
    """Return the rows of a file, if any, as `read_table` does; errors call it `name`.

    `attrs["decimal"]` of the frame is what separates decimals.
    """
    pyarrow()
    with _opened(path) as file:
        stream = _decompressed(file, name)
        head = stream.read(1 << 16)
        stream.seek(0)
        if head.startswith(b"PAR1"):
            return as_frame(_read_parquet(stream, name), name)
        if encoding is not None or head.startswith(_UTF_16):
            stream = _as_utf_8(stream, encoding or "utf-16", name)
            head = stream.read(1 << 16)
            stream.seek(0)
        if not head.strip():
            raise ShellError(f"{name} is empty.")
        if b"\0" in head or head.startswith(b"PK\x03\x04"):
            raise ShellError(
                f"{name} is neither CSV nor Parquet nor JSON lines (plain, or as .gz, "
                ".bz2, .xz or .zst). If it is text in UTF-16, give --encoding utf-16-le."
            )
        if head.lstrip(_BLANK).startswith((b"{", b"[")):
            return as_frame(_read_json(stream, head, name), name)
        separator = _separator(head)
        frame = as_frame(_read_csv(stream, separator, name, words), name)
        frame.attrs["decimal"] = _decimal(separator)
        return frame


def as_frame(table: Any, name: str) -> Any:
    """Return an Arrow table as a DataFrame of numbers, booleans and text."""
    twins = [twin for twin, n in Counter(table.schema.names).items() if n > 1]
    if twins:
        raise ShellError(
            f"{name} has more than one column named {listed(twins)}: give every "
            "column a name of its own."
        )
    columns = [_simplified(column) for column in table.columns]
    fields = zip(table.schema.names, (column.type for column in columns), strict=True)
    # The metadata of Parquet tell pandas which column is the index, if any.
    schema = pyarrow().schema(list(fields), metadata=table.schema.metadata)
    frame = pyarrow().Table.from_arrays(columns, schema=schema).to_pandas()
    frame.columns = frame.columns.map(str)
    return frame.reset_index(drop=True)


def _simplified(column: Any) -> Any:
    """Return decimals, gaps and categories as numbers and text; times as durations.

    Lists and the like stay as they are: a model may have no need of them.
    """
    pa = pyarrow()
    is_a, kind = pa.types, column.type
    if is_a.is_dictionary(kind):
        return _simplified(column.cast(kind.value_type))
    if is_a.is_null(kind) or is_a.is_decimal(kind):
        return column.cast(pa.float64())
    if is_a.is_boolean(kind) and column.null_count:
        return column.cast(pa.int8())
    if is_a.is_date(kind) or is_a.is_timestamp(kind):
        return column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    if is_a.is_time(kind):
        column = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return column.cast(pa.duration("us"))
    return column


def _read_parquet(stream: Any, name: str) -> Any:
    from pyarrow.parquet import read_table

    try:
        return read_table(stream)
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise ShellError(f"{name} is Parquet that cannot be read: {first}") from error


def _read_json(stream: Any, head: bytes, name: str) -> Any:
    from pyarrow import json

    if head.lstrip(_BLANK).startswith(b"["):
        raise ShellError(
            f"{name} is one JSON list: write one object for each row and line, as "
            "DataFrame.to_json does with orient='records' and lines=True."
        )
    try:
        return json.read_json(stream, json.ReadOptions(block_size=_BLOCK))
    except (pyarrow().ArrowInvalid, UnicodeDecodeError) as error:
        what = str(error).removeprefix("JSON parse error: ").splitlines()[0][:200]
        raise ShellError(f"{name} is not JSON lines: {what}.") from error


def _read_csv(stream: Any, separator: str, name: str, words: Sequence[str]) -> Any:
    pa = pyarrow()
    from pyarrow import csv

    texts = [spelled for word in words for spelled in (word, f" {word}")]
    convert = csv.ConvertOptions(
        null_values=[spelled for gap in MISSING for spelled in (gap, f" {gap}")],
        strings_can_be_null=True,
        decimal_point=_decimal(separator),
        column_types=dict.fromkeys(texts, pa.string()),
    )
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)

    def read(threads: bool) -> Any:
        how = csv.ReadOptions(use_threads=threads, block_size=_BLOCK)
        return csv.read_csv(stream, how, parse, convert)

    try:
        try:
            table = read(threads=True)
        except pa.ArrowInvalid:
            # With threads, errors do not know the number of their row.
            stream.seek(0)
            table = read(threads=False)
        # An empty name is what pandas writes above row numbers, and reads like this.
        names = [n.strip() or f"Unnamed: {i}" for i, n in enumerate(table.schema.names)]
    except UnicodeDecodeError as error:
        raise ShellError(f"{name} is not UTF-8 text: {error}. {_TRY}") from error
    except pa.ArrowInvalid as error:
        what = str(error).removeprefix("CSV parse error: ").splitlines()[0][:200]
        if "invalid UTF8" in what:
            raise ShellError(f"{name} is not UTF-8 text: {what}. {_TRY}") from error
        raise ShellError(f"{name} is not a table: {what}.") from error
    if _ends_in_quotes(stream, table):
        raise ShellError(f"{name} is not a table: its last quote is not closed.")
    columns = []
    for header, column in zip(names, table.columns, strict=True):
        if pa.types.is_binary(column.type):
            raise ShellError(
                f"{name} is not UTF-8 text: see the column {header!r}. {_TRY}"
            )
        points = separator == ";" and header not in words
        columns.append(_trimmed(column, points=points))
    return pa.table(columns, names)


def _decimal(separator: str) -> str:
    return "," if separator == ";" else "."


def _as_utf_8(stream: Any, encoding: str, name: str) -> Any:
    """Return a stream of text in UTF-8."""
    try:
        return io.BytesIO(stream.read().decode(encoding).encode())
    except LookupError as error:
        raise ShellError(
            f"--encoding must be one that Python knows, such as latin-1, cp1252 or "
            f"utf-16. Got {encoding!r}.",
            USAGE,
        ) from error
    except UnicodeError as error:
        raise ShellError(f"{name} is not text in {encoding}: {error}.") from error


def _ends_in_quotes(stream: Any, table: Any) -> bool:
    """Whether the last field is a quote that never ends: it may have eaten rows."""
    last = table.column(table.num_columns - 1)[-1].as_py() if len(table) else None
    raw = b'"' + str(last).encode()
    if last is None or stream.seek(0, os.SEEK_END) < len(raw):
        return False
    stream.seek(-len(raw), os.SEEK_END)
    return bool(stream.read() == raw)


def _trimmed(column: Any, *, points: bool) -> Any:
    """Return text without the blanks behind separators.

    Where commas are decimal, text that is all numbers with `points` is numbers too.
    """
    pa = pyarrow()
    if not pa.types.is_string(column.type):
        return column
    try:
        if points:
            return column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    return pa.compute.utf8_ltrim(column, " ")


def _separator(head: bytes) -> str:
    """Return what the header has most of, outside of quotes; a comma in doubt."""
    header = head.decode("utf-8", "replace").lstrip("\ufeff\r\n").splitlines()[0]
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count)


def _opened(path: str) -> Any:
    """Return the file as a stream of bytes that can be rewound."""
    if path == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    file = open(path, "rb")  # noqa: SIM115
    if file.seekable():
        return file
    with file:
        return io.BytesIO(file.read())


def _decompressed(file: Any, name: str) -> Any:
    """Return the stream without its compression, if it has one."""
    head = file.read(8)
    file.seek(0)
    for magic, decompress in _DECOMPRESS.items():
        if head.startswith(magic):
            try:
                return io.BytesIO(decompress(file.read()))
            except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise ShellError(f"{name} is damaged: {error}.") from error
    return file
