"""The columns of a table that a model looks at: numbers and words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from committee._format import close_to
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.reading import Reading, kind_of, typed

#: Words with more distinct values than this are not given a column for each.
FEW = 20

#: Numbers in so few rows, of more than 20, may be in none of those that a fold leaves.
_HARDLY = 3

#: The note where `row_numbers` finds some.
ROW_NUMBERS = "the first column has no name and numbers the rows: left out."

#: Names of columns that name the row, if all their values are different.
_ID = re.compile(r"(?i:(?:^|.*[\W_])(?:id|uuid|guid|index|row_?number))|.*[a-z]I[dD]")


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
    formats, gaps : dict
        How columns are read that are not simply numbers or text, and the target: see
        `Reading`.
    """

    names: list[str]
    words: list[str] | None = None
    width: int | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, frame: Any, left_out: Collection[str] = (), reading: Reading | None = None
    ) -> Columns:
        """Return the columns of a training table without its target.

        Parameters
        ----------
        frame : DataFrame
            As it was read, without the target.
        left_out : names of columns that are not looked at
        reading : Reading
        """
        reading, without = reading or Reading(), set(left_out)
        names = [name for name in frame.columns if name not in without]
        if not names:
            raise ShellError("The table has no columns to predict from.")
        text = {name for name, form in reading.formats.items() if form == "text"}
        words = text | _texts(reading.plain(frame[names] if without else frame))
        kept = {n: form for n, form in reading.formats.items() if form != "text"}
        return cls(
            names,
            [name for name in names if name in words],
            formats={n: form for n, form in kept.items() if n not in without},
            gaps={n: gaps for n, gaps in reading.gaps.items() if n not in without},
        )

    @property
    def reading(self) -> Reading:
        """How these columns are read; words as they are written."""
        return Reading(
            {**self.formats, **dict.fromkeys(self.words or [], "text")}, self.gaps
        )

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
        frame = frame[self.names]
        if self.words is None:
            return typed(frame).plain(frame)
        if not self.words:
            return as_numbers(self.reading.plain(frame))
        from pandas import DataFrame, concat

        words = {name: _as_text(frame[name]) for name in self.words}
        texts = DataFrame(words, index=frame.index)
        numbers = self.reading.plain(frame.drop(columns=self.words))
        return concat([as_numbers(numbers), texts], axis=1)[self.names]

    def _take_all(self, frame: Any) -> Any:
        if self.width not in (None, frame.shape[1]):
            raise ShellError(
                f"The model takes {self.width} columns and knows no names for them. "
                f"The table has {frame.shape[1]}."
            )
        return typed(frame).plain(frame).to_numpy()


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
    """Return the columns that name the rows, of more than 20: all their values differ.

    Text, whole numbers without holes in any order, and whole numbers whose name says
    so. Only the first few rows of a table would be known by them.
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


def hardly_known(frame: Any) -> list[str]:
    """Return the columns without values, and those of numbers that have three at most.

    Boosting cannot be trained on rows of which none has a number in a column.
    """
    numbers = set(frame.select_dtypes(["number", "bool"]).columns)
    most = _HARDLY if len(frame) > FEW else 0
    return [
        name
        for name, n in frame.count().items()
        if n <= (most if name in numbers else 0)
    ]


def check_names(names: Collection[str], frame: Any, option: str) -> None:
    """Refuse names of an option that are no columns of a table."""
    known = frame.columns.tolist()
    for name in set(names) - set(known):
        raise ShellError(
            f"{option} {name!r}: there is no such column.{close_to(name, known)} The "
            f"columns are {listed(known)}.",
            USAGE,
        )


def _texts(frame: Any, *, strict: bool = True) -> set[str]:
    """Return the columns that hold text; others than numbers are refused if strict."""
    others = frame.select_dtypes(exclude=["number", "bool"])
    return {name for name in others.columns if _is_text(others[name], strict)}


def is_text(column: Any) -> bool:
    """Whether a column of a table holds text; what is no number either is refused."""
    return kind_of(column) != "numbers" and _is_text(column, strict=True)


def _is_text(column: Any, strict: bool) -> bool:
    from pandas.api.types import infer_dtype

    kind = str(infer_dtype(column, skipna=True))
    if strict and kind not in ("string", "empty"):
        raise ShellError(
            f"The column {column.name!r} must hold numbers or text. It holds {kind} "
            f"values: turn them into either, or leave them out (--drop {column.name!r})."
        )
    return kind in ("string", "empty")


def _as_text(column: Any) -> Any:
    from pandas.api.types import is_float_dtype

    if is_float_dtype(column) and column.mod(1).fillna(0).eq(0).all():
        column = column.astype("Int64")  # 7 with gaps elsewhere is not "7.0"
    words = column.map(str, na_action="ignore").astype(object)
    return words.where(column.notna(), np.nan)


def as_numbers(frame: Any) -> Any:
    """Return columns as floats; what is neither finite nor missing is refused."""
    for name, kind in typed(frame).formats.items():
        raise ShellError(
            f"The column {name!r} must hold numbers, as in training. It holds {kind}s."
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
            f"The column {column.name!r} must hold finite numbers or gaps. Row "
            f"{row + 1} has {column.tolist()[row]!r}."
        )
    return numbers
