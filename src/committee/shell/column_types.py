"""Types of columns: text, dates, durations, and amounts such as money or percentages.

A type is found in training, stored in the model file as a string, and used for all later
tables. It is "text", "date" (ISO dates and columns of dates), "duration", a date format
with the codes of `strptime`, or an amount: 1,234.5 or 1.234,5 with a unit. Plain numbers
and booleans have no type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from committee.shell.messages import Messages, ShellError, listed

TEXT, DATE, DURATION, NUMBERS = "text", "date", "duration", "numbers"

#: Amounts, by decimal separator.
AMOUNTS = {".": "1,234.5", ",": "1.234,5"}

#: Share of cells with a type from which a note is printed, and from which the few other
#: words are read as gaps; how many such words, and their length at most; and distinct
#: values from which they are looked for.
_NOTED, _TYPED, _MOST_GAPS, _SHORT, _FEW = 0.5, 0.9, 3, 30, 20

#: Typographic minus and apostrophe.
_MINUS, _MARK = "\N{MINUS SIGN}", "\N{RIGHT SINGLE QUOTATION MARK}"

_UNIT = r"US\$|[$€£¥₹%]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD"
_AMOUNT = re.compile(
    rf"(\()?\s*([-+{_MINUS}]?)\s*({_UNIT})?\s*([-+{_MINUS}]?)\s*"
    rf"([\d.,'{_MARK}\s]*\d(?:[eE][-+]?\d+)?)\s*({_UNIT})?\s*(\))?"
)
_DIGITS = {
    point: re.compile(
        rf"[1-9]\d{{0,2}}([{group}'{_MARK}\s])\d{{3}}(?:\1\d{{3}})*(?:[{point}]\d+)?"
        rf"|(?:(?:0|[1-9]\d*)(?:[{point}]\d+)?|[{point}]\d+)(?:[eE][-+]?\d+)?"
    )
    for point, group in (".,", ",.")
}
_DAYS = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_DURATION = re.compile(
    r"[-+]?\s*(?:\d+ ?days?,? ?[-+]?)?\d{1,4}:\d\d(?::\d\d(?:\.\d+)?)?"
    r"|-?P(?=[\dT])(?:\d+D)?(?:T[\dHMS.]+)?"
    r"|[-+]?(?:\d+(?:\.\d+)? ?(?:days?|hours?|hrs?|h|minutes?|mins?|seconds?|secs?|s|ms)"
    r"\b,? ?)+"
)


@dataclass(frozen=True)
class Guess:
    """Types that the text of a column fits.

    Attributes
    ----------
    types : list of str
        Types that fit all values except gaps, the most likely first; empty for text.
    gaps : list of str
        The few words among typed values that are read as missing.
    strange : str or None
        A value that prevents a type, where most of the column has one.
    """

    types: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    strange: str | None = None


@dataclass(frozen=True)
class ColumnTypes:
    """Types of the columns that are not plain numbers or booleans.

    Attributes
    ----------
    types : dict
        From column names to types.
    gaps : dict
        From column names to words that are read as missing.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, guesses: Mapping[str, Guess], texts: Iterable[str] = ()) -> ColumnTypes:
        """Return the most likely types; the columns in `texts` are text."""
        found = {name: guess for name, guess in guesses.items() if guess.types}
        types = {name: guess.types[0] for name, guess in found.items()}
        gaps = {name: guess.gaps for name, guess in found.items() if guess.gaps}
        return cls(types | dict.fromkeys(texts, TEXT), gaps)

    @property
    def as_written(self) -> list[str]:
        """Names of the columns that must be read from files as text."""
        return [n for n, kind in self.types.items() if kind not in (DATE, DURATION)]

    def to_numbers(self, frame: Any) -> Any:
        """Return a table with typed columns as numbers; text is unchanged."""
        new = {
            name: self.column(frame[name])
            for name, kind in self.types.items()
            if kind != TEXT and name in frame.columns
        }
        return frame.assign(**new) if new else frame

    def column(self, column: Any) -> Any:
        """Return one column as numbers. Raise ShellError with the first wrong row."""
        name = self.types[column.name]
        found, text = kind_of(column), described(name)
        if name == TEXT or (found == NUMBERS and name[0].isdigit() and "%" not in name):
            return column
        if found == TEXT:
            numbers = _by_value(column, name)
        elif found == DATE and text.startswith("dates"):
            numbers = in_days(column)
        elif found == name == DURATION:
            numbers = in_seconds(column)
        elif column.notna().any():
            kinds = {DATE: "dates", DURATION: "durations"}
            raise ShellError(
                f"The column {column.name!r} must contain {text}, as in training. It "
                f"contains {kinds.get(found, found)}."
            )
        else:
            numbers = np.full(len(column), np.nan)
        wrong = np.isnan(numbers) & column.notna().to_numpy()
        wrong &= ~column.isin(self.gaps.get(column.name, [])).to_numpy()
        if wrong.any():
            row = int(wrong.argmax())
            raise ShellError(
                f"The column {column.name!r} must contain {text} or missing values, as "
                f"in training. Row {row + 1} has {column.iloc[row]!r:.80}."
            )
        return type(column)(numbers, index=column.index, name=column.name)


