"""Tables in and out: CSV and Parquet, compressed or not, files or streams."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable, Sequence
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
#: What an ending asks for.
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: _pyarrow().Codec("zstd").compress(data, asbytes=True),
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
    pandas()
    with _opened(path) as file:
        try:
            frame = parse(_unpacked(file), name, words)
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise ShellError(f"{name} is damaged: {error}.") from error
    if not len(frame):
        raise ShellError(f"{name} has a header but no rows.")
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
    if path == "-":
        frame.to_csv(sys.stdout, index=False, lineterminator="\n")
        return
    separator, pack = _format(path)
    with replaced_atomically(path) as file:
        if separator is None:
            frame.to_parquet(file, index=False)
        else:
            text = frame.to_csv(sep=separator, index=False).encode()
            file.write(pack(text))


def _format(path: str) -> tuple[str | None, Callable[[bytes], bytes]]:
    """Return the separator, None for Parquet, and who compresses it."""
    outer = Path(path).suffix.lower()
    if outer in _PARQUET:
        return None, bytes
    ending = Path(Path(path).stem).suffix.lower() if outer in _PACKERS else outer
    if ending not in _SEPARATORS:
        raise ShellError(
            f"The output '{path}' must end in .csv, .tsv or .parquet (.csv.gz, "
            ".csv.bz2, .csv.xz, .csv.zst for compressed text).",
            USAGE,
        )
    return _SEPARATORS[ending], _PACKERS.get(outer, bytes)


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
