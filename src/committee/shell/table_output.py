"""What a command writes: checked before the work, replaced as a whole after it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from committee._files import replaced_atomically
from committee.shell.errors import USAGE, ShellError
from committee.shell.tables import pyarrow

#: What an ending asks for: the compression of what is written to a file.
_COMPRESS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb"),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    # pyarrow closes what it writes to: that may be another handle of the file.
    ".zst": lambda file: pyarrow().CompressedOutputStream(
        os.fdopen(os.dup(file.fileno()), "wb"), "zstd"
    ),
}
_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t", ".tab": "\t"}


#: Endings of a model, and of a page.
MODEL, PAGE = (".skops",), (".html", ".htm")


def check_output(
    path: str,
    *,
    table: bool = False,
    inputs: Sequence[str] = (),
    endings: Sequence[str] = MODEL,
    advice: str = "",
) -> None:
    """Refuse, before any work is done, a file that cannot be written.

    Parameters
    ----------
    path : str
    table : bool, default=False
        Whether it is a table, which has endings of its own, and may go to standard
        output.
    inputs : sequence of str
        Files that are read, and that it must not take the place of.
    endings : sequence of str
        Those that the file may have, if it is no table.
    advice : str
        What else one could do where it would take the place of one.
    """
    if path == "-":
        if table:
            return
        raise ShellError("The result goes to a file: give its name with -o.", USAGE)
    if table:
        _format(path)
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ShellError(f"'{path}' is not a file that could be replaced.", USAGE)
    for name in inputs:
        there = name != "-" and target.exists() and os.path.exists(name)
        if there and os.path.samefile(path, name):
            raise ShellError(
                f"The output '{path}' is the file '{name}' that is read: it would be "
                f"lost. Give another name with -o{advice}.",
                USAGE,
            )
    if not table and not path.lower().endswith(tuple(endings)):
        raise ShellError(
            f"The output '{path}' must end in {' or '.join(endings)}.", USAGE
        )
    folder = target.parent
    if not folder.is_dir():
        raise ShellError(f"There is no folder '{folder}' to write '{path}' in.", USAGE)
    if not os.access(folder, os.W_OK):
        raise ShellError(f"The folder '{folder}' cannot be written to.")


def write_tables(frames: Iterable[Any], path: str) -> None:
    """Write DataFrames of the same columns below each other, one at a time.

    A file of that name stays whole until the new one is.

    Parameters
    ----------
    frames : iterable of DataFrame
        At least one.
    path : str
        Its ending decides: .csv or .tsv, .parquet, and for compressed text .gz,
        .bz2, .xz or .zst behind it. "-" is CSV on standard output.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.table_output import write_tables
    >>> write_tables((pd.DataFrame({"prediction": [p]}) for p in (0.5, 2.0)), "-")
    prediction
    0.5
    2.0
    """
    if path == "-":
        sys.stdout.writelines(_as_csv(frames, ","))
        return
    separator, compress = _format(path)
    with replaced_atomically(path) as file:
        if separator is None:
            _write_parquet(frames, file)
            return
        with compress(file) as compressed:
            for text in _as_csv(frames, separator):
                compressed.write(text.encode())


def _as_csv(frames: Iterable[Any], separator: str) -> Iterator[str]:
    """Yield the text of each table; only the first has a header."""
    for number, frame in enumerate(frames):
        yield frame.to_csv(
            sep=separator, index=False, header=number == 0, lineterminator="\n"
        )


def _write_parquet(frames: Iterable[Any], file: Any) -> None:
    """Write each table as a group of rows, in the types of the first."""
    from pyarrow.parquet import ParquetWriter

    tables = (pyarrow().Table.from_pandas(f, preserve_index=False) for f in frames)
    first = next(tables)
    with ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _format(path: str) -> tuple[str | None, Callable[[Any], Any]]:
    """Return the separator, None for Parquet, and what compresses it."""
    outer = Path(path).suffix.lower()
    if outer in (".parquet", ".pq"):
        return None, nullcontext
    ending = Path(Path(path).stem).suffix.lower() if outer in _COMPRESS else outer
    if ending not in _SEPARATORS:
        raise ShellError(
            f"The output '{path}' must end in .csv, .tsv or .parquet (.csv.gz, "
            ".csv.bz2, .csv.xz, .csv.zst for compressed text).",
            USAGE,
        )
    return _SEPARATORS[ending], _COMPRESS.get(outer, nullcontext)
