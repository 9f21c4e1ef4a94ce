"""Tables in files: read CSV, Parquet and JSON lines, write CSV and Parquet.

pyarrow reads: it refuses rows with too few or too many fields, and reads a column as text
if one value is text. The format and the compression follow from the first bytes.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from committee._files import replaced_atomically
from committee._hints import how_to_install
from committee.shell.messages import ShellError, UsageError, listed

#: Missing values of CSV. "None" is a word: it is a class of some well-known data sets.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?")

#: Byte-order marks of UTF-16, and bytes that may precede an object of JSON.
_UTF_16, _BLANK = (b"\xff\xfe", b"\xfe\xff"), b"\xef\xbb\xbf \t\r\n"
_TRY = "Give its encoding, for example --encoding latin-1 or cp1252."

#: Bytes of CSV that pyarrow parses at once: the longest row.
_BLOCK = 1 << 26

#: pyarrow's names of compressions, by first bytes and by endings.
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}

#: Endings of a model, and of a page.
MODEL, PAGE = (".skops",), (".html", ".htm")


def pyarrow() -> Any:
    """Return pyarrow. Raise ShellError if it or pandas is not installed."""
    try:
        import pandas  # noqa: F401
        import pyarrow
    except ImportError as error:
        raise ShellError(
            f"Tables need {error.name}, which is not installed: "
            f"{how_to_install('shell')}."
        ) from error
    return pyarrow


# --- reading ----------------------------------------------------------------------------


def read_table(
    path: str, words: Sequence[str] = (), encoding: str | None = None
) -> Any:
    r"""Return the rows of a file as a pandas DataFrame.

    Dates are datetimes, times of day and durations are timedeltas. See `column_types`
    for types of text.

    Parameters
    ----------
    path : str
        A file of CSV, Parquet or JSON lines, plain or as .gz, .bz2, .zst; "-" for
        standard input. CSV has a header. Its separator is the most frequent one of
        comma, semicolon, tab and bar in the header.
    words : sequence of str
        Columns to read as text, even if it looks like numbers.
    encoding : str, default=None
        Text encoding, for example latin-1. None means UTF-8, or UTF-16 if there is a
        byte-order mark.

    Returns
    -------
    frame : DataFrame
        With at least one row. `attrs["decimal"]` is the decimal separator of CSV.

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
    pyarrow()
    name = "Standard input" if path == "-" else f"'{path}'"
    with _opened(path) as file:
        frame = _read(_decompressed(file, name), name, words, encoding)
    if not len(frame):
        raise ShellError(f"{name} has a header but no rows.")
    return frame


def _read(stream: Any, name: str, words: Sequence[str], encoding: str | None) -> Any:
    """Return the rows of a stream; errors call it `name`."""
    head = _first_bytes(stream)
    if head.startswith(b"PAR1"):
        return _as_frame(_read_parquet(stream, name), name)
    if encoding is not None or head.startswith(_UTF_16):
        stream = _as_utf_8(stream, encoding or "utf-16", name)
        head = _first_bytes(stream)
    if not head.strip():
        raise ShellError(f"{name} is empty.")
    if b"\0" in head or head.startswith(b"PK\x03\x04"):
        raise ShellError(
            f"{name} is neither CSV nor Parquet nor JSON lines (plain, or as .gz, "
            ".bz2 or .zst). If it is text in UTF-16, give --encoding utf-16-le."
        )
    if head.lstrip(_BLANK).startswith((b"{", b"[")):
        return _as_frame(_read_json(stream, head, name), name)
    separator = _separator(head)
    frame = _as_frame(_read_csv(stream, separator, name, words), name)
    frame.attrs["decimal"] = _decimal(separator)
    return frame


def _as_frame(table: Any, name: str) -> Any:
    """Return an Arrow table as a DataFrame of numbers, booleans, text and times."""
    twins = [twin for twin, n in Counter(table.schema.names).items() if n > 1]
    if twins:
        raise ShellError(
            f"{name} has more than one column named {listed(twins)}: give every "
            "column its own name."
        )
    columns = [_simplified(column) for column in table.columns]
    fields = zip(table.schema.names, (column.type for column in columns), strict=True)
    # The metadata of Parquet name the column that is the index of pandas, if any.
    schema = pyarrow().schema(list(fields), metadata=table.schema.metadata)
    frame = pyarrow().Table.from_arrays(columns, schema=schema).to_pandas()
    frame.columns = frame.columns.map(str)
    return frame.reset_index(drop=True)


