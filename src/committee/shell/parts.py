"""Tables in many files: which files they are, and the parts that workers read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from committee.distributed import Chunks
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.parsing import pandas
from committee.shell.tables import read_rows

#: Bytes of a Parquet file on the disk, and of a part of it in memory.
_LARGE, _PART = 1 << 26, 1 << 27


@dataclass(frozen=True)
class Part:
    """A file, or some groups of rows of a Parquet file.

    Attributes
    ----------
    path : str
        From the root, since workers may be at work elsewhere.
    name : str
        What errors call it.
    parquet : bool
    groups : tuple of int or None
        Numbers of the groups of rows; None for the whole file.
    """

    path: str
    name: str
    parquet: bool
    groups: tuple[int, ...] | None = None

    def read(self, words: Sequence[str] = ()) -> Any:
        """Return the rows as a DataFrame, perhaps an empty one.

        Parameters
        ----------
        words : sequence of str
            Columns that hold text, even where it looks like numbers.
        """
        if self.groups is None:
            return read_rows(self.path, self.name, words)
        from pyarrow.parquet import ParquetFile

        with self.named(), ParquetFile(self.path) as file:
            frame = file.read_row_groups(self.groups).to_pandas()
        frame.columns = frame.columns.map(str)
        return frame.reset_index(drop=True)

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


def is_spread(data: str, scheduler: str | None = None) -> bool:
    """Whether a table is for Dask: a pattern, a folder, or anything for a scheduler.

    Examples
    --------
    >>> from committee.shell.parts import is_spread
    >>> is_spread("rows/*.csv"), is_spread("rows.csv")
    (True, False)
    """
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
    files = [name for name in glob.glob(pattern, recursive=True) if _is_file(name)]
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


def parts_of(files: Sequence[str]) -> list[Part]:
    """Return what workers read at once: files, large Parquet files by groups of rows.

    Parameters
    ----------
    files : sequence of str
        All CSV, or all Parquet.
    """
    pandas()
    kinds = {name: _is_parquet(name) for name in files}
    if len(set(kinds.values())) > 1:
        parquet, other = (
            next(name for name in files if kinds[name] == kind)
            for kind in (True, False)
        )
        raise ShellError(
            f"All files must be of one kind: '{parquet}' is Parquet and '{other}' is "
            "not.",
            USAGE,
        )
    return [part for name in files for part in _parts(name, kinds[name])]


def as_chunks(parts: Iterable[Part]) -> Chunks:
    """Return parts for Dask to work on."""
    from dask import delayed

    return Chunks([delayed(part, traverse=False) for part in parts])


def as_array(
    chunks: Chunks, sizes: Sequence[int], tail: tuple[int, ...], dtype: Any
) -> Any:
    """Return arrays of known sizes as one Dask array.

    Parameters
    ----------
    chunks : Chunks of arrays of shape (n, *tail)
    sizes : sequence of int
        n of each, at least 1.
    tail : tuple of int
    dtype : data type
    """
    import dask.array as da

    return da.concatenate(
        [
            da.from_delayed(part, (n, *tail), dtype=dtype)
            for part, n in zip(chunks.parts, sizes, strict=True)
        ]
    )


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


def refuse_spread(data: str, what: str) -> None:
    """Refuse a table in many files where one in memory is needed.

    Parameters
    ----------
    data : str
    what : str
        What it is needed for, as the subject of a sentence.
    """
    if is_spread(data):
        raise ShellError(
            f"{what} is made from rows in memory: give one file instead of '{data}'.",
            USAGE,
        )


def refuse_more(files: Sequence[str]) -> None:
    """Refuse further files, into which a shell turns a pattern without quotes.

    Examples
    --------
    >>> from committee.shell.parts import refuse_more
    >>> refuse_more([])
    """
    if files:
        raise ShellError(
            f"DATA is one file or one pattern, and {listed(list(files), limit=3)} came "
            "after it: put a pattern in quotes, such as 'rows/*.csv'.",
            USAGE,
        )


def _parts(name: str, parquet: bool) -> list[Part]:
    path, called = os.path.abspath(name), f"'{name}'"
    if not parquet or os.path.getsize(name) <= _LARGE:
        return [Part(path, called, parquet)]
    from pyarrow.parquet import read_metadata

    part = Part(path, called, parquet)
    with part.named():
        about = read_metadata(path)
    sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
    return [Part(path, called, parquet, groups) for groups in _bundles(sizes)]


def _bundles(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield numbers of groups that follow each other and are small together."""
    bundle: tuple[int, ...] = ()
    total = 0
    for number, size in enumerate(sizes):
        if bundle and total + size > _PART:
            yield bundle
            bundle, total = (), 0
        bundle, total = (*bundle, number), total + size
    if bundle:
        yield bundle


def _is_pattern(data: str) -> bool:
    return glob.has_magic(data) and not os.path.exists(data)


def _is_file(name: str) -> bool:
    """Whether it is a file with rows: `_SUCCESS` and `_metadata` have none."""
    return os.path.isfile(name) and not Path(name).name.startswith("_")


def _is_parquet(name: str) -> bool:
    with open(name, "rb") as file:
        return file.read(4) == b"PAR1"


def _by_value(name: str) -> list[Any]:
    """Return a key by which part-10 comes after part-2."""
    return [
        (1, int(piece), "") if re.fullmatch(r"\d+", piece) else (0, 0, piece)
        for piece in re.split(r"(\d+)", name)
    ]
