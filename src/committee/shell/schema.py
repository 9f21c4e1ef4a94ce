"""The schema of a table: the columns that a model takes, those left out, the target."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from committee._hints import close_to
from committee.shell.column_types import NUMBERS, TEXT, ColumnTypes, kind_of, typed
from committee.shell.messages import Messages, ShellError, UsageError, listed
from committee.shell.options import CLASSIFICATION, REGRESSION, Train

#: Text with more distinct values gets no column for each.
FEW = 20
#: Whole numbers with at most so many distinct values are classes.
_MOST_CLASSES = 10
#: With at most so many numbers in more than 20 rows, a fold may have none.
_NEARLY_EMPTY = 3

#: Note about the columns found by `row_numbers`.
ROW_NUMBERS = "the first column has no name and numbers the rows: left out."

#: Names of columns that identify the row, if all their values differ.
_ID = re.compile(r"(?i:(?:^|.*[\W_])(?:id|uuid|guid|index|row_?number))|.*[a-z]I[dD]")


@dataclass(frozen=True)
class Schema:
    """The columns that a model takes, and their types.

    Attributes
    ----------
    names : list of str
        In the order of the training table; empty if the model has no column names.
    words : list of str or None
        Columns of text; the others are numbers. None if the shell did not train the
        model: it takes columns as they are.
    width : int or None
        Number of columns of a model without column names.
    types, gaps : dict
        Types of columns, the target included; see `ColumnTypes`. Text is in `words`.
    """

    names: list[str]
    words: list[str] | None = None
    width: int | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        frame: Any,
        left_out: Collection[str] = (),
        types: ColumnTypes | None = None,
    ) -> Schema:
        """Return the schema of a training table without its target.

        Parameters
        ----------
        frame : DataFrame
            As it was read, without the target.
        left_out : names of columns that the model does not take
        types : ColumnTypes
        """
        types, without = types or ColumnTypes(), set(left_out)
        names = [name for name in frame.columns if name not in without]
        if not names:
            raise ShellError("The table has no columns to predict from.")
        words = _texts(types.to_numbers(frame[names] if without else frame))
        words |= {name for name, kind in types.types.items() if kind == TEXT}
        other = {n: t for n, t in types.types.items() if t != TEXT and n not in without}
        return cls(
            names,
            [name for name in names if name in words],
            types=other,
            gaps={n: gaps for n, gaps in types.gaps.items() if n not in without},
        )

    @property
    def column_types(self) -> ColumnTypes:
        """The types of all columns, text included."""
        return ColumnTypes(
            {**self.types, **dict.fromkeys(self.words or [], TEXT)}, self.gaps
        )

    def row_numbers(self, frame: Any) -> list[str]:
        """Return the columns of a table that number its rows and are not in the schema."""
        return [name for name in row_numbers(frame) if name not in self.names]

    def take(self, frame: Any) -> Any:
        """Return these columns of a table, in this order, as numbers and text.

        Other columns are ignored. Raise ShellError if a column is missing or has values
        of another type.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            plural = "s" if len(missing) > 1 else ""
            raise ShellError(
                f"The table lacks {len(missing)} column{plural} that the model was "
                f"trained on: {listed(missing)}."
            )
        if not self.names:
            frame = frame.drop(columns=self.row_numbers(frame))
            if self.width not in (None, frame.shape[1]):
                raise ShellError(
                    f"The model takes {self.width} columns, and it has no names for "
                    f"them. The table has {frame.shape[1]}."
                )
            return typed(frame).to_numbers(frame).to_numpy()
        frame = frame[self.names]
        if self.words is None:
            return typed(frame).to_numbers(frame)
        if not self.words:
            return as_numbers(self.column_types.to_numbers(frame))
        from pandas import DataFrame, concat

        words = {name: _as_text(frame[name]) for name in self.words}
        texts = DataFrame(words, index=frame.index)
        numbers = self.column_types.to_numbers(frame.drop(columns=self.words))
        return concat([as_numbers(numbers), texts], axis=1)[self.names]


# --- a first look at a training table ---------------------------------------------------


