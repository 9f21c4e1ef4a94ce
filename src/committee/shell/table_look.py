"""A first look at a training table: how columns are read, and which are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from committee.shell.columns import (
    ROW_NUMBERS,
    check_names,
    hardly_known,
    row_ids,
    row_numbers,
)
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.formats import Guess
from committee.shell.options import Train
from committee.shell.reading import Reading, guesses_of, note_guesses
from committee.shell.target import check_target, note_unlabelled, split_target


@dataclass(frozen=True)
class TableLook:
    """What a first look at a training table shows.

    Attributes
    ----------
    guesses : dict
        From names of columns to what they may mean.
    reading : Reading
        What was decided.
    numbering, ids, unknown : list of str
        Columns that number the rows, without a name, those that name them, and those
        with no values or hardly any.
    n_unlabelled : int
        Rows without a target.
    """

    guesses: Mapping[str, Guess]
    reading: Reading
    numbering: list[str]
    ids: list[str]
    unknown: list[str]
    n_unlabelled: int = 0

    @classmethod
    def at(
        cls, frame: Any, options: Train, reading: Reading | None = None
    ) -> TableLook:
        """Look at a table; unless given, find out how its columns are read."""
        guesses: dict[str, Guess] = {}
        if reading is None:
            texts = options.categorical or []
            guesses = guesses_of(frame, texts)
            reading = Reading.of(guesses, texts)
        rows, y = split_target(frame, options.target, reading)
        plain, keep = reading.plain(rows), options.keep or []
        numbering = [name for name in row_numbers(plain) if name not in keep]
        ids = [n for n in row_ids(plain) if n not in keep and n not in numbering]
        unknown = [name for name in hardly_known(plain) if name not in keep]
        return cls(guesses, reading, numbering, ids, unknown, len(frame) - len(y))

    @property
    def left_out(self) -> list[str]:
        """Columns that no member is shown."""
        return [*self.numbering, *self.ids, *self.unknown]

    def note(self, options: Train) -> None:
        """Say what was decided."""
        messages = options.messages
        note_guesses(self.guesses, messages)
        note_unlabelled(self.n_unlabelled, options.target, messages)
        if self.numbering:
            messages.note(ROW_NUMBERS)
        if self.ids:
            messages.note(
                f"{listed(self.ids)} left out: different in every row, which tells "
                f"nothing about other rows; --keep {self.ids[0]!r} to look at it all the "
                "same."
            )
        if self.unknown:
            messages.note(
                f"{listed(self.unknown)} left out: no values, or hardly any; --keep "
                f"{self.unknown[0]!r} to look at it all the same."
            )


def asked_columns(frame: Any, options: Train) -> Any:
    """Return a training table without the columns that are to be dropped."""
    check_target(frame, options.target)
    drop, keep = options.drop or [], options.keep or []
    check_names(drop, frame, "--drop")
    check_names(keep, frame, "--keep")
    check_names(options.categorical or [], frame, "--categorical")
    for name in drop:
        if name == options.target or name in keep:
            other = "--target" if name == options.target else "--keep"
            raise ShellError(f"{name!r} cannot be both --drop and {other}.", USAGE)
    return frame.drop(columns=drop)
