"""What words mean: amounts of money, percentages, dates and durations as numbers.

A format is text, so that it goes into the file of a model: "date" for ISO dates and
typed ones, "duration", how the hour 13:30 of a day is written by the codes of
`strptime`, or 1,234.5 with a unit as people would write it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TEXT, DATE, DURATION = "text", "date", "duration"

#: Numbers with signs of thousands, money or percent, by what separates decimals.
AMOUNTS = {".": "1,234.5", ",": "1.234,5"}

#: Numbers and dates are worth a note from this share of the cells on, and words between
#: them are gaps from that share on, if they are few.
_NOTED, _NUMBERS, _MOST_GAPS, _FEW = 0.5, 0.9, 3, 20

#: Letters that such words have at most.
_SHORT = 30

#: A minus and an apostrophe as typesetters have them.
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
    """What the words of a column may mean.

    Attributes
    ----------
    formats : list of str
        Those that all words fit, apart from gaps, the likely ones first; none of text.
    gaps : list of str
        The few words between numbers that are none.
    strange : str or None
        A word for which the column is text, where most of it is numbers or dates.
    """

    formats: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    strange: str | None = None


def guess_format(column: Any, decimal: str = ".") -> Guess:
    """Return what the words of a column may mean.

    Parameters
    ----------
    column : Series of text
    decimal : {".", ","}
        What separates decimals elsewhere in the table: in doubt it does here.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.formats import guess_format
    >>> guess_format(pd.Series(["$1,234.50", "$7"])).formats
    ['1,234.5 $']
    >>> guess_format(pd.Series(["13/02/2024", "01/02/2024"])).formats
    ['%d/%m/%Y']
    >>> guess_format(pd.Series(["A4", "Bonn"])).formats
    []
    """
    some = column.dropna().unique()[:100].tolist()
    n_numbers = sum(any(map(str.isdigit, word)) for word in some)
    if n_numbers <= _NOTED * len(some):
        return Guess()
    counts = column.value_counts()
    words, cells = counts.index, counts.to_numpy()
    near: dict[tuple[str, ...], list[str]] = {}
    seen: list[Any] = []
    for name in _likely_formats(some, decimal):
        numbers = numbers_of(words, name)
        wrong = np.isnan(numbers)
        # Of formats that mean the same one is enough.
        twin = any(np.array_equal(numbers, other, equal_nan=True) for other in seen)
        if not twin and cells[wrong].sum() <= (1 - _NOTED) * cells.sum():
            near.setdefault(tuple(words[wrong]), []).append(name)
            seen.append(numbers)
    if not near:
        return Guess()
    others = min(near, key=len)
    n_others = sum(counts[word] for word in others)
    if not others or (
        len(others) <= _MOST_GAPS
        and n_others <= (1 - _NUMBERS) * cells.sum()
        and len(words) - len(others) > _FEW
        and max(map(len, others)) <= _SHORT
        and not any(map(str.isdigit, "".join(others)))
    ):
        return Guess(near[others], list(others))
    return Guess(strange=others[0][:_SHORT])


def _likely_formats(words: list[str], decimal: str) -> list[str]:
    """Return the formats that half of some words fit."""
    found = [_AMOUNT.fullmatch(word.strip()) for word in words]
    units = [unit for match in found if match for unit in match.group(3, 6) if unit]
    unit = f" {max(units, key=units.count)}" if units else ""
    points = sorted(AMOUNTS, key=lambda point: point != decimal)
    names = [AMOUNTS[point] + unit for point in points]
    if any(re.search(r"\d{4}", word) for word in words):
        names += [DATE, *_date_formats(words)]
    names.append(DURATION)
    fits = {name: np.isfinite(numbers_of(words, name)).mean() for name in names}
    return [name for name, share in fits.items() if share >= _NOTED]


def _date_formats(words: list[str]) -> list[str]:
    """Return the formats of dates that have the separators and letters of words."""
    shapes = {re.sub(r"\d+", "0", re.sub(r"[^\W\d]+", "a", word)) for word in words}
    names = [
        day + time
        for time in _TIMES
        # Clocks of twelve hours go with months in front.
        for day in sorted(_DAYS, key=lambda d: time.endswith("%p") and d[1] != "m")
    ]
    return [
        name
        for name in names
        if re.sub("%[bBp]", "a", re.sub("%[dmYHMSIf]", "0", name)) in shapes
    ]


def numbers_of(words: Any, name: str) -> Any:
    """Return the numbers that words mean in a format, NaN where they mean none.

    Dates are days since 1970, durations seconds, percentages the number before the
    sign.

    Examples
    --------
    >>> from committee.shell.formats import numbers_of
    >>> numbers_of(["1.234,50 €", "(7 €)", "$7"], "1.234,5 €").tolist()
    [1234.5, -7.0, nan]
    >>> numbers_of(["2 Jan 1970"], "%d %b %Y"), numbers_of(["1 days 00:01"], "duration")
    (array([1.]), array([86460.]))
    """
    from pandas import Series, to_datetime, to_timedelta

    texts = Series(words, dtype=object).astype(str).str.strip()
    if name == DURATION:
        whole = texts.where(texts.str.fullmatch(_DURATION))
        # pandas takes hours and minutes with seconds only.
        whole = whole.str.replace(r"(?<![\d:])(\d+:\d\d)$", r"\1:00", regex=True)
        return in_seconds(to_timedelta(whole, errors="coerce"))
    if name == DATE:
        iso = texts.where(texts.str.match(r"\d{4}-\d\d-\d\d"))
        return in_days(to_datetime(iso, format="ISO8601", utc=True, errors="coerce"))
    if "%" in name and not name.startswith(tuple(AMOUNTS.values())):
        return in_days(to_datetime(texts, format=name, errors="coerce"))
    amount, _, unit = name.partition(" ")
    point = "." if amount == AMOUNTS["."] else ","
    return np.array([_amount(word, point, unit) for word in texts], dtype=np.float64)


def in_days(dates: Any) -> Any:
    """Return datetimes as days since 1970, those with a time zone in UTC."""
    from pandas import Timedelta, Timestamp

    start = Timestamp("1970-01-01", tz=dates.dt.tz and "UTC")
    return ((dates - start) / Timedelta(days=1)).to_numpy(dtype=np.float64)


def in_seconds(durations: Any) -> Any:
    """Return durations as seconds."""
    return durations.dt.total_seconds().to_numpy(dtype=np.float64)


def _amount(word: str, point: str, unit: str) -> float:
    """Return a number without its signs; a share may not lack its percent sign."""
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


def described(name: str) -> str:
    """Return what a format is called in sentences.

    Examples
    --------
    >>> from committee.shell.formats import described
    >>> described("%d/%m/%Y"), described("1,234.5 $"), described("duration")
    ('dates as day/month/year', 'numbers such as 1,234.5 $', 'durations')
    """
    if name in (DATE, DURATION, TEXT):
        return {DATE: "dates as 2024-12-31", DURATION: "durations", TEXT: TEXT}[name]
    if name.startswith(tuple(AMOUNTS.values())):
        return f"numbers such as {name}"
    codes = {"%d": "day", "%m": "month", "%Y": "year", "%b": "month", "%B": "month"}
    day = name
    for time in sorted(_TIMES, key=len, reverse=True):
        day = day.removesuffix(time)
    for code, word in codes.items():
        day = day.replace(code, word)
    return f"dates as {day}"


def is_read_as_text(name: str) -> bool:
    """Whether a column of a format must reach us as it is written."""
    return name not in (DATE, DURATION)


def first_wrong(column: Any, numbers: Any, gaps: Sequence[str] = ()) -> int | None:
    """Return the first row that has a value, no gap, and no number."""
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    if gaps:
        wrong &= ~column.isin(gaps).to_numpy()
    return int(wrong.argmax()) if wrong.any() else None
