"""Rows in many files, on Dask's workers: to train a committee on, or to prune it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.columns import Columns, as_numbers, hardly_known, is_text, row_ids
from committee.shell.encoding import TableEncoding
from committee.shell.errors import ShellError, listed
from committee.shell.file_parts import Part, as_chunks
from committee.shell.formats import AMOUNTS, DATE, DURATION, TEXT, Guess
from committee.shell.messages import Messages
from committee.shell.options import Train
from committee.shell.reading import Reading, guesses_of, kind_of
from committee.shell.table_look import TableLook, asked_columns
from committee.shell.table_model import Findings, TableModel
from committee.shell.target import note_unlabelled, refuse_constant, split_target

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

    samples, guesses, reading = _samples(parts, options)
    n_rows = sum(sample.n_rows for sample in samples)
    rows = concat([sample.rows for sample in samples], ignore_index=True)
    values = concat([sample.target for sample in samples]).drop_duplicates()
    look = _look(samples, rows, guesses, reading, options)
    encoding = TableEncoding.fit(rows, values, options, look, n_rows=n_rows)
    if len(rows) < n_rows:
        options.messages.note(
            f"columns are read by what is in {len(rows):,} of the rows; other texts "
            "count as none of the known ones."
        )
    filled = [sample.part for sample in samples]
    sizes = [sample.n_rows for sample in samples]
    taken = encoding.columns.take(rows[:1])
    chunks, width = as_chunks(filled), encoding.transformer.transform(taken).shape[1]
    frames = chunks.map(Part.read, reading.texts)
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

    `rows` are as they were read. `kinds` holds text, booleans, numbers, date or
    duration for each column that has values and no format yet; `guesses` what such
    may mean; `look` what is left out; `target` the distinct values of the target.
    """

    part: Part
    n_rows: int
    rows: Any
    kinds: dict[str, str]
    guesses: dict[str, Guess]
    look: TableLook
    target: Any

    def accepts(self, name: str, form: str) -> bool:
        """Whether a column of this part can be read in a format."""
        kind = self.kinds.get(name)
        if kind == "numbers":
            return form in AMOUNTS.values()
        return kind is None or form in self.guesses.get(name, Guess()).formats


def _samples(
    parts: Sequence[Part], options: Train
) -> tuple[list[_Sample], dict[str, Guess], Reading]:
    """Return samples of the parts that have rows, and how their columns are read.

    A column with text in one part and numbers in another is text, and formats are
    those that fit all parts. Columns that need one are then read once more: "007" is
    not 7.
    """
    quota = max(1, SAMPLED_ROWS // len(parts))
    reading = Reading(dict.fromkeys(options.categorical or [], TEXT))
    guesses: dict[str, Guess] = {}
    while True:
        found = as_chunks(parts).map(_sample, options, reading, quota).values()
        _refuse_other_columns(found)
        samples = [sample for sample in found if sample.n_rows]
        if not samples:
            raise ShellError(f"{parts[0].name} and all other files have no rows.")
        new = {
            name: _agreed(samples, name)
            for name in {n for sample in samples for n in sample.kinds}
        }
        guesses |= {n: guess for n, guess in new.items() if guess != Guess()}
        found_reading = Reading.of(guesses)
        formats = {**reading.formats, **found_reading.formats}
        if formats.keys() == reading.formats.keys():
            break
        reading = Reading(formats, found_reading.gaps)
    guesses = {n: guess for n, guess in guesses.items() if guess.formats != [TEXT]}
    _refuse_mixed_target(samples, options.target)
    return samples, guesses, reading


def _agreed(samples: Sequence[_Sample], name: str) -> Guess:
    """Return what a column may mean in all parts: text, in case of doubt."""
    found = [sample.guesses[name] for sample in samples if name in sample.guesses]
    kinds = {sample.kinds[name] for sample in samples if name in sample.kinds}
    fit = [
        form
        for form in dict.fromkeys(form for guess in found for form in guess.formats)
        if all(sample.accepts(name, form) for sample in samples)
    ]
    if fit:
        return Guess(fit, sorted({gap for guess in found for gap in guess.gaps}))
    if {"text"} < kinds or kinds & {DATE, DURATION}:
        return Guess([TEXT])
    strange = [guess.strange for guess in found if guess.strange is not None]
    return Guess(strange=strange[0] if strange else None)


def _refuse_mixed_target(samples: Sequence[_Sample], target: str) -> None:
    """Refuse a target that has booleans in one file and numbers in another."""
    of_target = {
        sample.kinds[target]: sample.part.name
        for sample in samples
        if target in sample.kinds
    }
    if len(of_target) > 1:
        (one, part), (two, other) = of_target.items()
        raise ShellError(
            f"The target {target!r} has {one} in {part} and {two} in {other}."
        )


def _sample(part: Part, options: Train, reading: Reading, quota: int) -> _Sample:
    frame, target = part.read(reading.texts), options.target
    with part.named():
        frame = asked_columns(frame, options)
        kinds = {
            name: _kind(frame[name])
            for name in frame.columns
            if name not in reading.formats and frame[name].notna().any()
        }
        guesses = guesses_of(frame, reading.formats)
        look = TableLook.at(frame, options, reading)
        rows, y = split_target(frame, target, reading)
        # Infinite numbers are refused while their file is known.
        as_numbers(rows[[n for n in rows.columns if kinds.get(n) == "numbers"]])
    distinct = y.drop_duplicates()
    if kind_of(y) == "numbers" and y.dtype != bool:
        distinct = distinct[:MOST_NUMBERS]
    step = -(-len(rows) // quota) or 1
    return _Sample(part, len(rows), rows[::step], kinds, guesses, look, distinct)


def _kind(column: Any) -> str:
    kind = kind_of(column)
    if kind == TEXT:
        is_text(column)  # or refused
    return "booleans" if column.dtype == bool else kind


def _look(
    samples: Sequence[_Sample],
    rows: Any,
    guesses: dict[str, Guess],
    reading: Reading,
    options: Train,
) -> TableLook:
    """Return what the looks at all parts show together.

    Numbers without holes in each part name the rows; text must differ in the sample.
    Columns without values have none in any part.
    """
    looks = [sample.look for sample in samples]
    numbering = set.intersection(*(set(look.numbering) for look in looks))
    in_parts = set.intersection(*(set(look.ids) for look in looks))
    plain, keep = reading.plain(rows), options.keep or []
    counted = in_parts & set(plain.select_dtypes("integer").columns)
    ids = counted | set(row_ids(plain)).difference(keep, numbering)
    unknown = set.intersection(*(set(look.unknown) for look in looks))
    return TableLook(
        guesses,
        reading,
        sorted(numbering),
        [name for name in rows.columns if name in ids],
        [name for name in hardly_known(plain) if name in unknown],
        sum(look.n_unlabelled for look in looks),
    )


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
    note_unlabelled(findings.n_unlabelled, str(model.target), messages)
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
    if not len(y):
        return None
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
    rows, _ = split_target(part.read(words), target, expected.reading)
    return expected.take(rows)


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