def left_out(rows: Any, options: Train) -> list[str]:
    """Return the columns that a model does not take, after notes with the reasons.

    Columns without a name that number the rows, columns that identify them, and columns
    with no values or nearly none, unless they are in --keep.

    Parameters
    ----------
    rows : DataFrame
        The training table without its target, with typed columns as numbers.
    options : Train
    """
    keep, note = options.keep or [], options.messages.note
    numbering = [name for name in row_numbers(rows) if name not in keep]
    ids = [n for n in row_ids(rows) if n not in keep and n not in numbering]
    empty = [name for name in nearly_empty(rows) if name not in keep]
    if numbering:
        note(ROW_NUMBERS)
    useless = "different in every row, so that nothing can be learned for other rows"
    for names, reason in ((ids, useless), (empty, "no values, or hardly any")):
        if names:
            advice = f"--keep {names[0]!r} to use it anyway."
            note(f"{listed(names)} left out: {reason}; {advice}")
    return [*numbering, *ids, *empty]


def asked_columns(frame: Any, options: Train) -> Any:
    """Return a training table without --drop; raise ShellError for wrong names."""
    check_target(frame, options.target)
    drop, keep = options.drop or [], options.keep or []
    known, asked = frame.columns.tolist(), {"--drop": drop, "--keep": keep}
    for option, names in (asked | {"--categorical": options.categorical or []}).items():
        for name in set(names) - set(known):
            raise UsageError(
                f"{option} {name!r}: the table has no such column.{close_to(name, known)} "
                f"The columns are {listed(known)}."
            )
    for name in drop:
        if name == options.target or name in keep:
            other = "--target" if name == options.target else "--keep"
            raise UsageError(f"{name!r} cannot be both --drop and {other}.")
    return frame.drop(columns=drop)


def row_numbers(frame: Any) -> list[str]:
    """Return the columns without a name that number the rows.

    `DataFrame.to_csv` writes the index in front of the first column, under an empty
    header, which is read as "Unnamed: 0".
    """
    from pandas.api.types import is_integer_dtype

    found = []
    for name in frame.columns:
        if re.fullmatch(r"Unnamed: 0(\.\d+)*", name):
            column = frame[name]
            whole = is_integer_dtype(column) and column.is_unique
            if whole and (not len(column) or column.min() >= 0):
                found.append(name)
    return found


def row_ids(frame: Any) -> list[str]:
    """Return the columns that identify the rows of a table with more than 20 rows.

    All values differ, and they are text, consecutive whole numbers in any order, or
    whole numbers in a column with a name such as "id".
    """
    n_rows = len(frame)
    if n_rows <= FEW:
        return []
    ids = {name for name in _texts(frame, strict=False) if frame[name].is_unique}
    numbers = frame.select_dtypes("integer")
    spans = numbers.max() - numbers.min() == n_rows - 1
    named = numbers.columns.map(lambda name: bool(_ID.fullmatch(name)))
    likely = numbers.columns[spans.to_numpy(dtype=bool) | named.to_numpy(dtype=bool)]
    ids |= {name for name in likely if numbers[name].is_unique}
    return [name for name in frame.columns if name in ids]


def nearly_empty(frame: Any) -> list[str]:
    """Return the columns without values, and those with at most three numbers.

    Boosting cannot be trained on rows of which none has a number in a column.
    """
    numbers = set(frame.select_dtypes(["number", "bool"]).columns)
    most = _NEARLY_EMPTY if len(frame) > FEW else 0
    counts = frame.count().items()
    return [name for name, n in counts if n <= (most if name in numbers else 0)]


def _texts(frame: Any, *, strict: bool = True) -> set[str]:
    """Return the columns of text; if strict, raise for others that are not numbers."""
    others = frame.select_dtypes(exclude=["number", "bool"])
    return {name for name in others.columns if is_text(others[name], strict=strict)}


def is_text(column: Any, *, strict: bool = True) -> bool:
    """Return True if a column without numbers holds text; if strict, raise if not."""
    from pandas.api.types import infer_dtype

    kind = str(infer_dtype(column, skipna=True))
    if strict and kind not in ("string", "empty"):
        raise ShellError(
            f"The column {column.name!r} must contain numbers or text. It contains {kind} "
            f"values: convert them, or leave the column out (--drop {column.name!r})."
        )
    return kind in ("string", "empty")


def _as_text(column: Any) -> Any:
    from pandas.api.types import is_float_dtype

    if is_float_dtype(column) and column.mod(1).fillna(0).eq(0).all():
        column = column.astype("Int64")  # 7 beside missing values is not "7.0"
    words = column.map(str, na_action="ignore").astype(object)
    return words.where(column.notna(), np.nan)


