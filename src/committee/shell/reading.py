"""How the columns of a table are read: found out in training, the same ever after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from committee.shell.errors import ShellError, listed
from committee.shell.formats import (
    DATE,
    DURATION,
    TEXT,
    Guess,
    described,
    first_wrong,
    guess_format,
    in_days,
    in_seconds,
    is_read_as_text,
    numbers_of,
)
from committee.shell.messages import Messages


@dataclass(frozen=True)
class Reading:
    """The formats of columns that are not simply numbers, booleans or text.

    Attributes
    ----------
    formats : dict
        From names to formats; "text" where a column is text whatever it looks like.
    gaps : dict
        From names to words between numbers that stand for no value.
    """

    formats: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, guesses: Mapping[str, Guess], texts: Iterable[str] = ()) -> Reading:
        """Return what was guessed of columns; some are text."""
        found = {name: guess for name, guess in guesses.items() if guess.formats}
        return cls(
            {n: guess.formats[0] for n, guess in found.items()}
            | dict.fromkeys(texts, TEXT),
            {name: guess.gaps for name, guess in found.items() if guess.gaps},
        )

    @property
    def texts(self) -> list[str]:
        """Columns that are to be read as they are written."""
        return [name for name, form in self.formats.items() if is_read_as_text(form)]

    def plain(self, frame: Any) -> Any:
        """Return a table with these columns as numbers; text stays as it is."""
        new = {
            name: self.column(frame[name])
            for name, form in self.formats.items()
            if form != TEXT and name in frame.columns
        }
        return frame.assign(**new) if new else frame

    def column(self, column: Any) -> Any:
        """Return one column as numbers, or say which row has none."""
        form, gaps = self.formats[column.name], self.gaps.get(column.name, [])
        kind = kind_of(column)
        if form == TEXT:
            return column
        if kind == "numbers" and form not in (DATE, DURATION) and "%" not in form:
            return column
        if kind == TEXT:
            numbers = _by_value(column, form)
        elif kind == DATE and (form == DATE or described(form).startswith("dates")):
            numbers = in_days(column)
        elif kind == form == DURATION:
            numbers = in_seconds(column)
        elif column.notna().any():
            raise ShellError(
                f"The column {column.name!r} must hold {described(form)}, as in "
                f"training. It holds {_KINDS[kind]}."
            )
        else:
            numbers = np.full(len(column), np.nan)
        row = first_wrong(column, numbers, gaps)
        if row is not None:
            raise ShellError(
                f"The column {column.name!r} must hold {described(form)} or gaps, as in "
                f"training. Row {row + 1} has {column.iloc[row]!r:.80}."
            )
        return type(column)(numbers, index=column.index, name=column.name)


#: What the types of a table are called.
_KINDS = {DATE: "dates", DURATION: "durations", TEXT: TEXT, "numbers": "numbers"}


def kind_of(column: Any) -> str:
    """Return "date", "duration", "text" or "numbers", which booleans are too."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        return DATE
    if types.is_timedelta64_dtype(column):
        return DURATION
    return "numbers" if types.is_numeric_dtype(column) else TEXT


def _by_value(column: Any, form: str) -> Any:
    """Return the numbers of a column of text, each distinct value read once."""
    from pandas import factorize

    codes, words = factorize(column)
    return np.append(numbers_of(words, form), np.nan)[codes]


def typed(frame: Any) -> Reading:
    """Return the reading of a table whose dates and durations have types."""
    kinds = {DATE: ["datetime", "datetimetz"], DURATION: ["timedelta"]}
    return Reading(
        {
            name: kind
            for kind, types in kinds.items()
            for name in frame.select_dtypes(types).columns
        }
    )


def guesses_of(frame: Any, texts: Collection[str] = ()) -> dict[str, Guess]:
    """Return what the columns of a training table may mean, if not what they seem.

    Parameters
    ----------
    frame : DataFrame of `read_rows`
    texts : names of columns that are text
    """
    from pandas.api.types import infer_dtype

    found = {name: Guess([form]) for name, form in typed(frame).formats.items()}
    for name in frame.select_dtypes(["object", "str"]).columns:
        if infer_dtype(frame[name], skipna=True) == "string":
            found[name] = guess_format(frame[name], frame.attrs.get("decimal", "."))
    return {name: guess for name, guess in found.items() if name not in texts}


def note_guesses(guesses: Mapping[str, Guess], messages: Messages) -> None:
    """Say how columns are read that could be read otherwise."""
    for name, guess in guesses.items():
        gaps = f"; {listed(guess.gaps)} count as gaps" if guess.gaps else ""
        others = [described(form) for form in guess.formats[1:]]
        if guess.strange is not None:
            messages.note(
                f"most of the column {name!r} looks like numbers or dates, and not "
                f"{guess.strange!r}: all of it is read as text. Leave such cells empty "
                f"to have numbers; --categorical {name!r} if it is text."
            )
        elif guess.formats[:1] not in ([], [DATE], [DURATION]) or gaps:
            doubt = ""
            if others and others[0] != described(guess.formats[0]):
                doubt = f" ({others[0]} would fit as well: write it unmistakably)"
            messages.note(
                f"the column {name!r} is read as {described(guess.formats[0])}{doubt}"
                f"{gaps}; --categorical {name!r} if it is text."
            )
