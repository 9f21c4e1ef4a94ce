"""Numbers and tables as text: bytes, shares, errors, standard errors, columns."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

#: Unicode categories that control a terminal: controls, surrogates, line ends.
_STEERS = {"Cc", "Cs", "Zl", "Zp"}
#: Characters that change the direction of the text after them.
_TURNS = {chr(c) for c in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F))} | {
    chr(c) for c in range(0x2066, 0x206A)
}
#: Differences below this share of a standard error are shown as zero.
_ROUNDING = 1e-9


#: Significant digits of numbers that are not error rates.
_DIGITS = 4


#: How errors are measured: the word that their names begin with, in `summary()`, paths,
#: pages, notebooks and the shell. Held-out rows had no part in choosing or weighing the
#: members. Leave-one-out is the closed form of a combiner: its weights have not seen the
#: row, but the choice of the members has.
HELD_OUT, LEAVE_ONE_OUT = "held-out", "leave-one-out"


def error_name(how: str, measure: str) -> str:
    """Return the name of an error, such as "held-out error rate"."""
    return f"{how} {measure}"


def figures(x: float, digits: int = 3) -> str:
    """Return a number with a few significant digits, if possible without exponent."""
    if math.isnan(x):
        return "-"
    if 10 ** (digits - 1) <= abs(x) < 1e9:
        return f"{x:,.0f}"
    return f"{x:.{digits}g}"


def change(x: float, se: float, unit: str = "") -> str:
    """Return a difference with its sign, and its standard error if it is known."""
    if abs(x) < _ROUNDING * se:
        x = 0.0
    sign = "" if x == 0 else "-" if x < 0 else "+"
    spread = "" if math.isnan(se) else f" ± {figures(se, 2)}"
    return f"{sign}{figures(abs(x), 2)}{spread} {unit}".rstrip()


def error_text(measure: str, error: float) -> str:
    """Return an error as text; error rates in percent."""
    return percent(error) if measure == "error rate" else figures(error, 4)


def change_text(measure: str, gap: float, se: float) -> str:
    """Return a difference of errors as text; error rates in points."""
    if measure == "error rate":
        return change(100 * gap, 100 * se, "points")
    return change(gap, se)


def percent(x: float) -> str:
    """Return a share in percent."""
    return f"{figures(100 * x)} %"


@dataclass(frozen=True)
class NumberFormat:
    """Format of all errors of one measure: `decimals` of a number times `scale`.

    Very large or small numbers have four significant digits; `decimals` is then None.

    Examples
    --------
    >>> from committee._format import NumberFormat
    >>> rate = NumberFormat.of("error rate", 0.09)
    >>> rate.text(0.0925), rate.change(-0.0025, 0.0031)
    ('9.25 %', '-0.25 ± 0.31 points')
    >>> NumberFormat.of("RMSE", 51.3).text(7.0)
    '7.00'
    """

    scale: int
    decimals: int | None
    unit: str

    @classmethod
    def of(cls, measure: str, typical: float) -> Self:
        """Return the format of a measure; a typical value sets the decimals.

        Error rates are shown in percent.
        """
        if measure.endswith("error rate"):
            return cls(100, 2, " %")
        size = abs(typical)
        if not 1e-6 < size < 1e9:
            return cls(1, 3 if size == 0 else None, "")
        return cls(1, max(0, _DIGITS - 1 - math.floor(math.log10(size))), "")

    def text(self, x: float) -> str:
        """Return a number with its unit."""
        return "-" if math.isnan(x) else f"{self._plain(x)}{self.unit}"

    def interval(self, low: float, high: float) -> str:
        """Return the ends of an interval."""
        return "-" if math.isnan(low) else f"{self.text(low)} to {self.text(high)}"

    def spread(self, x: float, se: float) -> str:
        """Return a number and its standard error, if it is known."""
        if math.isnan(se):
            return self.text(x)
        return f"{self._plain(x)} ± {self._plain(se)}{self.unit}"

    def change(self, gap: float, se: float) -> str:
        """Return a difference with its sign and its standard error; rates in points."""
        number = self._plain(abs(gap))
        zero = not any(c in "123456789" for c in number)
        sign = "" if zero else "-" if gap < 0 else "+"
        spread = "" if math.isnan(se) else f" ± {self._plain(se)}"
        return f"{sign}{number}{spread}{' points' if self.unit else ''}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields; the script of the page formats numbers with them."""
        return asdict(self)

    def _plain(self, x: float) -> str:
        if self.decimals is None:
            return figures(self.scale * x, _DIGITS)
        return f"{self.scale * x:,.{self.decimals}f}"


def byte_size(n_bytes: float) -> str:
    """Return a number of bytes with a unit, for example "12.3 kB"."""
    return _in_units(n_bytes, ("B", "kB", "MB", "GB", "TB"))


def duration(seconds: float) -> str:
    """Return a time with a unit, for example "2.4 ms"."""
    if seconds >= 1:
        return f"{figures(seconds)} s"
    return _in_units(1e9 * seconds, ("ns", "µs", "ms", "s"))


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural if it is not one."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def cut(text: str, most: int = 60) -> str:
    """Return the text, cut to `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def printable(text: str, keep: str = "") -> str:
    r"""Escape characters that control a terminal or the direction of text.

    They are written as in Python's `repr`, except for the characters in `keep`.

    Examples
    --------
    >>> from committee._format import printable
    >>> print(printable("red\x1b[2J\nblue"))
    red\x1b[2J\nblue
    """
    return "".join(
        repr(c)[1:-1]
        if c not in keep and (c in _TURNS or unicodedata.category(c) in _STEERS)
        else c
        for c in text
    )


def text_table(rows: Sequence[Sequence[str]], align: str = "<>") -> str:
    """Return rows of text as columns that are two spaces apart.

    `align` has "<" or ">" for each column; its last character holds for all further
    columns.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = align.ljust(len(widths), align[-1])
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _in_units(x: float, units: Sequence[str]) -> str:
    """Divide by a thousand until the number is short."""
    for unit in units[:-1]:
        if not x >= 999.5:
            return f"{figures(x)} {unit}"
        x /= 1000
    return f"{figures(x)} {units[-1]}"
