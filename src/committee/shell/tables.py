"""Tables in and out: CSV and Parquet, compressed or not, files or streams."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from committee._files import replaced_atomically
from committee.shell.errors import USAGE, ShellError
from committee.shell.parsing import pandas, parse

#: The first bytes of a compressed file, and who reads it.
_MAGIC: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda stream: _pyarrow().CompressedInputStream(
        stream, "zstd"
    ),
}
#: What an ending asks for: who compresses what is written to a file.
_PACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb"),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    # pyarrow closes what it writes to: that may be another handle of the file.
    ".zst": lambda file: _pyarrow().CompressedOutputStream(
        os.fdopen(os.dup(file.fileno()), "wb"), "zstd"
    ),
}
_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")


def read_table(path: str, words: Sequence[str] = ()) -> Any:
    r"""Return the rows of a file as a pandas DataFrame.

    What the file is, and how it is compressed, is read off its first bytes.

    Parameters
    ----------
    path : str
        A CSV or Parquet file, plain or as .gz, .bz2, .xz, .zst; "-" for standard
        input. CSV is UTF-8 text with a header; its separator, one of comma,
        semicolon, tab and bar, is the one that the header has most of.
    words : sequence of str
        Columns that hold text, even where it looks like numbers.

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
    frame = read_rows(path, name, words)
    if not len(frame):
        raise ShellError(f"{name} has a header but no rows.")
    return frame


def read_rows(path: str, name: str, words: Sequence[str] = ()) -> Any:
    """Return the rows of a file, if any, as `read_table` does.

    Parameters
    ----------
    path : str
    name : str
        What errors call it.
    words : sequence of str
    """
    pandas()
    with _opened(path) as file:
        try:
            frame = parse(_unpacked(file), name, words)
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise ShellError(f"{name} is damaged: {error}.") from error
    frame.columns = frame.columns.map(str)
    return frame.reset_index(drop=True)


def check_output(path: str, *, table: bool = False, inputs: Sequence[str] = ()) -> None:
    """Refuse, before any work is done, a file that cannot be written.

    Parameters
    ----------
    path : str
    table : bool, default=False
        Whether its ending must tell how to write a table.
    inputs : sequence of str
        Files that are read, and that it must not take the place of.
    """
    if path == "-":
        if table:
            return
        raise ShellError("A model goes to a file: give its name with -o.", USAGE)
    if table:
        _format(path)
    target = Path(path)
    folder = target.parent
    if target.exists() and not target.is_file():
        raise ShellError(f"'{path}' is not a file that could be replaced.", USAGE)
    for name in inputs:
        if name != "-" and target.exists() and os.path.exists(name):
            _refuse_same(path, name)
    if not folder.is_dir():
        raise ShellError(f"There is no folder '{folder}' to write '{path}' in.", USAGE)
    if not os.access(folder, os.W_OK):
        raise ShellError(f"The folder '{folder}' cannot be written to.")


def _refuse_same(output: str, given: str) -> None:
    """Refuse to write over what is read, under whatever name."""
    if os.path.samefile(output, given):
        raise ShellError(
            f"The output '{output}' is the file '{given}' that is read: it would be "
            "lost. Give another name with -o.",
            USAGE,
        )


def write_table(frame: Any, path: str) -> None:
    """Write a DataFrame; a file of that name stays whole until the new one is.

    Parameters
    ----------
    frame : DataFrame
    path : str
        Its ending decides: .csv or .tsv, .parquet, and for compressed text .gz,
        .bz2, .xz or .zst behind it. "-" is CSV on standard output.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.tables import write_table
    >>> write_table(pd.DataFrame({"prediction": [0.5, 2.0]}), "-")
    prediction
    0.5
    2.0
    """
    write_tables([frame], path)


def write_tables(frames: Iterable[Any], path: str) -> None:
    """Write DataFrames of the same columns below each other, one at a time.

    Parameters
    ----------
    frames : iterable of DataFrame
        At least one.
    path : str
        As in `write_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.tables import write_tables
    >>> write_tables((pd.DataFrame({"prediction": [p]}) for p in (0.5, 2.0)), "-")
    prediction
    0.5
    2.0
    """
    if path == "-":
        for text in _as_csv(frames, ","):
            sys.stdout.write(text)
        return
    separator, pack = _format(path)
    with replaced_atomically(path) as file:
        if separator is None:
            _write_parquet(frames, file)
            return
        with pack(file) as packed:
            for text in _as_csv(frames, separator):
                packed.write(text.encode())


def _as_csv(frames: Iterable[Any], separator: str) -> Iterator[str]:
    """Yield the text of each table; only the first has a header."""
    for number, frame in enumerate(frames):
        yield frame.to_csv(
            sep=separator, index=False, header=number == 0, lineterminator="\n"
        )


def _write_parquet(frames: Iterable[Any], file: Any) -> None:
    """Write each table as a group of rows, in the types of the first."""
    import pyarrow.parquet

    tables = (
        _pyarrow().Table.from_pandas(frame, preserve_index=False) for frame in frames
    )
    first = next(tables)
    with pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _format(path: str) -> tuple[str | None, Callable[[Any], Any]]:
    """Return the separator, None for Parquet, and who compresses it."""
    outer = Path(path).suffix.lower()
    if outer in _PARQUET:
        return None, nullcontext
    ending = Path(Path(path).stem).suffix.lower() if outer in _PACKERS else outer
    if ending not in _SEPARATORS:
        raise ShellError(
            f"The output '{path}' must end in .csv, .tsv or .parquet (.csv.gz, "
            ".csv.bz2, .csv.xz, .csv.zst for compressed text).",
            USAGE,
        )
    return _SEPARATORS[ending], _PACKERS.get(outer, nullcontext)


def _opened(path: str) -> Any:
    """Return the file as a stream of bytes that can be rewound."""
    if path == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    file = open(path, "rb")  # noqa: SIM115
    if file.seekable():
        return file
    with file:
        return io.BytesIO(file.read())


def _unpacked(file: Any) -> Any:
    """Return the stream without its compression, if it has one."""
    head = file.read(8)
    file.seek(0)
    for magic, unpack in _MAGIC.items():
        if head.startswith(magic):
            stream = unpack(file)
            return io.BytesIO(stream.read())
    return file


def _pyarrow() -> Any:
    pandas()
    import pyarrow

    return pyarrow
