"""A model in a file, with the facts about its table; its view of other tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from committee.persistence import ModelFileError, load, read_metadata, save
from committee.shell.choices import CLASSIFICATION, REGRESSION
from committee.shell.columns import ROW_NUMBERS, Columns
from committee.shell.encoding import unseen
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.messages import Messages
from committee.shell.tables import read_table
from committee.shell.target import (
    as_target,
    note_unlabelled,
    refuse_constant,
    split_target,
)


@dataclass(frozen=True)
class Findings:
    """What is good to know about rows that a model predicts.

    Attributes
    ----------
    n_rows : int
    numbered : bool
        Whether a column of row numbers is left out.
    unseen : Counter
        Rows of each text column with values that were not there in training.
    n_unlabelled : int
        Rows without a target, which are not among them.
    """

    n_rows: int = 0
    numbered: bool = False
    unseen: Counter[str] = field(default_factory=Counter)
    n_unlabelled: int = 0

    def plus(self, other: Findings) -> Findings:
        """Return what is good to know about the rows of both."""
        return Findings(
            self.n_rows + other.n_rows,
            self.numbered or other.numbered,
            self.unseen + other.unseen,
            self.n_unlabelled + other.n_unlabelled,
        )

    def note(self, messages: Messages) -> None:
        """Print it."""
        if self.numbered:
            messages.note(ROW_NUMBERS)
        for name, count in self.unseen.items():
            rows = "row" if count == 1 else "rows"
            messages.note(
                f"the column {name!r} has values in {count} {rows} that were not there "
                "in training; they count as none of the known ones."
            )


@dataclass(frozen=True)
class TableModel:
    """A fitted model, and what is known about the table it came from.

    Attributes
    ----------
    estimator : fitted estimator
        A committee, a pipeline with one at its end, or what somebody else saved.
    columns : Columns
    target : str or None
    source : dict or None
        File name without its folder, or pattern with its last one, and number of
        rows of the training table.
    description : dict
        What the file says about itself.
    """

    estimator: Any
    columns: Columns
    target: str | None = None
    source: dict[str, Any] | None = None
    description: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The task that the estimator was trained for."""
        return CLASSIFICATION if is_classifier(self.estimator) else REGRESSION

    @property
    def classes(self) -> Any:
        """The labels that the estimator knows, None for regression."""
        return getattr(self.estimator, "classes_", None)

    @property
    def last(self) -> Any:
        """The committee, or whatever stands at the end of the pipeline."""
        is_pipeline = isinstance(self.estimator, Pipeline)
        return self.estimator[-1] if is_pipeline else self.estimator

    @property
    def words(self) -> list[str]:
        """Columns to read as text: the target too where labels are text."""
        labels = self.classes is not None and self.classes.dtype.kind in "UO"
        target = [self.target] if labels and self.target else []
        return [*self.columns.reading.texts, *target]

    def take(self, frame: Any) -> tuple[Any, Findings]:
        """Return the rows of a DataFrame as the estimator takes them, and findings."""
        X = self.columns.take(frame)
        new = unseen(self._transformer(), X) if self.columns.words else {}
        numbered = bool(self.columns.numbering(frame))
        return X, Findings(len(frame), numbered, Counter(new))

    def take_labelled(self, frame: Any) -> tuple[Any, Any, Findings]:
        """Return X, y and findings of a DataFrame with the target."""
        n_rows = len(frame)
        frame, column = split_target(frame, str(self.target), self.columns.reading)
        y = as_target(column, self.task)
        if self.classes is not None:
            strange = {str(label) for label in y[~np.isin(y, self.classes)]}
            if strange:
                raise ShellError(
                    f"The target {self.target!r} has {listed(sorted(strange))}, which "
                    "the model does not know. Its classes are "
                    f"{listed(list(map(str, self.classes)))}."
                )
        X, findings = self.take(frame)
        return X, y, replace(findings, n_unlabelled=n_rows - len(y))

    def read_labelled(
        self, data: str, messages: Messages, encoding: str | None = None
    ) -> tuple[Any, Any]:
        """Return X and y of a file with the target, after notes about them."""
        from pandas import Series

        frame = read_table(data, self.words, encoding)
        X, y, findings = self.take_labelled(frame)
        refuse_constant(Series(y, name=self.target), len(y))
        note_unlabelled(findings.n_unlabelled, str(self.target), messages)
        findings.note(messages)
        return X, y

    def is_source(self, data: str, n_rows: int) -> bool:
        """Whether a table has the name and number of rows of the training table."""
        source = self.source or {}
        known = source.get("file"), source.get("rows")
        return data != "-" and known == (source_name(data), n_rows)

    def note_known_rows(self, data: str, n_rows: int, messages: Messages) -> None:
        """Say that a model is judged on what look like its training rows."""
        if self.is_source(data, n_rows):
            messages.note(
                f"'{data}' has the name and the number of rows of the table that the "
                "model was trained on: on the same rows it looks better than it is."
            )

    def _transformer(self) -> Any:
        """Return what turns the columns of a table into numbers."""
        before = (
            self.estimator[:-1]
            if isinstance(self.estimator, Pipeline)
            else getattr(self.estimator, "transformer_", None)
        )
        while isinstance(before, Pipeline):
            before = before[0] if len(before) else None
        return before