def as_numbers(frame: Any) -> Any:
    """Return columns as floats. Raise ShellError for infinite values and text."""
    for name, kind in typed(frame).types.items():
        raise ShellError(
            f"The column {name!r} must contain numbers, as in training. It contains "
            f"{kind}s."
        )
    try:
        numbers = frame.astype(np.float64)
        if not np.isinf(numbers.to_numpy()).any():
            return numbers
    except (TypeError, ValueError):
        pass
    return frame.apply(_as_numbers)


def _as_numbers(column: Any) -> Any:
    from pandas import to_numeric

    numbers = to_numeric(column, errors="coerce").astype(np.float64)
    wrong = (numbers.isna() & column.notna()) | numbers.abs().eq(np.inf)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise ShellError(
            f"The column {column.name!r} must contain finite numbers or missing "
            f"values. Row {row + 1} has {column.tolist()[row]!r}."
        )
    return numbers


# --- the target -------------------------------------------------------------------------


def check_target(frame: Any, name: str) -> None:
    """Raise ShellError if the target is not a column of the table."""
    known = frame.columns.tolist()
    if name not in known:
        raise UsageError(
            f"The table has no column {name!r} to predict.{close_to(name, known)} The "
            f"columns are {listed(known)}."
        )


def split_target(
    frame: Any, name: str, types: ColumnTypes | None = None
) -> tuple[Any, Any]:
    """Return the rows that have a target, without it, and the target as numbers or text."""
    check_target(frame, name)
    y = frame[name]
    if types is not None and name in types.types:
        y = types.column(y)
    rows, known = frame.drop(columns=name), y.notna()
    if known.all():
        return rows, y
    return rows[known].reset_index(drop=True), y[known].reset_index(drop=True)


def note_unlabelled(n_rows: int, name: str | None, messages: Messages) -> None:
    """Print a note that rows without a target are left out."""
    if n_rows:
        rows = "row has" if n_rows == 1 else "rows have"
        messages.note(f"{n_rows:,} {rows} no value of the target {name!r}: left out.")


def guess_task(y: Any) -> str:
    """Return the task of a target column.

    Classification for text, booleans and at most ten distinct whole numbers; otherwise
    regression.

    Parameters
    ----------
    y : Series without missing values

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.schema import guess_task
    >>> guess_task(pd.Series(["a", "b"])), guess_task(pd.Series([0.5, 1.0]))
    ('classification', 'regression')
    """
    classes = not _is_number(y) or (_are_whole(y) and y.nunique() <= _MOST_CLASSES)
    return CLASSIFICATION if classes else REGRESSION


def refuse_constant(values: Any, name: Any, n_rows: int) -> None:
    """Raise ShellError if a target has fewer than two distinct values."""
    if not len(values):
        raise ShellError(f"The target {name!r} has no value in any of the rows.")
    if len(values) < 2:
        raise ShellError(
            f"The target {name!r} must have at least 2 distinct values. All {n_rows} "
            f"rows have {values.tolist()[0]!r}."
        )


def as_target(y: Any, task: str) -> Any:
    """Return the target as an array. Raise ShellError if it does not fit the task.

    Parameters
    ----------
    y : Series without missing values
    task : {"classification", "regression"}

    Returns
    -------
    y : array of numbers, or of labels: text, booleans or whole numbers
    """
    if task == REGRESSION:
        if not _is_number(y):
            raise ShellError(
                f"The target {y.name!r} must be numbers for regression. It has "
                f"{y.iloc[0]!r}."
            )
        numbers = y.to_numpy(dtype=np.float64)
        if np.isfinite(numbers).all():
            return numbers
        raise ShellError(f"The target {y.name!r} must be finite numbers. It has inf.")
    if y.dtype == bool:
        return y.to_numpy()
    if not _is_number(y):
        return y.map(str).to_numpy(dtype=str)
    if not _are_whole(y):
        raise ShellError(
            f"The target {y.name!r} must be text, booleans or whole numbers for "
            "classification. It has decimals: use --task regression."
        )
    return y.to_numpy(dtype=np.int64)


def _is_number(y: Any) -> bool:
    return kind_of(y) == NUMBERS and y.dtype != bool


def _are_whole(y: Any) -> bool:
    numbers = y.to_numpy(dtype=np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all())
