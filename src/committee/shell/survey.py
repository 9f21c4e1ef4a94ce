"""What has to be known of all rows before any is learned from: sums over parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee.distributed import Chunks
from committee.shell.encoding import FEW, Columns, is_text, row_numbers
from committee.shell.errors import ShellError, listed
from committee.shell.parsing import pandas
from committee.shell.parts import Part
from committee.shell.target import split_target

#: Distinct values of text, and of numbers, that are kept.
MOST_WORDS, MOST_NUMBERS = 1_000_000, 1_000

TEXT, BOOLEANS, NUMBERS = "text", "booleans", "numbers"


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column, up to a number of them.

    Attributes
    ----------
    values : tuple
        In the order of the rows.
    most : int
    missing, repeated, more : bool
        Whether some are missing, whether some appear twice in one part, and whether
        there are more than are kept.
    """

    values: tuple[Any, ...]
    most: int
    missing: bool = False
    repeated: bool = False
    more: bool = False

    @classmethod
    def of(cls, column: Any, most: int) -> Distinct:
        """Return the distinct values of a Series."""
        there = column.dropna()
        values = there.unique().tolist()
        return cls(
            tuple(values[:most]),
            most,
            missing=len(there) < len(column),
            repeated=len(values) < len(there),
            more=len(values) > most,
        )

    def plus(self, other: Distinct) -> Distinct:
        """Return the distinct values of both."""
        values = tuple(dict.fromkeys(self.values + other.values))
        return Distinct(
            values[: self.most],
            self.most,
            self.missing or other.missing,
            self.repeated or other.repeated,
            self.more or other.more or len(values) > self.most,
        )

    def all_differ(self, n_rows: int) -> bool:
        """Whether so many rows have as many values."""
        return not self.missing and (
            (self.more and not self.repeated) or len(self.values) == n_rows
        )


@dataclass(frozen=True)
class Survey:
    """Facts about a table in parts that no part knows alone.

    Attributes
    ----------
    sizes : tuple of int
        Rows of each part.
    names : tuple of str
        Columns without the target, in the order of the first part.
    kinds : dict
        Of every column, the target too, the kinds of values in it: each with the
        first part where it was found. A column without values has none.
    words : dict
        `Distinct` values of every column with text, except the target.
    numbering : frozenset of str
        Columns that number the rows of every part that has some.
    target : Distinct
    """

    sizes: tuple[int, ...]
    names: tuple[str, ...]
    kinds: dict[str, dict[str, Part]]
    words: dict[str, Distinct]
    numbering: frozenset[str]
    target: Distinct
    first: Part

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return sum(self.sizes)

    def plus(self, other: Survey) -> Survey:
        """Return the facts about the rows of both."""
        _refuse_other_columns(self, other)
        if not other.n_rows or not self.n_rows:
            some = self if self.n_rows else other
            return replace(
                some, sizes=self.sizes + other.sizes, names=self.names, first=self.first
            )
        return Survey(
            self.sizes + other.sizes,
            self.names,
            {name: other.kinds[name] | self.kinds[name] for name in self.kinds},
            _merged(self.words, other.words),
            self.numbering & other.numbering,
            self.target.plus(other.target),
            self.first,
        )

    def of_kind(self, kind: str) -> list[str]:
        """Return the columns, the target too, with values of a kind in some part."""
        return [name for name, kinds in self.kinds.items() if kind in kinds]

    def columns(self) -> Columns:
        """Return what a model will expect of a table, as `Columns.of` does."""
        words = [name for name in self.of_kind(TEXT) if name in self.names]
        left_out = [name for name in self.names if name in self.numbering]
        for name in words:
            found = self.words[name]
            if found.all_differ(self.n_rows) and self.n_rows > FEW:
                left_out.append(name)
            elif found.more:
                raise ShellError(
                    f"The column {name!r} has more than {MOST_WORDS:,} distinct texts, "
                    "too many to learn from: leave it out."
                )
        return Columns.without(left_out, self.names, words)

    def stand_in(self, columns: Columns) -> Any:
        """Return a small table with every text of every column, for `encoder`."""
        found = {name: self.words[name] for name in columns.words}
        texts = {
            name: [str(v) for v in d.values] + [np.nan] * d.missing
            for name, d in found.items()
        }
        length = max(map(len, texts.values()), default=1)
        numbers = np.zeros(length)
        return pandas().DataFrame(
            {
                name: np.resize(np.array(texts[name], dtype=object), length)
                if name in texts
                else numbers
                for name in columns.names
            }
        )


