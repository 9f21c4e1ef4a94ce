"""A model file with the schema of its table; other tables as the model takes them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from committee._format import count
from committee.persistence import ModelFileError, load, read_metadata, save
from committee.pruning.summary import summary_of
from committee.shell.encoding import unseen
from committee.shell.messages import Messages, ShellError, UsageError, listed
from committee.shell.options import CLASSIFICATION, REGRESSION, Evaluate, Report
from committee.shell.schema import (
    ROW_NUMBERS,
    Schema,
    as_target,
    note_unlabelled,
    refuse_constant,
    split_target,
)
from committee.shell.tables import read_table


@dataclass(frozen=True)
class Findings:
    """Facts about the rows of a table that a model predicts.

    Attributes
    ----------
    numbered : bool
        Whether a column of row numbers is left out.
    unseen : dict
        For each column of text, the rows with values that were not in training.
    """

    numbered: bool
    unseen: dict[str, int]

    def note(self, messages: Messages) -> None:
        """Print notes about row numbers and unseen values."""
        if self.numbered:
            messages.note(ROW_NUMBERS)
        for name, n in self.unseen.items():
            messages.note(
                f"the column {name!r} has values in {count(n, 'row')} that were not there "
                "in training; they count as none of the known values."
            )


@dataclass(frozen=True)
class TableModel:
    """A fitted model, and the facts about its training table.

    Attributes
    ----------
    estimator : fitted estimator
        A committee, a pipeline that ends in one, or another model.
    schema : Schema
    target : str or None
    source : dict or None
        Name, number of rows and error of the training table; see `source_name`.
    description : dict
        The metadata of the file.
    """

    estimator: Any
    schema: Schema
    target: str | None = None
    source: dict[str, Any] | None = None
    description: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The task of the estimator."""
        return CLASSIFICATION if is_classifier(self.estimator) else REGRESSION

    @property
    def classes(self) -> Any:
        """The class labels of the estimator, None for regression."""
        return getattr(self.estimator, "classes_", None)

    @property
    def last(self) -> Any:
        """The committee, or the last step of another pipeline."""
        is_pipeline = isinstance(self.estimator, Pipeline)
        return self.estimator[-1] if is_pipeline else self.estimator

    @property
    def words(self) -> list[str]:
        """Columns to read as text; the target too if labels are text."""
        labels = self.classes is not None and self.classes.dtype.kind in "UO"
        target = [self.target] if labels and self.target else []
        return [*self.schema.column_types.as_written, *target]

    @property
    def training_error(self) -> float | None:
        """The held-out error that `committee train` printed, None if it is unknown.

        It is not the error of a committee that was pruned since.
        """
        pruned = summary_of(self.last) is not None
        found = {} if pruned or self.source is None else self.source
        error = found.get("held_out_error")
        return error if isinstance(error, float) else None

    def use_jobs(self, n_jobs: int) -> None:
        """Set the number of members that predict in parallel, if the model has any."""
        if "n_jobs" in self.last.get_params(deep=False):
            self.last.set_params(n_jobs=n_jobs)

    def take(self, frame: Any) -> tuple[Any, Findings]:
        """Return X, the rows of a DataFrame as the estimator takes them, and findings."""
        X = self.schema.take(frame)
        new = unseen(self._transformer(), X) if self.schema.words else {}
        return X, Findings(bool(self.schema.row_numbers(frame)), new)

    def take_labelled(self, frame: Any) -> tuple[Any, Any, Findings]:
        """Return X, y and findings of a DataFrame with the target."""
        types = self.schema.column_types
        frame, column = split_target(frame, str(self.target), types)
        y = as_target(column, self.task)
        if self.classes is not None:
            strange = {str(label) for label in y[~np.isin(y, self.classes)]}
            if strange:
                raise ShellError(
                    f"The target {self.target!r} has {listed(sorted(strange))}, which "
                    "the model was not trained on. Its classes are "
                    f"{listed(list(map(str, self.classes)))}."
                )
        X, findings = self.take(frame)
        return X, y, findings

    def read_labelled(
        self, data: str, messages: Messages, encoding: str | None = None
    ) -> tuple[Any, Any]:
        """Return X and y of a file with the target, after printing notes about them."""
        frame = read_table(data, self.words, encoding)
        X, y, findings = self.take_labelled(frame)
        refuse_constant(np.unique(y), self.target, len(y))
        note_unlabelled(len(frame) - len(y), self.target, messages)
        findings.note(messages)
        return X, y

    def is_source(self, data: str, n_rows: int) -> bool:
        """Return True if a table has the name and number of rows of the training table."""
        source = self.source or {}
        known = source.get("file"), source.get("rows")
        return data != "-" and known == (source_name(data), n_rows)

    def _transformer(self) -> Any:
        """Return the first transformer of the pipeline, None without one."""
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
    """Load a classifier or regressor; no code in the file is run.

    Parameters
    ----------
    path : str
        A file of `committee train`, `committee prune`, `committee.save` or skops.
    target : str, default=None
        The column to predict. None means the target of the training table.
    labelled : bool, default=False
        Whether to raise ShellError if the target is not known.
    """
    estimator, description = load(path), read_metadata(path)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ShellError(
            f"'{path}' must contain a classifier or a regressor. It contains a "
            f"{type(estimator).__name__}."
        )
    # `committee.save` keeps what else a caller wants in the metadata.
    facts = (description.get("metadata") or {}).get("table")
    if facts is None:
        facts = {"columns": None, "target": None, "source": None}
    elif not _are_facts(facts):
        raise ModelFileError(
            f"{path} is damaged: 'table' in its metadata is not what committee writes."
        )
    target = target or facts["target"]
    if labelled and target is None:
        raise UsageError(f"'{path}' does not name its target: give --target.")
    columns = facts["columns"] or {
        "names": list(map(str, getattr(estimator, "feature_names_in_", ()))),
        "width": getattr(estimator, "n_features_in_", None),
    }
    source = facts["source"]
    return TableModel(estimator, Schema(**columns), target, source, description)