def _simplified(column: Any) -> Any:
    """Return decimals, gaps and categories as numbers and text; times as durations.

    Lists and the like are unchanged: a model may not need them.
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
            # Errors of the reader with threads lack the number of the row.
            stream.seek(0)
            table = read(threads=False)
        # pandas writes row numbers under an empty name, and reads it like this.
        names = [n.strip() or f"Unnamed: {i}" for i, n in enumerate(table.schema.names)]
    except UnicodeDecodeError as error:
        raise ShellError(f"{name} is not UTF-8 text: {error}. {_TRY}") from error
    except pa.ArrowInvalid as error:
        what = str(error).removeprefix("CSV parse error: ").splitlines()[0][:200]
        if "invalid UTF8" in what:
            raise ShellError(f"{name} is not UTF-8 text: {what}. {_TRY}") from error
        raise ShellError(f"{name} is not a table: {what}.") from error
    if _ends_in_quotes(stream, table):
        raise ShellError(
            f"{name} is not a table: a quoted field at its end is not closed."
        )
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
        raise UsageError(
            "--encoding must be an encoding of Python, such as latin-1, cp1252 or "
            f"utf-16. Got {encoding!r}."
        ) from error
    except UnicodeError as error:
        raise ShellError(f"{name} is not text in {encoding}: {error}.") from error


def _ends_in_quotes(stream: Any, table: Any) -> bool:
    """Return True if the last field is a quote that never ends, perhaps of many rows."""
    last = table.column(table.num_columns - 1)[-1].as_py() if len(table) else None
    raw = b'"' + str(last).encode()
    if last is None or stream.seek(0, os.SEEK_END) < len(raw):
        return False
    stream.seek(-len(raw), os.SEEK_END)
    return bool(stream.read() == raw)


def _trimmed(column: Any, *, points: bool) -> Any:
    """Return text without the blanks behind separators.

    Where commas are decimal, text that consists of numbers with `points` is numbers too.
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
    """Return the most frequent separator of the header outside quotes, or a comma."""
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


def _first_bytes(stream: Any) -> bytes:
    """Return the first bytes of a stream, and rewind it."""
    head: bytes = stream.read(1 << 16)
    stream.seek(0)
    return head


def _decompressed(file: Any, name: str) -> Any:
    """Return the stream without its compression, if it has one."""
    head = _first_bytes(file)
    kind = next((k for magic, k in _MAGIC.items() if head.startswith(magic)), None)
    if kind is None:
        return file
    try:
        return io.BytesIO(pyarrow().CompressedInputStream(file, kind).read())
    except OSError as error:
        raise ShellError(f"{name} is damaged: {error}.") from error


# --- writing ----------------------------------------------------------------------------


def check_output(
    path: str,
    *,
    table: bool = False,
    inputs: Sequence[str] = (),
    endings: Sequence[str] = MODEL,
    advice: str = "",
) -> None:
    """Raise ShellError, before any work is done, if a file cannot be written.

    Parameters
    ----------
    path : str
    table : bool, default=False
        Whether it is a table, which has its own endings and may go to standard output.
    inputs : sequence of str
        Files that are read, and that the output must not replace.
    endings : sequence of str
        Allowed endings of a file that is not a table.
    advice : str
        End of the message if the output would replace an input.
    """
    if path == "-":
        if table:
            return
        raise UsageError("The output file is missing: set it with -o.")
    if table:
        _text_format(path)
    target = Path(path)
    if target.exists() and not target.is_file():
        raise UsageError(f"'{path}' is not a regular file and cannot be replaced.")
    for name in inputs:
        there = name != "-" and target.exists() and os.path.exists(name)
        if there and os.path.samefile(path, name):
            raise UsageError(
                f"The output '{path}' is the file '{name}', which is the input: it "
                f"would be lost. Use another name with -o{advice}."
            )
    if not table and not path.lower().endswith(tuple(endings)):
        raise UsageError(f"The output '{path}' must end in {' or '.join(endings)}.")
    folder = target.parent
    if not folder.is_dir():
        raise UsageError(f"There is no folder '{folder}' to write '{path}' in.")
    if not os.access(folder, os.W_OK):
        raise ShellError(f"The folder '{folder}' cannot be written to.")


def write_table(frame: Any, path: str) -> None:
    """Write a DataFrame; an existing file is replaced when the new one is complete.

    Parameters
    ----------
    frame : DataFrame
    path : str
        Ends in .csv, .tsv or .parquet; text may be compressed: .csv.gz, .csv.bz2,
        .csv.zst. "-" is CSV on standard output.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.tables import write_table
    >>> write_table(pd.DataFrame({"prediction": [0.5, 2.0]}), "-")
    prediction
    0.5
    2.0
    """
    if path == "-":
        sys.stdout.write(_as_csv(frame, ","))
        return
    separator, kind = _text_format(path)
    with replaced_atomically(path) as file:
        if separator is None:
            frame.to_parquet(file, index=False)
            return
        with nullcontext(file) if kind is None else _compressed(file, kind) as stream:
            stream.write(_as_csv(frame, separator).encode())


def _as_csv(frame: Any, separator: str) -> str:
    text: str = frame.to_csv(sep=separator, index=False, lineterminator="\n")
    return text


def _compressed(file: Any, kind: str) -> Any:
    """Return a stream that compresses; it closes a handle of its own to the file."""
    handle = os.fdopen(os.dup(file.fileno()), "wb")
    return pyarrow().CompressedOutputStream(handle, kind)


def _text_format(path: str) -> tuple[str | None, str | None]:
    """Return the separator, None for Parquet, and the compression, None for none."""
    outer = Path(path).suffix.lower()
    if outer in (".parquet", ".pq"):
        return None, None
    ending = Path(Path(path).stem).suffix.lower() if outer in _COMPRESSED else outer
    if ending not in _SEPARATORS:
        raise UsageError(
            f"The output '{path}' must end in .csv, .tsv or .parquet (.csv.gz, "
            ".csv.bz2, .csv.zst for compressed text)."
        )
    return _SEPARATORS[ending], _COMPRESSED.get(outer)
