"""Models in files: what the shell writes beside them and reads back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from committee.persistence import load, read_metadata, save
from committee.shell.encoding import Columns, row_numbers
from committee.shell.errors import ShellError
from committee.shell.tables import check_output
from committee.shell.target import CLASSIFICATION, REGRESSION


@dataclass(frozen=True)
class Model:
    """A fitted model, and what is known about the table it came from.

    Attributes
    ----------
    estimator : fitted estimator
        A committee, a pipeline with one at its end, or what somebody else saved.
    columns : Columns or None
        None where the model was not trained by the shell.
    target : str or None
    source : dict
        File name without its folder, or pattern with its last one, and number of
        rows of the training table.
    description : dict
        What the file says about itself.
    """

    estimator: Any
    columns: Columns | None = None
    target: str | None = None
    source: dict[str, Any] | None = None
    description: dict[str, Any] | None = None

    @property
    def task(self) -> str:
        """The task that the estimator was trained for."""
        return CLASSIFICATION if is_classifier(self.estimator) else REGRESSION

    @property
    def last(self) -> Any:
        """The committee, or whatever stands at the end of the pipeline."""
        return last_step(self.estimator)

    @property
    def names(self) -> list[str]:
        """The columns that the estimator looks at, none where it knows no names."""
        if self.columns is not None:
            return self.columns.names
        return list(map(str, getattr(self.estimator, "feature_names_in_", ())))

    @property
    def encoder(self) -> Any:
        """What reads the columns of a table, None where nothing does."""
        before = (
            self.estimator[:-1]
            if isinstance(self.estimator, Pipeline)
            else getattr(self.estimator, "transformer_", None)
        )
        while isinstance(before, Pipeline):
            before = before[0] if len(before) else None
        return before

    @property
    def taking(self) -> Taking:
        """What it takes of a table, without the model itself."""
        width = getattr(self.estimator, "n_features_in_", None)
        return Taking(self.columns, self.names, width)

    def rows(self, frame: Any) -> Any:
        """Return the columns of a table that the estimator looks at, in its order."""
        return self.taking.rows(frame)


@dataclass(frozen=True)
class Taking:
    """What a model takes of a table.

    Attributes
    ----------
    columns : Columns or None
    names : list of str
        Columns that are looked at, none where the model knows no names.
    width : int or None
        Number of them.
    """

    columns: Columns | None
    names: list[str]
    width: int | None

    def numbers(self, frame: Any) -> list[str]:
        """Return the columns of a table that number its rows, and mean nothing."""
        return [name for name in row_numbers(frame) if name not in self.names]

    def rows(self, frame: Any) -> Any:
        """Return the columns of a table that are looked at, in the model's order."""
        frame = frame.drop(columns=self.numbers(frame))
        if self.columns is not None:
            return self.columns.take(frame)
        if self.names:
            Columns(self.names, [], []).check(frame)
            return frame[self.names]
        if frame.shape[1] != (self.width or frame.shape[1]):
            raise ShellError(
                f"The model takes {self.width} columns and knows no names for them. "
                f"The table has {frame.shape[1]}."
            )
        return frame.to_numpy()


def last_step(estimator: Any) -> Any:
    """Return what a pipeline ends with, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def check_model_output(path: str, *, inputs: Sequence[str] = ()) -> None:
    """Refuse, before any work is done, what could not be saved in the end."""
    if find_spec("skops") is None:
        raise ShellError(
            "Models need skops, which is not installed: pip install 'committee[shell]'."
        )
    check_output(path, inputs=inputs)


def write_model(model: Model, path: str) -> int:
    """Save a model with the facts about its table; return the bytes of the file."""
    columns = model.columns
    save(
        model.estimator,
        path,
        metadata={
            "columns": None if columns is None else columns.to_dict(),
            "target": model.target,
            "source": model.source,
        },
    )
    return os.path.getsize(path)


def read_model(path: str) -> Model:
    """Load a model that can predict, safely.

    Parameters
    ----------
    path : str
        A file of `committee train`, `committee prune`, `committee.save` or skops.
    """
    estimator = load(path)
    description = read_metadata(path)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ShellError(
            f"'{path}' must hold a classifier or a regressor. It holds a "
            f"{type(estimator).__name__}."
        )
    facts = description.get("metadata") or {}
    columns = facts.get("columns")
    return Model(
        estimator,
        columns=None if columns is None else Columns(**columns),
        target=facts.get("target"),
        source=facts.get("source"),
        description=description,
    )


def source_of(path: str, n_rows: int) -> dict[str, Any]:
    """Return what is kept about a training table: its name, and not where it lay.

    A pattern keeps one folder, since `*.csv` alone would say nothing.

    Parameters
    ----------
    path : str
        A file, a folder, a pattern, or "-".
    n_rows : int

    Examples
    --------
    >>> from committee.shell.model_files import source_of
    >>> source_of("/home/ann/rows/*.csv", 10)["file"]
    'rows/*.csv'
    """
    if path == "-":
        return {"file": path, "rows": n_rows}
    pieces = Path(path).parts
    starred = next((i for i, p in enumerate(pieces) if has_magic(p)), len(pieces))
    return {"file": str(Path(*pieces[max(starred - 1, 0) :])), "rows": n_rows}
