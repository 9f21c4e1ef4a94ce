"""The column to predict: which task it sets, and whether it can be learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._format import close_to
from committee.shell.choices import CLASSIFICATION, REGRESSION
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.messages import Messages
from committee.shell.reading import Reading

#: Whole numbers with at most so many distinct values are taken for classes.
FEW = 10


def check_target(frame: Any, name: str) -> None:
    """Refuse a target that is no column of a table."""
    if name not in frame.columns:
        known = frame.columns.tolist()
        raise ShellError(
            f"There is no column {name!r} to predict.{close_to(name, known)} The "
            f"columns are {listed(known)}.",
            USAGE,
        )


def split_target(
    frame: Any, name: str, reading: Reading | None = None
) -> tuple[Any, Any]:
    """Return the rows that have a target, without it, and the target as it is read."""
    check_target(frame, name)
    known = reading is not None and name in reading.formats
    y = reading.column(frame[name]) if reading is not None and known else frame[name]
    rows, there = frame.drop(columns=name), y.notna()
    if there.all():
        return rows, y
    return rows[there].reset_index(drop=True), y[there].reset_index(drop=True)


def note_unlabelled(n_rows: int, name: str, messages: Messages) -> None:
    """Say that rows without a target are left out."""
    if n_rows:
        rows = "row has" if n_rows == 1 else "rows have"
        messages.note(f"{n_rows:,} {rows} no value of the target {name!r}: left out.")


def guess_task(y: Any) -> str:
    """Return the task that a target column sets.

    Text, booleans and at most ten distinct whole numbers are classes; anything else
    is a number to estimate.

    Parameters
    ----------
    y : Series without missing values

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.target import guess_task
    >>> guess_task(pd.Series(["a", "b"])), guess_task(pd.Series([0.5, 1.0]))
    ('classification', 'regression')
    """
    classes = not _is_number(y) or (_are_whole(y) and y.nunique() <= FEW)
    return CLASSIFICATION if classes else REGRESSION


def refuse_constant(y: Any, n_rows: int) -> None:
    """Refuse a target, of which all distinct values are given, that has only one."""
    values = y.unique().tolist()
    if not values:
        raise ShellError(f"The target {y.name!r} has no value in any of the rows.")
    if len(values) < 2:
        raise ShellError(
            f"The target {y.name!r} must have at least 2 distinct values. All {n_rows} "
            f"rows have {values[0]!r}."
        )


def as_target(y: Any, task: str) -> Any:
    """Return the target as an array that the task can be learned from.

    Parameters
    ----------
    y : Series without missing values
    task : {"classification", "regression"}

    Returns
    -------
    y : array of numbers, or of labels: text, booleans or whole numbers
    """
    if task == REGRESSION:
        return _numbers(y)
    if y.dtype == bool:
        return y.to_numpy()
    if not _is_number(y):
        return y.map(str).to_numpy(dtype=str)
    if not _are_whole(y):
        raise ShellError(
            f"The target {y.name!r} must be text, booleans or whole numbers for "
            "classification. It has fractions: use --task regression."
        )
    return y.to_numpy(dtype=np.int64)


def _numbers(y: Any) -> Any:
    if not _is_number(y):
        raise ShellError(
            f"The target {y.name!r} must be numbers for regression. It has "
            f"{y.iloc[0]!r}."
        )
    numbers = y.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ShellError(f"The target {y.name!r} must be finite numbers. It has inf.")
    return numbers


def _is_number(y: Any) -> bool:
    from pandas.api import types

    return bool(types.is_numeric_dtype(y) and not types.is_bool_dtype(y))


def _are_whole(y: Any) -> bool:
    numbers = y.to_numpy(dtype=np.float64)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all())
