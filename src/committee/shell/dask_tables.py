"""Tables in many files on Dask's workers: the rows to train a committee on, or to prune."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.column_types import (
    AMOUNTS,
    DATE,
    DURATION,
    NUMBERS,
    TEXT,
    ColumnTypes,
    Guess,
    guess_types,
    kind_of,
)
from committee.shell.encoding import TableEncoding
from committee.shell.messages import Messages, ShellError, UsageError, listed
from committee.shell.options import Train
from committee.shell.schema import (
    Schema,
    TableLook,
    as_numbers,
    asked_columns,
    is_text,
    nearly_empty,
    note_unlabelled,
    refuse_constant,
    row_ids,
    split_target,
)
from committee.shell.table_model import Findings, TableModel
from committee.shell.tables import as_frame, pyarrow, read_rows

#: Rows that the encoding is fitted on, and distinct numbers of the target that are
#: collected from each part.
SAMPLED_ROWS, MOST_NUMBERS = 100_000, 1_000
#: Larger Parquet files, in bytes, are read in several parts.
_LARGE = 1 << 26


# --- parts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A file, or some row groups of a Parquet file.

    Attributes
    ----------
    path : str
        Absolute, since workers may have another working directory.
    name : str
        Its name in errors.
    groups : tuple of int or None
        Numbers of the row groups; None for the whole file.
    encoding : str or None
        Text encoding, as in `read_table`.
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
        """Put the name of the file in front of errors."""
        try:
            yield
        except ShellError as error:
            raise type(error)(f"{self.name}: {error}") from error
        except (ValueError, TypeError, OSError) as error:
            why = getattr(error, "strerror", None) or error
            raise ShellError(f"{self.name}: {why}") from error


def parts_of(files: Sequence[str], encoding: str | None = None) -> list[Part]:
    """Return the parts of a table: files, large Parquet files by row groups.

    Parameters
    ----------
    files : sequence of str
        All CSV or JSON lines, or all Parquet.
    encoding : str, default=None
        Text encoding.
    """
    pyarrow()
    kinds = {name: _is_parquet(name) for name in files}
    if len(set(kinds.values())) > 1:
        one, other = (next(n for n in files if kinds[n] == k) for k in (True, False))
        raise UsageError(
            f"All files must be of one kind: '{one}' is Parquet and '{other}' is not."
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


def _is_parquet(name: str) -> bool:
    with open(name, "rb") as file:
        return file.read(4) == b"PAR1"


def as_chunks(parts: Sequence[Part]) -> Chunks:
    """Return parts as chunks that Dask's workers map functions over."""
    from dask import delayed

    return Chunks([delayed(part, traverse=False) for part in parts])


@contextmanager
def naming_files(parts: Sequence[Part]) -> Iterator[None]:
    """Replace the numbers of chunks in errors by the names of files."""
    try:
        yield
    except ValueError as error:
        names = {f"Chunk {number}": part.name for number, part in enumerate(parts)}
        text = re.sub(r"Chunk \d+", lambda m: names.get(m[0], m[0]), str(error))
        if text == str(error):
            raise
        raise ShellError(text) from error


@dataclass(frozen=True)
class PartRows:
    """Rows in parts, and their targets.

    Attributes
    ----------
    X : Dask array or frame
        A chunk for each of `parts`.
    y : Dask array of shape (N,)
    parts : list of Part
        The parts that have rows.
    n_rows : int
    """

    X: Any
    y: Any
    parts: list[Part]
    n_rows: int


# --- to train on ------------------------------------------------------------------------


def training_rows(
    parts: Sequence[Part], options: Train
) -> tuple[PartRows, TableEncoding]:
    """Return the rows of files as Dask arrays, and their encoding.

    The encoding is fitted on up to 100,000 rows, taken evenly from all parts.
    """
    from pandas import concat

    samples, guesses, types = _samples(parts, options)
    sizes = [sample.n_rows for sample in samples]
    n_rows, filled = sum(sizes), [sample.part for sample in samples]
    rows = concat([sample.rows for sample in samples], ignore_index=True)
    values = concat([sample.target for sample in samples]).drop_duplicates()
    look = _look(samples, rows, guesses, types, options)
    encoding = TableEncoding.fit(rows, values, options, look, n_rows=n_rows)
    if len(rows) < n_rows:
        options.messages.note(
            f"columns are encoded from {len(rows):,} of the rows; other text counts as "
            "none of the known values."
        )
    width = encoding.transformer.transform(encoding.schema.take(rows[:1])).shape[1]
    chunks = as_chunks(filled)
    frames = chunks.map(Part.read, types.as_written)
    X, y = (chunks.map(_encoded, frames, how) for how in (encoding.X, encoding.y))
    arrays = (
        _as_array(X, sizes, (width,), np.float64),
        _as_array(y, sizes, (), encoding.labels.dtype),
    )
    return PartRows(*arrays, filled, n_rows), encoding