def kind_of(column: Any) -> str:
    """Return "date", "duration", "text" or "numbers" (booleans included)."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        return DATE
    if types.is_timedelta64_dtype(column):
        return DURATION
    return NUMBERS if types.is_numeric_dtype(column) else TEXT


def typed(frame: Any) -> ColumnTypes:
    """Return the types of the columns whose dtype is a date or a duration."""
    kinds = {DATE: ["datetime", "datetimetz"], DURATION: ["timedelta"]}
    return ColumnTypes(
        {
            name: kind
            for kind, types in kinds.items()
            for name in frame.select_dtypes(types).columns
        }
    )


def guess_types(frame: Any, texts: Collection[str] = ()) -> dict[str, Guess]:
    """Return a guess for each column of a training table that may have a type.

    Parameters
    ----------
    frame : DataFrame of `read_rows`
    texts : names of columns that are text
    """
    from pandas.api.types import infer_dtype, is_string_dtype

    found = {name: Guess([kind]) for name, kind in typed(frame).types.items()}
    # pandas 2 refuses "str" in select_dtypes: there text is of dtype object.
    for name in frame.columns[[is_string_dtype(kind) for kind in frame.dtypes]]:
        if infer_dtype(frame[name], skipna=True) == "string":
            found[name] = guess_type(frame[name], frame.attrs.get("decimal", "."))
    return {name: guess for name, guess in found.items() if name not in texts}


def note_guesses(guesses: Mapping[str, Guess], messages: Messages) -> None:
    """Print a note for each column that could be read in more than one way."""
    for name, guess in guesses.items():
        gaps = f"; {listed(guess.gaps)} count as gaps" if guess.gaps else ""
        if guess.strange is not None:
            messages.note(
                f"most of the column {name!r} looks like numbers or dates, but "
                f"{guess.strange!r} does not: the whole column is read as text. Leave "
                f"such cells empty to get numbers, or give --categorical {name!r} if it "
                "is text."
            )
        elif guess.types and (gaps or guess.types[0] not in (DATE, DURATION)):
            first, *others = map(described, guess.types)
            doubt = ""
            if others and others[0] != first:
                doubt = f" ({others[0]} would also fit: use an unambiguous format)"
            messages.note(
                f"the column {name!r} is read as {first}{doubt}{gaps}; give "
                f"--categorical {name!r} if it is text."
            )


def guess_type(column: Any, decimal: str = ".") -> Guess:
    """Return the types that the text of a column fits.

    Parameters
    ----------
    column : Series of text
    decimal : {".", ","}
        Decimal separator of the rest of the table, preferred if both fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.column_types import guess_type
    >>> guess_type(pd.Series(["$1,234.50", "$7"])).types
    ['1,234.5 $']
    >>> guess_type(pd.Series(["13/02/2024", "01/02/2024"])).types
    ['%d/%m/%Y']
    >>> guess_type(pd.Series(["A4", "Bonn"])).types
    []
    """
    some = column.dropna().unique()[:100].tolist()
    if sum(any(map(str.isdigit, word)) for word in some) <= _NOTED * len(some):
        return Guess()
    counts = column.value_counts()
    words, cells = counts.index, counts.to_numpy()
    near: dict[tuple[str, ...], list[str]] = {}
    seen: list[Any] = []
    for name in _likely_types(some, decimal):
        numbers = numbers_of(words, name)
        wrong = np.isnan(numbers)
        # Types that give the same numbers count once.
        twin = any(np.array_equal(numbers, other, equal_nan=True) for other in seen)
        if not twin and cells[wrong].sum() <= (1 - _NOTED) * cells.sum():
            near.setdefault(tuple(words[wrong]), []).append(name)
            seen.append(numbers)
    if not near:
        return Guess()
    others = min(near, key=len)
    if not others or (
        len(others) <= _MOST_GAPS
        and sum(counts[word] for word in others) <= (1 - _TYPED) * cells.sum()
        and len(words) - len(others) > _FEW
        and max(map(len, others)) <= _SHORT
        and not any(map(str.isdigit, "".join(others)))
    ):
        return Guess(near[others], list(others))
    return Guess(strange=others[0][:_SHORT])


def numbers_of(words: Any, name: str) -> Any:
    """Return the numbers that words stand for in a type, NaN where they do not fit.

    Dates are days since 1970, durations are seconds, percentages are the number before
    the sign.

    Examples
    --------
    >>> from committee.shell.column_types import numbers_of
    >>> numbers_of(["1.234,50 €", "(7 €)", "$7"], "1.234,5 €").tolist()
    [1234.5, -7.0, nan]
    >>> numbers_of(["2 Jan 1970"], "%d %b %Y"), numbers_of(["1 days 00:01"], "duration")
    (array([1.]), array([86460.]))
    """
    from pandas import Series, to_datetime, to_timedelta

    texts = Series(words, dtype=object).astype(str).str.strip()
    if name == DURATION:
        whole = texts.where(texts.str.fullmatch(_DURATION))
        # pandas accepts hours and minutes only with seconds.
        whole = whole.str.replace(r"(?<![\d:])(\d+:\d\d)$", r"\1:00", regex=True)
        return in_seconds(to_timedelta(whole, errors="coerce"))
    if name == DATE:
        iso = texts.where(texts.str.match(r"\d{4}-\d\d-\d\d"))
        return in_days(to_datetime(iso, format="ISO8601", utc=True, errors="coerce"))
    if name.startswith("%"):
        return in_days(to_datetime(texts, format=name, errors="coerce"))
    amount, _, unit = name.partition(" ")
    point = "." if amount == AMOUNTS["."] else ","
    return np.array([_amount(word, point, unit) for word in texts], dtype=np.float64)


def in_days(dates: Any) -> Any:
    """Return datetimes as days since 1970; those with a time zone in UTC."""
    from pandas import Timedelta, Timestamp

    start = Timestamp("1970-01-01", tz=dates.dt.tz and "UTC")
    return ((dates - start) / Timedelta(days=1)).to_numpy(dtype=np.float64)


def in_seconds(durations: Any) -> Any:
    """Return durations as seconds."""
    return durations.dt.total_seconds().to_numpy(dtype=np.float64)


def described(name: str) -> str:
    """Return the name of a type in sentences.

    Examples
    --------
    >>> from committee.shell.column_types import described
    >>> described("%d/%m/%Y"), described("1,234.5 $"), described("duration")
    ('dates as day/month/year', 'numbers such as 1,234.5 $', 'durations')
    """
    if name in (DATE, DURATION, TEXT):
        return {DATE: "dates as 2024-12-31", DURATION: "durations", TEXT: TEXT}[name]
    if not name.startswith("%"):
        return f"numbers such as {name}"
    day = re.sub(r" %[HI].*", "", name)
    for code, word in zip(
        "dmYbB", ("day", "month", "year", "month", "month"), strict=True
    ):
        day = day.replace(f"%{code}", word)
    return f"dates as {day}"


def _likely_types(words: list[str], decimal: str) -> list[str]:
    """Return the types that at least half of some words fit."""
    found = [_AMOUNT.fullmatch(word.strip()) for word in words]
    units = [unit for match in found if match for unit in match.group(3, 6) if unit]
    unit = f" {max(units, key=units.count)}" if units else ""
    names = [AMOUNTS[p] + unit for p in sorted(AMOUNTS, key=lambda p: p != decimal)]
    if any(re.search(r"\d{4}", word) for word in words):
        names += [DATE, *_date_formats(words)]
    names.append(DURATION)
    fits = {name: np.isfinite(numbers_of(words, name)).mean() for name in names}
    return [name for name, share in fits.items() if share >= _NOTED]


def _date_formats(words: list[str]) -> list[str]:
    """Return the date formats whose separators and letters occur in some word."""
    shapes = {re.sub(r"\d+", "0", re.sub(r"[^\W\d]+", "a", word)) for word in words}
    names = [
        day + time
        for time in _TIMES
        # Where clocks have twelve hours, the month usually comes first.
        for day in sorted(_DAYS, key=lambda d: time.endswith("%p") and d[1] != "m")
    ]
    return [
        name
        for name in names
        if re.sub("%[bBp]", "a", re.sub("%[dmYHMSIf]", "0", name)) in shapes
    ]


def _amount(word: str, point: str, unit: str) -> float:
    """Return the number in a word, NaN if it does not fit or a share lacks its %."""
    found = _AMOUNT.fullmatch(word)
    if not found:
        return np.nan
    opened, sign, before, inner_sign, digits, behind, closed = found.groups()
    units = [unit for unit in (before, behind) if unit]
    minus = [s for s in (sign, inner_sign, opened) if s]
    if (
        not _DIGITS[point].fullmatch(digits)
        or units not in ([], [unit])
        or (unit == "%" and not units)
        or bool(opened) != bool(closed)
        or len(minus) > 1
    ):
        return np.nan
    group = "," if point == "." else "."
    plain = re.sub(rf"[{group}'{_MARK}\s]", "", digits).replace(point, ".")
    return float(plain) if minus in ([], ["+"]) else -float(plain)


def _by_value(column: Any, name: str) -> Any:
    """Return the numbers of a column of text, reading each distinct value once."""
    from pandas import factorize

    codes, words = factorize(column)
    return np.append(numbers_of(words, name), np.nan)[codes]