def read_model(
    path: str, target: str | None = None, *, labelled: bool = False
) -> TableModel:
    """Load a model that can predict, safely.

    Parameters
    ----------
    path : str
        A file of `committee train`, `committee prune`, `committee.save` or skops.
    target : str, optional
        The column to predict, where it is not the one the model was trained for.
    labelled : bool, default=False
        Whether the target must be known.
    """
    estimator, description = load(path), read_metadata(path)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ShellError(
            f"'{path}' must hold a classifier or a regressor. It holds a "
            f"{type(estimator).__name__}."
        )
    facts = _table_facts(description.get("metadata") or {}, path)
    target = target or facts.get("target")
    if labelled and target is None:
        raise ShellError(f"'{path}' does not name its target: give --target.", USAGE)
    columns = facts.get("columns") or {
        "names": list(map(str, getattr(estimator, "feature_names_in_", ()))),
        "width": getattr(estimator, "n_features_in_", None),
    }
    source = facts.get("source")
    return TableModel(estimator, Columns(**columns), target, source, description)


def _table_facts(metadata: dict[str, Any], path: str) -> dict[str, Any]:
    """Return target, columns and source, as `write_model` has written them.

    Who calls `committee.save` may keep other things under these names: such are left
    alone.
    """
    columns, source = metadata.get("columns"), metadata.get("source")
    sound = {
        "target": isinstance(metadata.get("target"), str | None),
        "columns": columns is None or _are_columns(columns),
        "source": source is None
        or (isinstance(source, dict) and isinstance(source.get("rows"), int)),
    }
    wrong = [name for name, is_sound in sound.items() if not is_sound]
    if wrong and metadata.keys() >= sound.keys():
        raise ModelFileError(
            f"{path} is damaged: in its metadata {wrong[0]!r} is not what committee "
            "writes."
        )
    return {name: metadata.get(name) for name in sound if name not in wrong}


def _are_columns(columns: Any) -> bool:
    """Whether these are the fields of `Columns`."""
    return (
        isinstance(columns, dict)
        and "names" in columns
        and columns.keys() <= {"names", "words", "width", "formats", "gaps"}
        and isinstance(columns.get("width"), int | None)
        and _are_names(columns["names"])
        and _are_names(columns.get("words") or [])
        and _are_by_name(columns.get("formats", {}), lambda f: isinstance(f, str))
        and _are_by_name(columns.get("gaps", {}), _are_names)
    )


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _are_by_name(facts: Any, is_fact: Callable[[Any], bool]) -> bool:
    return isinstance(facts, dict) and all(map(is_fact, facts.values()))


def write_model(model: TableModel, path: str) -> int:
    """Save a model with the facts about its table; return the bytes of the file."""
    columns = None if model.columns.words is None else asdict(model.columns)
    facts = {"columns": columns, "target": model.target, "source": model.source}
    save(model.estimator, path, metadata=facts)
    return os.path.getsize(path)


def source_name(path: str) -> str:
    """Return what is kept about a table: its name, and not where it was.

    A pattern keeps one folder, since `*.csv` alone would say nothing.

    Examples
    --------
    >>> from committee.shell.table_model import source_name
    >>> source_name("/home/ann/rows.csv"), source_name("/home/ann/rows/*.csv")
    ('rows.csv', 'rows/*.csv')
    """
    parts = Path(path).parts
    starred = next((i for i, p in enumerate(parts) if has_magic(p)), len(parts))
    return str(Path(*parts[max(starred - 1, 0) :]))
