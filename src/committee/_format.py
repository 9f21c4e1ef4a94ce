"""Numbers and tables as people read them: bytes, shares, spreads, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Share of a standard error below which a difference is rounding.
_ROUNDING = 1e-9


def figures(x: float, digits: int = 3) -> str:
    """Return a number with a few significant digits and no exponent if it can.

    Examples
    --------
    >>> from committee._format import figures
    >>> figures(0.012345), figures(2900.4), figures(12.0), figures(1e-9)
    ('0.0123', '2,900', '12', '1e-09')
    """
    if math.isnan(x):
        return "-"
    if 10 ** (digits - 1) <= abs(x) < 1e9:
        return f"{x:,.0f}"
    return f"{x:.{digits}g}"


def change(x: float, se: float, unit: str = "") -> str:
    """Return a difference with its sign, and its standard error where it is known.

    Examples
    --------
    >>> from committee._format import change
    >>> change(-0.6667, 0.5, "points"), change(150.2, 113.7)
    ('-0.67 ± 0.5 points', '+150 ± 114')
    >>> change(0.0, 0.5), change(2.0, float("nan"))
    ('0 ± 0.5', '+2')
    """
    if abs(x) < _ROUNDING * se:
        x = 0.0
    sign = "" if x == 0 else "-" if x < 0 else "+"
    spread = "" if math.isnan(se) else f" ± {figures(se, 2)}"
    return f"{sign}{figures(abs(x), 2)}{spread} {unit}".rstrip()


def percent(x: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> from committee._format import percent
    >>> percent(0.0345), percent(0.2), percent(1.0)
    ('3.45 %', '20 %', '100 %')
    """
    return f"{figures(100 * x)} %"


def byte_size(n_bytes: float) -> str:
    """Return a number of bytes in a unit that fits.

    Examples
    --------
    >>> from committee._format import byte_size
    >>> byte_size(812), byte_size(12_345_678)
    ('812 B', '12.3 MB')
    """
    return _in_units(n_bytes, ("B", "kB", "MB", "GB", "TB"))


def duration(seconds: float) -> str:
    """Return a time in a unit that fits.

    Examples
    --------
    >>> from committee._format import duration
    >>> duration(0.00125), duration(2e-8), duration(2500.0)
    ('1.25 ms', '20 ns', '2,500 s')
    """
    if seconds >= 1:
        return f"{figures(seconds)} s"
    return _in_units(1e9 * seconds, ("ns", "µs", "ms", "s"))


def count(n: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> from committee._format import count
    >>> count(1, "member"), count(1200, "row")
    ('1 member', '1,200 rows')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def cut(text: str, most: int = 60) -> str:
    """Return the text, the end of a long one cut off.

    Examples
    --------
    >>> from committee._format import cut
    >>> cut("a long name", 7), cut("short", 7)
    ('a long…', 'short')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def text_table(rows: Sequence[Sequence[str]], align: str = "<>") -> str:
    """Return rows of text in columns, two spaces apart.

    Parameters
    ----------
    rows : sequence of rows
        The header first, if there is one.
    align : str, default="<>"
        The side of each column, "<" or ">"; the last one also holds for all further
        columns.

    Examples
    --------
    >>> from committee._format import text_table
    >>> print(text_table([("member", "weight"), ("3", "0.5"), ("12", "0.25")]))
    member  weight
    3          0.5
    12        0.25
    """
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
