"""Tables in many files: which files they are, and the parts that workers read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.errors import USAGE, ShellError
from committee.shell.tables import as_frame, pyarrow, read_rows

#: Bytes of a Parquet file that workers read as a whole.
_LARGE = 1 << 26


@dataclass(frozen=True)
class Part:
    """A file, or some groups of rows of a Parquet file.

    Attributes
    ----------
    path : str
        From the root, since workers may be at work elsewhere.
    name : str
        What errors call it.
    groups : tuple of int or None
        Numbers of the groups of rows; None for the whole file.
    encoding : str or None
        Of text, as `read_table` takes it.
    """

    path: str
    name: str
    groups: tuple[int, ...] | None = None
    encoding: str | None = None

    def read(self, words: Sequence[str] = ()) -> Any:
        """Return the rows as a DataFrame, perhaps an empty one."""
        if self.groups is None:
            return read_rows(self.path, self.name, words, self.encoding)
        from pyarrow.parquet import ParquetFile

        with self.named(), ParquetFile(self.path) as file:
            return as_frame(file.read_row_groups(self.groups), self.name)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say of an error in which file it is."""
        try:
            yield
        except ShellError as error:
            raise ShellError(f"{self.name}: {error}", error.status) from error
        except (ValueError, TypeError, OSError) as error:
            why = getattr(error, "strerror", None) or error
            raise ShellError(f"{self.name}: {why}") from error


def is_for_dask(data: str, scheduler: str | None = None) -> bool:
    """Whether a table is for Dask: a pattern, a folder, or anything for a scheduler."""
    if scheduler is not None and data == "-":
        raise ShellError(
            "Dask's workers cannot read standard input: give a file or a pattern with "
            "--scheduler.",
            USAGE,
        )
    return scheduler is not None or _is_pattern(data) or os.path.isdir(data)


def files_of(data: str) -> list[str]:
    """Return the files of a table in the order of their names, numbers by value.

    Parameters
    ----------
    data : str
        A file, a pattern, or a folder of Parquet files.
    """
    pattern = data
    if os.path.isdir(data):
        pattern = os.path.join(glob.escape(data), "*.parquet")
    elif not _is_pattern(data):
        return [data]
    # Names such as _SUCCESS and _metadata stand for no rows.
    files = [
        name
        for name in glob.glob(pattern, recursive=True)
        if os.path.isfile(name) and not Path(name).name.startswith("_")
    ]
    if not files and pattern != data:
        raise ShellError(
            f"The folder '{data}' has no files *.parquet: give a pattern in quotes, "
            f"such as '{os.path.join(data, '*.csv')}'.",
            USAGE,
        )
    if not files:
        raise ShellError(
            f"No file matches '{data}': check its folder and its ending; files must be "
            "on this machine or on a shared disk.",
            USAGE,
        )
    return sorted(files, key=_by_value)


def parts_of(files: Sequence[str], encoding: str | None = None) -> list[Part]:
    """Return what workers read at once: files, large Parquet files by groups of rows.

    Parameters
    ----------
    files : sequence of str
        All CSV or JSON lines, or all Parquet.
    encoding : str, optional
        Of text.
    """
    pyarrow()
    kinds = {name: _is_parquet(name) for name in files}
    if len(set(kinds.values())) > 1:
        one, other = (next(n for n in files if kinds[n] == k) for k in (True, False))
        raise ShellError(
            f"All files must be of one kind: '{one}' is Parquet and '{other}' is not.",
            USAGE,
        )
    return [part for name in files for part in _parts(name, kinds[name], encoding)]


def _parts(name: str, parquet: bool, encoding: str | None) -> list[Part]:
    part = Part(os.path.abspath(name), f"'{name}'", encoding=encoding)
    n_parts = -(-os.path.getsize(name) // _LARGE)
    if not parquet or n_parts < 2:
        return [part]
    from pyarrow.parquet import read_metadata

    with part.named():
        n_groups = read_metadata(part.path).num_row_groups
    bundles = np.array_split(np.arange(n_groups), min(n_parts, n_groups))
    return [Part(part.path, part.name, tuple(b.tolist())) for b in bundles]


def as_chunks(parts: Sequence[Part]) -> Chunks:
    """Return parts for Dask to work on."""
    from dask import delayed

    return Chunks([delayed(part, traverse=False) for part in parts])


@contextmanager
def naming_files(parts: Sequence[Part]) -> Iterator[None]:
    """Say of an error in a chunk in which file it is."""
    try:
        yield
    except ValueError as error:
        names = {f"Chunk {number}": part.name for number, part in enumerate(parts)}
        text = re.sub(r"Chunk \d+", lambda m: names.get(m[0], m[0]), str(error))
        if text == str(error):
            raise
        raise ShellError(text) from error


def _is_pattern(data: str) -> bool:
    return glob.has_magic(data) and not os.path.exists(data)


def _is_parquet(name: str) -> bool:
    with open(name, "rb") as file:
        return file.read(4) == b"PAR1"


def _by_value(name: str) -> list[tuple[int, str]]:
    """Return a key by which part-10 comes after part-2."""
    pieces = re.split(r"(\d+)", name)
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in pieces]