def _are_facts(facts: Any) -> bool:
    """Return True for facts as `write_model` stores them, with the right types."""
    try:
        schema = Schema(**(facts["columns"] or {"names": []}))
        source = facts["source"] or {"file": "", "rows": 0}
        lists = [schema.names, schema.words or [], *schema.gaps.values()]
        texts = [*chain(*lists), *schema.types.values(), source["file"]]
        texts.append(facts["target"] or "")
        counts = [source["rows"], schema.width or 0]
    except (TypeError, AttributeError, KeyError):
        return False
    return all(
        isinstance(value, kind)
        for kind, values in ((list, lists), (str, texts), (int, counts))
        for value in values
    )


def read_model_and_rows(options: Evaluate | Report) -> tuple[TableModel, Any, Any]:
    """Return the model of a command, and X and y of its table.

    Print a note if these look like the training rows: on them a model looks better
    than it is.
    """
    data, messages = options.data, options.messages
    model = read_model(options.model, options.target, labelled=True)
    X, y = model.read_labelled(data, messages, options.encoding)
    if model.is_source(data, len(y)):
        messages.note(
            f"'{data}' has the name and the number of rows of the table that the model "
            "was trained on. On its training rows a model looks better than it is."
        )
    return model, X, y


def write_model(model: TableModel, path: str) -> int:
    """Save a model with the facts about its table; return the bytes of the file."""
    columns = None if model.schema.words is None else asdict(model.schema)
    facts = {"columns": columns, "target": model.target, "source": model.source}
    save(model.estimator, path, metadata={"table": facts})
    return os.path.getsize(path)


def source_name(path: str) -> str:
    """Return the name of a table without its folder, which stays private.

    Examples
    --------
    >>> from committee.shell.table_model import source_name
    >>> source_name("/home/ann/rows.csv")
    'rows.csv'
    """
    return Path(path).name
