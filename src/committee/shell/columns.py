"""The columns of a table that a model looks at: numbers and words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.shell.errors import ShellError, listed

#: Words with more distinct values than this are not given a column for each.
FEW = 20

#: The note where `row_numbers` finds some.
ROW_NUMBERS = "the first column has no name and numbers the rows: left out."


@dataclass(frozen=True)
class Columns:
    """What a model expects of a table.

    Attributes
    ----------
    names : list of str
        In the order of the training table; none where the model knows no names.
    words : list of str or None
        Those that hold text; the others hold numbers. None where the model was not
        trained by the shell, and takes columns as they are.
    width : int or None
        Number of columns of a model that knows no names.
    """

    names: list[str]
    words: list[str] | None = None
    width: int | None = None

    @classmethod
    def of(cls, frame: Any, numbering: list[str]) -> Columns:
        """Return the columns of a training table without its target.

        Text that is different in every one of many rows names the row, and is left
        out; so are numbers of rows, which would give away how the table was sorted.
        """
        words = {name for name in frame.columns if is_text(frame[name])}
        ids = {name for name in words if frame[name].nunique() == len(frame) > FEW}
        names = [n for n in frame.columns if n not in ids and n not in numbering]
        if not names:
            raise ShellError("The table has no columns to predict from.")
        return cls(names, [name for name in names if name in words])

    def numbering(self, frame: Any) -> list[str]:
        """Return the columns of a table that number its rows, and mean nothing."""
        return [name for name in row_numbers(frame) if name not in self.names]

    def take(self, frame: Any) -> Any:
        """Return these columns of a table, in this order, as numbers and text.

        Further columns are ignored.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            plural = "s" if len(missing) > 1 else ""
            raise ShellError(
                f"The table lacks {len(missing)} column{plural} that the model was "
                f"trained on: {listed(missing)}."
            )
        if not self.names:
            return self._take_all(frame.drop(columns=self.numbering(frame)))
        if self.words is None:
            return frame[self.names]
        from pandas import DataFrame, concat

        words = {name: _as_text(frame[name]) for name in self.words}
        numbers = [name for name in self.names if name not in words]
        texts = DataFrame(words, index=frame.index)
        return concat([as_numbers(frame[numbers]), texts], axis=1)[self.names]

    def _take_all(self, frame: Any) -> Any:
        if self.width not in (None, frame.shape[1]):
            raise ShellError(
                f"The model takes {self.width} columns and knows no names for them. "
                f"The table has {frame.shape[1]}."
            )
        return frame.to_numpy()


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


def is_text(column: Any) -> bool:
    """Whether a column of a table holds text; what is no number either is refused."""
    from pandas.api.types import infer_dtype, is_numeric_dtype

    if is_numeric_dtype(column):
        return False
    kind = str(infer_dtype(column, skipna=True))
    if kind not in ("string", "empty"):
        raise ShellError(
            f"The column {column.name!r} must hold numbers or text. It holds {kind} "
            "values: turn them into either, or leave them out."
        )
    return True


def _as_text(column: Any) -> Any:
    words = column.map(str, na_action="ignore").astype(object)
    return words.where(column.notna(), np.nan)


def as_numbers(frame: Any) -> Any:
    """Return columns as floats; what is neither finite nor missing is refused."""
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
            f"The column {column.name!r} must hold finite numbers or gaps. Row "
            f"{row + 1} has {column.tolist()[row]!r}."
        )
    return numbers
