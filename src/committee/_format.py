"""Numbers and tables as people read them: bytes, shares, spreads, columns."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

#: Kinds of characters that a terminal obeys: controls, halves of pairs, line ends.
_STEERS = {"Cc", "Cs", "Zl", "Zp"}
#: Marks that turn the direction of the text that follows.
_TURNS = {chr(c) for c in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F))} | {
    chr(c) for c in range(0x2066, 0x206A)
}
#: Share of a standard error below which a difference is rounding.
_ROUNDING = 1e-9


def figures(x: float, digits: int = 3) -> str:
    """Return a number with a few significant digits and no exponent if it can."""
    if math.isnan(x):
        return "-"
    if 10 ** (digits - 1) <= abs(x) < 1e9:
        return f"{x:,.0f}"
    return f"{x:.{digits}g}"


def change(x: float, se: float, unit: str = "") -> str:
    """Return a difference with its sign, and its standard error where it is known."""
    if abs(x) < _ROUNDING * se:
        x = 0.0
    sign = "" if x == 0 else "-" if x < 0 else "+"
    spread = "" if math.isnan(se) else f" ± {figures(se, 2)}"
    return f"{sign}{figures(abs(x), 2)}{spread} {unit}".rstrip()


def error_text(measure: str, error: float) -> str:
    """Return an error as the whole library shows it: rates in percent."""
    return percent(error) if measure == "error rate" else figures(error, 4)


def change_text(measure: str, gap: float, se: float) -> str:
    """Return a difference of errors: of rates in points."""
    if measure == "error rate":
        return change(100 * gap, 100 * se, "points")
    return change(gap, se)


def percent(x: float) -> str:
    """Return a share in percent."""
    return f"{figures(100 * x)} %"


def byte_size(n_bytes: float) -> str:
    """Return a number of bytes in a unit that fits."""
    return _in_units(n_bytes, ("B", "kB", "MB", "GB", "TB"))


def duration(seconds: float) -> str:
    """Return a time in a unit that fits."""
    if seconds >= 1:
        return f"{figures(seconds)} s"
    return _in_units(1e9 * seconds, ("ns", "µs", "ms", "s"))


def count(n: int, noun: str) -> str:
    """Return a number of things."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def cut(text: str, most: int = 60) -> str:
    """Return the text, the end of a long one cut off."""
    return text if len(text) <= most else text[: most - 1] + "…"


def printable(text: str, keep: str = "") -> str:
    r"""Return text in which nothing steers a terminal, or turns its direction.

    Control characters are written as Python writes them, but for those to `keep`.

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
    """Return rows of text in columns, with two spaces between, and nothing else in it.

    `align` has the side of each column, "<" or ">"; its last one holds for all further
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


def close_to(word: str, known: list[str]) -> str:
    """Return a question that suggests a known word, or nothing.

    Examples
    --------
    >>> from committee._format import close_to
    >>> close_to("specis", ["petal", "species"])
    " Did you mean 'species'?"
    """
    close = get_close_matches(word, known, n=1) or [
        name for name in known if name.lower() == word.lower()
    ]
    return f" Did you mean {close[0]!r}?" if close else ""