def surveyed(parts: Chunks, target: str) -> tuple[Survey, list[str]]:
    """Return the facts about all parts, and the columns to read as text.

    A column of CSV with text in one part and numbers in another is text, which is
    then read once more: "007" is not 7. So is one with booleans and numbers, as in a
    single file.

    Parameters
    ----------
    parts : Chunks of Part
    target : str
    """
    facts: Survey = parts.sum(survey, target)
    mixed = _mixed(facts, target)
    if mixed:
        _refuse_mixed_parquet(facts, mixed)
        facts = parts.sum(survey, target, mixed)
    if not facts.n_rows:
        raise ShellError(f"{facts.first.name} and all other files have no rows.")
    kinds = facts.kinds[target]
    if len(kinds) > 1:
        (one, part), (two, other) = kinds.items()
        raise ShellError(
            f"The target {target!r} has {one} in {part.name} and {two} in {other.name}."
        )
    return facts, mixed


def _mixed(facts: Survey, target: str) -> list[str]:
    """Return the columns that are text as a whole, and not in every part."""
    return [
        name
        for name, kinds in facts.kinds.items()
        if len(kinds) > 1
        and (TEXT in kinds or (name != target and not facts.first.parquet))
    ]


def survey(part: Part, target: str, words: Sequence[str] = ()) -> Survey:
    """Return the facts about one part.

    Parameters
    ----------
    part : Part
    target : str
    words : sequence of str
        Columns to read as text.
    """
    frame = part.read(words)
    with part.named():
        rows, y = split_target(frame, target)
        kinds = {name: _kinds(frame[name], part) for name in frame.columns}
        numbering = row_numbers(rows)
    texts = [name for name in rows.columns if TEXT in kinds[name]]
    most = MOST_WORDS if TEXT in kinds[target] else MOST_NUMBERS
    return Survey(
        (len(frame),),
        tuple(rows.columns),
        kinds,
        {name: Distinct.of(rows[name], MOST_WORDS) for name in texts},
        frozenset(numbering),
        Distinct.of(y, most),
        part,
    )


def _kinds(column: Any, part: Part) -> dict[str, Part]:
    """Return the kind of a column, unless it has no values."""
    if not column.notna().any():
        return {}
    if is_text(column):
        return {TEXT: part}
    numbers = pandas().api.types.is_numeric_dtype(column)
    booleans = not numbers or pandas().api.types.is_bool_dtype(column)
    return {BOOLEANS if booleans else NUMBERS: part}


def _merged(one: dict[str, Distinct], two: dict[str, Distinct]) -> dict[str, Distinct]:
    """Return the distinct texts of every column; a part without any has gaps only."""
    gaps = Distinct((), MOST_WORDS, missing=True)
    return {
        name: one.get(name, gaps).plus(two.get(name, gaps))
        for name in (*one, *(name for name in two if name not in one))
    }


def _refuse_other_columns(one: Survey, two: Survey) -> None:
    """Refuse files that do not have the same columns, in any order."""
    for lacks, has in ((two, one), (one, two)):
        missing = [name for name in has.names if name not in lacks.names]
        if missing:
            raise ShellError(
                f"All files must have the same columns: {lacks.first.name} lacks "
                f"{listed(missing)} of {has.first.name}."
            )


def _refuse_mixed_parquet(facts: Survey, mixed: list[str]) -> None:
    """Refuse columns that Parquet files call text and numbers."""
    for name in mixed:
        (one, part), (two, other) = list(facts.kinds[name].items())[:2]
        if part.parquet:
            raise ShellError(
                f"The column {name!r} has {one} in {part.name} and {two} in "
                f"{other.name}: give it one type in all files."
            )