@dataclass(frozen=True)
class _Sample:
    """Some rows of a part, and facts about all of them.

    `rows` are as they were read. `kinds` has text, booleans, numbers, date or duration
    for each column that has values and no type yet; `guesses` the types that fit; `look`
    the columns to leave out; `target` the distinct values of the target.
    """

    part: Part
    n_rows: int
    rows: Any
    kinds: dict[str, str]
    guesses: dict[str, Guess]
    look: TableLook
    target: Any

    def fits(self, name: str, type_name: str) -> bool:
        """Return True if a column of this part can have a type."""
        kind = self.kinds.get(name)
        if kind == NUMBERS:
            return type_name in AMOUNTS.values()
        return kind is None or type_name in self.guesses.get(name, Guess()).types


def _samples(
    parts: Sequence[Part], options: Train
) -> tuple[list[_Sample], dict[str, Guess], ColumnTypes]:
    """Return samples of the parts that have rows, and the types of their columns.

    A column with text in one part and numbers in another is text, and a type must fit
    all parts. Files are read again when a column gets a type: "007" is not 7.
    """
    quota = max(1, SAMPLED_ROWS // len(parts))
    types = ColumnTypes(dict.fromkeys(options.categorical or [], TEXT))
    guesses: dict[str, Guess] = {}
    while True:
        found = as_chunks(parts).map(_sample, options, types, quota).values()
        _refuse_other_columns(found)
        samples = [sample for sample in found if sample.n_rows]
        if not samples:
            raise _without_rows(parts)
        for name in {n for sample in samples for n in sample.kinds}:
            guess = _agreed(samples, name)
            if guess != Guess():
                guesses[name] = guess
        new = ColumnTypes.of(guesses)
        all_types = {**types.types, **new.types}
        if all_types.keys() == types.types.keys():
            break
        types = ColumnTypes(all_types, new.gaps)
    guesses = {n: guess for n, guess in guesses.items() if guess.types != [TEXT]}
    _refuse_mixed_target(samples, options.target)
    return samples, guesses, types


def _without_rows(parts: Sequence[Part]) -> ShellError:
    return ShellError(f"{parts[0].name} and all other files have no rows.")


def _agreed(samples: Sequence[_Sample], name: str) -> Guess:
    """Return the types of a column that fit all parts; text if in doubt."""
    found = [sample.guesses[name] for sample in samples if name in sample.guesses]
    kinds = {sample.kinds[name] for sample in samples if name in sample.kinds}
    fit = [
        type_name
        for type_name in dict.fromkeys(t for guess in found for t in guess.types)
        if all(sample.fits(name, type_name) for sample in samples)
    ]
    if fit:
        return Guess(fit, sorted({gap for guess in found for gap in guess.gaps}))
    if {TEXT} < kinds or kinds & {DATE, DURATION}:
        return Guess([TEXT])
    strange = (guess.strange for guess in found if guess.strange is not None)
    return Guess(strange=next(strange, None))


def _refuse_mixed_target(samples: Sequence[_Sample], target: str) -> None:
    """Raise if the target has booleans in one file and numbers in another."""
    parts = {s.kinds[target]: s.part.name for s in samples if target in s.kinds}
    if len(parts) > 1:
        (one, part), (two, other) = parts.items()
        raise ShellError(
            f"The target {target!r} has {one} in {part} and {two} in {other}."
        )


def _sample(part: Part, options: Train, types: ColumnTypes, quota: int) -> _Sample:
    frame, target = part.read(types.as_written), options.target
    with part.named():
        frame = asked_columns(frame, options)
        kinds = {
            name: _kind(frame[name])
            for name in frame.columns
            if name not in types.types and frame[name].notna().any()
        }
        guesses = guess_types(frame, types.types)
        look = TableLook.at(frame, options, types)
        rows, y = split_target(frame, target, types)
        # Infinite numbers are refused while their file is known.
        as_numbers(rows[[n for n in rows.columns if kinds.get(n) == NUMBERS]])
    distinct = y.drop_duplicates()
    if kind_of(y) == NUMBERS and y.dtype != bool:
        distinct = distinct[:MOST_NUMBERS]
    step = -(-len(rows) // quota) or 1
    return _Sample(part, len(rows), rows[::step], kinds, guesses, look, distinct)


def _kind(column: Any) -> str:
    kind = kind_of(column)
    if kind == TEXT:
        is_text(column)  # or raises
    return "booleans" if column.dtype == bool else kind


def _look(
    samples: Sequence[_Sample],
    rows: Any,
    guesses: dict[str, Guess],
    types: ColumnTypes,
    options: Train,
) -> TableLook:
    """Return the look at all parts together.

    Numbers that are consecutive in each part identify rows; text must differ in the
    sample. Columns are nearly empty only if they are in all parts.
    """
    looks = [sample.look for sample in samples]
    numbering, in_parts, empty = (
        set.intersection(*(set(getattr(look, name)) for look in looks))
        for name in ("row_numbers", "ids", "empty")
    )
    plain, keep = types.to_numbers(rows), options.keep or []
    counted = in_parts & set(plain.select_dtypes("integer").columns)
    ids = counted | set(row_ids(plain)).difference(keep, numbering)
    return TableLook(
        guesses,
        types,
        sorted(numbering),
        [name for name in rows.columns if name in ids],
        [name for name in nearly_empty(plain) if name in empty],
        sum(look.n_unlabelled for look in looks),
    )


def _refuse_other_columns(samples: Sequence[_Sample]) -> None:
    """Raise if a file does not have the columns of the first, in any order."""
    first = samples[0]
    for sample in samples:
        for lacks, has in ((sample, first), (first, sample)):
            missing = has.rows.columns.difference(lacks.rows.columns, sort=False)
            if len(missing):
                raise ShellError(
                    f"All files must have the same columns: {lacks.part.name} lacks "
                    f"{listed(missing.tolist())} of {has.part.name}."
                )


def _encoded(part: Part, frame: Any, encode: Any) -> Any:
    with part.named():
        return encode(frame)


# --- to prune on ------------------------------------------------------------------------


def labelled_rows(
    model: TableModel, parts: Sequence[Part], messages: Messages
) -> PartRows:
    """Return the rows of files as a model takes them, after checking all of them."""
    # Targets are few bytes: workers keep them, and files are read once less.
    found = as_chunks(parts).map(_labelled, model).kept()
    facts = found.map(itemgetter(0)).values()
    some = [i for i, fact in enumerate(facts) if fact is not None]
    if not some:
        raise _without_rows(parts)
    filled, facts = [parts[i] for i in some], [facts[i] for i in some]
    findings = Findings()
    for fact in facts:
        findings = findings.plus(fact.findings)
    distinct = np.concatenate([fact.distinct for fact in facts])
    refuse_constant(np.unique(distinct), model.target, findings.n_rows)
    note_unlabelled(findings.n_unlabelled, str(model.target), messages)
    findings.note(messages)
    sizes = [fact.findings.n_rows for fact in facts]
    y = Chunks([found.parts[i] for i in some]).map(_targets, distinct.dtype)
    return PartRows(
        _frames(filled, sizes, model, facts[0].example),
        _as_array(y, sizes, (), distinct.dtype),
        filled,
        findings.n_rows,
    )


@dataclass(frozen=True)
class _Facts:
    """Facts about the rows of a part; `example` is X with no rows."""

    findings: Findings
    distinct: Any
    example: Any


def _labelled(part: Part, model: TableModel) -> tuple[_Facts | None, Any]:
    """Check all rows of a part; return facts about them, None without rows, and y."""
    frame = part.read(model.words)
    if not len(frame):
        return None, None
    with part.named():
        X, y, findings = model.take_labelled(frame)
    return _Facts(findings, np.unique(y)[:MOST_NUMBERS], X[:0]) if len(y) else None, y


def _targets(facts_and_y: tuple[_Facts, Any], dtype: Any) -> Any:
    return facts_and_y[1].astype(dtype)


def _frames(
    parts: list[Part], sizes: list[int], model: TableModel, example: Any
) -> Any:
    """Return X as a Dask frame, or as an array for a model without column names."""
    # Not the model itself, which would be sent with every part.
    how = model.target, model.words, model.schema
    if not hasattr(example, "columns"):
        rows = as_chunks(parts).map(_columns, *how)
        return _as_array(rows, sizes, example.shape[1:], example.dtype)
    import dask
    import dask.dataframe as dd

    # Text keeps the type that it had in training.
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(_columns, parts, args=how, meta=example)


def _columns(part: Part, target: str, words: list[str], schema: Schema) -> Any:
    rows, _ = split_target(part.read(words), target, schema.column_types)
    return schema.take(rows)


def _as_array(
    chunks: Chunks, sizes: Sequence[int], tail: tuple[int, ...], dtype: Any
) -> Any:
    """Return arrays of shape (n, *tail), with n of sizes, as one Dask array."""
    import dask.array as da

    return da.concatenate(
        [
            da.from_delayed(part, (n, *tail), dtype=dtype)
            for part, n in zip(chunks.parts, sizes, strict=True)
        ]
    )
