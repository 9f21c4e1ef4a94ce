"""The rows of a table as a committee learns from them: in memory, or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer

from committee.distributed import Chunks
from committee.shell.encoding import ROW_NUMBERS, Columns, encoder, row_numbers
from committee.shell.errors import listed
from committee.shell.output import Voice
from committee.shell.parsing import pandas
from committee.shell.parts import Part, as_array, as_chunks
from committee.shell.survey import Survey, surveyed
from committee.shell.target import (
    CLASSIFICATION,
    as_target,
    as_values,
    guess_task,
    refuse_constant,
    split_target,
)

#: Rows that medians, scales and frequent texts of a table in parts are found on.
SAMPLED_ROWS = 100_000


@dataclass(frozen=True)
class Lesson:
    """Numbers to learn from.

    Attributes
    ----------
    task : {"classification", "regression"}
    columns : Columns
    reader : fitted ColumnTransformer
        From a table to X.
    X : array of shape (N, n_features), or Dask array
    y : array of shape (N,), or Dask array
    n_rows : int
    n_classes : int or None
        K, None for regression.
    parts : tuple of Part
        Where the chunks of X come from; none in memory.
    """

    task: str
    columns: Columns
    reader: ColumnTransformer
    X: Any
    y: Any
    n_rows: int
    n_classes: int | None
    parts: tuple[Part, ...] = ()


def in_memory(
    frame: Any, target: str, *, task: str | None, for_trees: bool, voice: Voice
) -> Lesson:
    """Return the rows of a DataFrame.

    Parameters
    ----------
    frame : DataFrame
    target : str
        The column to predict.
    task : {"classification", "regression"} or None
        Guessed from the target where None.
    for_trees : bool
        Whether members are trees.
    voice : Voice

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.training_rows import in_memory
    >>> from committee.shell.output import Voice
    >>> frame = pd.DataFrame({"size": [1, 2], "town": ["Ulm", None], "y": [0.5, 3.5]})
    >>> lesson = in_memory(frame, "y", task=None, for_trees=True, voice=Voice(True))
    >>> lesson.task, lesson.X.tolist()
    ('regression', [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    """
    rows, y = split_target(frame, target)
    task = task or _guessed(y, voice)
    columns = Columns.of(rows)
    _say_what_is_left_out(columns, row_numbers(rows), voice)
    table, labels = columns.take(rows), as_target(y, task)
    reader = encoder(table, columns, for_trees=for_trees)
    X = reader.fit_transform(table, labels)
    return Lesson(
        task, columns, reader, X, labels, len(frame), _n_classes(labels, task)
    )


def in_parts(
    parts: Sequence[Part],
    target: str,
    *,
    task: str | None,
    for_trees: bool,
    voice: Voice,
) -> Lesson:
    """Return the rows of files as Dask arrays, a chunk for each part with rows.

    Columns of text are read as they are in memory: all their values are known. What
    medians, scales and the most frequent texts are for learners other than trees is
    seen on 100,000 rows from all parts, or on all if there are no more.

    Parameters
    ----------
    parts : sequence of Part
    target, task, for_trees, voice
        As for `in_memory`.
    """
    facts, words = surveyed(as_chunks(parts), target)
    y = pandas().Series(facts.target.values, name=target)
    task = task or _guessed(y, voice, more=facts.target.more)
    columns = facts.columns()
    _say_what_is_left_out(columns, sorted(facts.numbering), voice)
    refuse_constant(y.tolist(), target, facts.n_rows)
    labels = as_values(y, task)
    filled = tuple(part for part, n in zip(parts, facts.sizes, strict=True) if n)
    chunks = as_chunks(filled)
    frames = chunks.map(Part.read, words)
    reader = _reader(facts, columns, chunks.map(_taken, frames, columns), for_trees)
    _say_what_is_sampled(facts, for_trees, voice)
    width = reader.transform(facts.stand_in(columns)[:1]).shape[1]
    sizes = [n for n in facts.sizes if n]
    X = chunks.map(_taken, frames, columns).map(_encoded, reader)
    target_values = chunks.map(_target, frames, target, task, labels.dtype)
    return Lesson(
        task,
        columns,
        reader,
        as_array(X, sizes, (width,), np.float64),
        as_array(target_values, sizes, (), labels.dtype),
        facts.n_rows,
        _n_classes(labels, task),
        filled,
    )


def _reader(
    facts: Survey, columns: Columns, tables: Chunks, for_trees: bool
) -> ColumnTransformer:
    """Return the fitted transformer of all rows, or of a sample where it must be."""
    few = facts.stand_in(columns)
    if not for_trees:
        few = pandas().concat(tables.sum(_every, _step(facts)), ignore_index=True)
    return encoder(few, columns, for_trees=for_trees).fit(few)


def _n_classes(labels: Any, task: str) -> int | None:
    return len(np.unique(labels)) if task == CLASSIFICATION else None


def _step(facts: Survey) -> int:
    return -(-facts.n_rows // SAMPLED_ROWS)


def _every(table: Any, step: int) -> list[Any]:
    return [table.iloc[::step]]


def _taken(part: Part, frame: Any, columns: Columns) -> Any:
    with part.named():
        return columns.take(frame)


def _encoded(table: Any, reader: ColumnTransformer) -> Any:
    return reader.transform(table)


def _target(part: Part, frame: Any, target: str, task: str, dtype: Any) -> Any:
    with part.named():
        return as_values(frame[target], task).astype(dtype)


def _guessed(y: Any, voice: Voice, *, more: bool = False) -> str:
    """Return the task that the target sets, and say so."""
    task = guess_task(y)
    many = "more than " if more else ""
    voice.note(
        f"{task}, since the target {y.name!r} has {many}{y.nunique()} distinct values "
        f"such as {y.tolist()[0]!r}; --task to say otherwise."
    )
    return task


def _say_what_is_left_out(columns: Columns, numbers: list[str], voice: Voice) -> None:
    """Say which columns the model will not look at, and why."""
    if numbers:
        voice.note(ROW_NUMBERS)
    names = [name for name in columns.left_out if name not in numbers]
    if names:
        voice.note(f"{listed(names)} left out: text that is different in every row.")


def _say_what_is_sampled(facts: Survey, for_trees: bool, voice: Voice) -> None:
    step = _step(facts)
    if not for_trees and step > 1:
        voice.note(
            "medians, scales and the most frequent texts are those of one row in "
            f"{step}."
        )
