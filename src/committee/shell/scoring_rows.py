"""Rows with their targets, as a saved model takes them: in memory, or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.errors import ShellError, listed
from committee.shell.model_files import Model, Taking
from committee.shell.output import Voice
from committee.shell.parts import Part, as_array, as_chunks
from committee.shell.predict_command import Findings, rows_of, words_of
from committee.shell.survey import MOST_NUMBERS, Distinct
from committee.shell.tables import read_table
from committee.shell.target import (
    CLASSIFICATION,
    as_target,
    as_values,
    refuse_constant,
    split_target,
)


def labelled_rows(
    model: Model, data: str, target: str, voice: Voice
) -> tuple[Any, Any]:
    """Return the rows of a table as a model takes them, and their targets."""
    frame = read_table(data, words=_words(model, target))
    frame, column = split_target(frame, target)
    y = _known_labels(model, as_target(column, model.task), target)
    X, findings = rows_of(model, frame)
    findings.tell(voice)
    return X, y


@dataclass(frozen=True)
class LabelledParts:
    """Rows in parts, and their targets.

    Attributes
    ----------
    X : Dask frame or array
        A chunk for each of `parts`.
    y : Dask array of shape (N,)
    parts : list of Part
        Those that have rows.
    findings : Findings
    """

    X: Any
    y: Any
    parts: list[Part]
    findings: Findings


def labelled_parts(model: Model, parts: Sequence[Part], target: str) -> LabelledParts:
    """Return the rows of files as a model takes them, after a look at all of them.

    Parameters
    ----------
    model : Model
    parts : sequence of Part
    target : str
    """
    words = _words(model, target)
    # Targets are few bytes: they stay with the workers, and files are read once less.
    both = as_chunks(parts).map(_facts_and_y, model, target, words).kept()
    facts: _Facts = both.sum(_first)
    if not facts.findings.n_rows:
        raise ShellError(f"{parts[0].name} and all other files have no rows.")
    refuse_constant(list(facts.target.values), target, facts.findings.n_rows)
    some = [i for i, n in enumerate(facts.sizes) if n]
    filled, sizes = [parts[i] for i in some], [facts.sizes[i] for i in some]
    labels = Chunks([both.parts[i] for i in some]).map(_second, facts.dtype)
    return LabelledParts(
        _rows_in_parts(filled, sizes, (target, words, model.taking), facts.example),
        as_array(labels, sizes, (), facts.dtype),
        filled,
        facts.findings,
    )


def _rows_in_parts(
    parts: list[Part], sizes: list[int], how: tuple[Any, ...], example: Any
) -> Any:
    """Return X as a Dask frame, or as an array for a model without names."""
    if not hasattr(example, "columns"):
        rows = as_chunks(parts).map(_rows, *how)
        return as_array(rows, sizes, example.shape[1:], example.dtype)
    import dask
    import dask.dataframe as dd

    # Text is to stay as it was in training.
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(_rows, parts, args=how, meta=example)


@dataclass(frozen=True)
class _Facts:
    """What no part knows alone; `example` is X of no rows."""

    sizes: tuple[int, ...]
    findings: Findings
    target: Distinct
    dtype: Any
    example: Any

    def plus(self, other: _Facts) -> _Facts:
        if not self.findings.n_rows or not other.findings.n_rows:
            some = self if self.findings.n_rows else other
            return _Facts(self.sizes + other.sizes, *some._rest())
        return _Facts(
            self.sizes + other.sizes,
            self.findings.plus(other.findings),
            self.target.plus(other.target),
            np.promote_types(self.dtype, other.dtype),
            self.example,
        )

    def _rest(self) -> tuple[Any, ...]:
        return self.findings, self.target, self.dtype, self.example


def _facts_and_y(
    part: Part, model: Model, target: str, words: list[str]
) -> tuple[_Facts, Any]:
    """Return the facts about a part, all of whose rows are read and checked."""
    frame = part.read(words)
    with part.named():
        frame, column = split_target(frame, target)
        distinct = Distinct.of(column, MOST_NUMBERS)
        if not len(frame):
            return _Facts((0,), Findings(), distinct, None, None), None
        y = _known_labels(model, as_values(column, model.task), target)
        X, findings = rows_of(model, frame)
    return _Facts((len(frame),), findings, distinct, y.dtype, X[:0]), y


def _first(both: tuple[_Facts, Any]) -> _Facts:
    return both[0]


def _second(both: tuple[_Facts, Any], dtype: Any) -> Any:
    return both[1].astype(dtype)


def _rows(part: Part, target: str, words: list[str], taking: Taking) -> Any:
    """Return X of a part."""
    return taking.rows(part.read(words).drop(columns=target))


def _words(model: Model, target: str) -> list[str]:
    """Return the columns to read as text: the target too where labels are text."""
    classes = getattr(model.estimator, "classes_", None)
    labels = classes is not None and classes.dtype.kind in "UO"
    return [*words_of(model), target] if labels else words_of(model)


def _known_labels(model: Model, y: Any, target: str) -> Any:
    """Refuse labels that the model does not know."""
    if model.task != CLASSIFICATION:
        return y
    classes = model.estimator.classes_
    strange = sorted({str(label) for label in y[~np.isin(y, classes)]})
    if strange:
        raise ShellError(
            f"The target {target!r} has {listed(strange)}, which the model does not "
            f"know. Its classes are {listed([str(label) for label in classes])}."
        )
    return y
