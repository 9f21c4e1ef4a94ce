"""Rows in many files, on Dask's workers: to train a committee on, or to prune it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.columns import Columns, as_numbers, is_text, row_numbers
from committee.shell.encoding import TableEncoding
from committee.shell.errors import ShellError, listed
from committee.shell.file_parts import Part, as_chunks
from committee.shell.messages import Messages
from committee.shell.options import Train
from committee.shell.table_model import Findings, TableModel
from committee.shell.target import refuse_constant, split_target

#: Rows that the encoding of the columns is fitted on, and distinct numbers of the
#: target that are looked at in each part.
SAMPLED_ROWS, MOST_NUMBERS = 100_000, 1_000


@dataclass(frozen=True)
class PartRows:
    """Rows in parts, and their targets.

    Attributes
    ----------
    X : Dask array or frame
        A chunk for each of `parts`.
    y : Dask array of shape (N,)
    parts : list of Part
        Those that have rows.
    n_rows : int
    """

    X: Any
    y: Any
    parts: list[Part]
    n_rows: int


def training_rows(
    parts: Sequence[Part], options: Train
) -> tuple[PartRows, TableEncoding]:
    """Return the rows of files as Dask arrays, and the encoding they are read by.

    The encoding is fitted on up to 100,000 rows, taken evenly from all parts.
    """
    from pandas import concat

    samples, words = _samples(parts, options.target)
    n_rows = sum(sample.n_rows for sample in samples)
    rows = concat([sample.rows for sample in samples], ignore_index=True)
    numbering = set.intersection(*(set(sample.numbering) for sample in samples))
    values = concat([sample.target for sample in samples]).drop_duplicates()
    encoding = TableEncoding.fit(
        rows, values, options, numbering=sorted(numbering), n_rows=n_rows
    )
    if len(rows) < n_rows:
        options.messages.note(
            f"columns are read by what is in {len(rows):,} of the rows; other texts "
            "count as none of the known ones."
        )
    filled = [sample.part for sample in samples]
    sizes = [sample.n_rows for sample in samples]
    chunks, width = as_chunks(filled), encoding.X(rows[:1]).shape[1]
    frames = chunks.map(Part.read, words)
    X = chunks.map(_encoded, frames, encoding.X)
    y = chunks.map(_encoded, frames, encoding.y)
    return (
        PartRows(
            _as_array(X, sizes, (width,), np.float64),
            _as_array(y, sizes, (), encoding.labels.dtype),
            filled,
            n_rows,
        ),
        encoding,
    )


@dataclass(frozen=True)
class _Sample:
    """Some rows of a part, and facts about all of them.

    `kinds` holds text, booleans or numbers for each column that has values; `target`
    the distinct values of the target.
    """

    part: Part
    n_rows: int
    rows: Any
    kinds: dict[str, str]
    numbering: list[str]
    target: Any


def _samples(parts: Sequence[Part], target: str) -> tuple[list[_Sample], list[str]]:
    """Return samples of the parts that have rows, and the columns to read as text.

    A column with text in one part and numbers in another is text, which is then read
    once more: "007" is not 7.
    """
    quota = max(1, SAMPLED_ROWS // len(parts))
    words: list[str] = []
    while True:
        found = as_chunks(parts).map(_sample, target, words, quota).values()
        _refuse_other_columns(found)
        samples = [sample for sample in found if sample.n_rows]
        if not samples:
            raise ShellError(f"{parts[0].name} and all other files have no rows.")
        mixed = [
            name
            for name in [*samples[0].rows.columns, target]
            if {"text"} < {sample.kinds.get(name, "text") for sample in samples}
        ]
        if set(mixed) <= set(words):
            break
        words = mixed
    of_target = {sample.kinds[target]: sample.part.name for sample in samples}
    if len(of_target) > 1:
        (one, part), (two, other) = of_target.items()
        raise ShellError(
            f"The target {target!r} has {one} in {part} and {two} in {other}."
        )
    return samples, words


def _sample(part: Part, target: str, words: list[str], quota: int) -> _Sample:
    frame = part.read(words)
    with part.named():
        rows, y = split_target(frame, target)
        kinds = {n: _kind(frame[n]) for n in frame.columns if frame[n].notna().any()}
        numbering = row_numbers(rows)
        # Infinite numbers are refused while their file is known.
        as_numbers(rows[[n for n in rows.columns if kinds.get(n) == "numbers"]])
    distinct = y.drop_duplicates()
    if kinds.get(target) == "numbers":
        distinct = distinct[:MOST_NUMBERS]
    step = -(-len(rows) // quota) or 1
    return _Sample(part, len(rows), rows[::step], kinds, numbering, distinct)


def _kind(column: Any) -> str:
    if is_text(column):
        return "text"
    return "booleans" if column.dtype == bool else "numbers"


def _refuse_other_columns(samples: Sequence[_Sample]) -> None:
    """Refuse files that do not have the columns of the first, in any order."""
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


def labelled_rows(
    model: TableModel, parts: Sequence[Part], messages: Messages
) -> PartRows:
    """Return the rows of files as a model takes them, after a look at all of them."""
    # Targets are few bytes: they stay with the workers, and files are read once less.
    found = as_chunks(parts).map(_labelled, model).kept()
    facts = found.map(_facts).values()
    some = [i for i, fact in enumerate(facts) if fact is not None]
    if not some:
        raise ShellError(f"{parts[0].name} and all other files have no rows.")
    findings = Findings()
    for i in some:
        findings = findings.plus(facts[i].findings)
    from pandas import Series

    distinct = np.concatenate([facts[i].distinct for i in some])
    refuse_constant(Series(distinct, name=model.target), findings.n_rows)
    findings.note(messages)
    filled, sizes = [parts[i] for i in some], [facts[i].findings.n_rows for i in some]
    y = Chunks([found.parts[i] for i in some]).map(_targets, distinct.dtype)
    return PartRows(
        _frames(filled, sizes, model, facts[some[0]].example),
        _as_array(y, sizes, (), distinct.dtype),
        filled,
        findings.n_rows,
    )


@dataclass(frozen=True)
class _Facts:
    """What is known of a part's rows; `example` is X of no rows."""

    findings: Findings
    distinct: Any
    example: Any


def _labelled(part: Part, model: TableModel) -> tuple[_Facts, Any] | None:
    """Return the facts about a part, all of whose rows are checked, and y."""
    frame = part.read(model.words)
    if not len(frame):
        return None
    with part.named():
        X, y, findings = model.take_labelled(frame)
    return _Facts(findings, np.unique(y)[:MOST_NUMBERS], X[:0]), y


def _facts(both: tuple[_Facts, Any]) -> _Facts:
    return both[0]


def _targets(both: tuple[_Facts, Any], dtype: Any) -> Any:
    return both[1].astype(dtype)


def _frames(
    parts: list[Part], sizes: list[int], model: TableModel, example: Any
) -> Any:
    """Return X as a Dask frame, or as an array for a model without names."""
    # Without the model itself: it would travel with every part.
    how = model.target, model.words, model.columns
    if not hasattr(example, "columns"):
        rows = as_chunks(parts).map(_columns, *how)
        return _as_array(rows, sizes, example.shape[1:], example.dtype)
    import dask
    import dask.dataframe as dd

    # Text is to stay as it was in training.
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(_columns, parts, args=how, meta=example)


def _columns(part: Part, target: str, words: list[str], expected: Columns) -> Any:
    return expected.take(part.read(words).drop(columns=target))


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
