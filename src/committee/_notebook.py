"""HTML in a notebook: tables, and three numbers above the diagram of a committee."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from committee._format import (
    LEAVE_ONE_OUT,
    error_name,
    figures,
    percent,
    printable,
    text_table,
)

_STYLE = "display:inline-block;margin:0 1.6em .5em 0;font-family:sans-serif"

#: Only what holds on a light and on a dark page: no colours but those of the text.
_CELL = "padding:.15em .8em;white-space:pre-wrap;font-variant-numeric:tabular-nums"
#: Rows at both ends that a long table shows.
_ENDS = 5
_SIDES = {"<": "left", ">": "right"}


class Columns(NamedTuple):
    """Rows of text, the header first; `align` as for `text_table`.

    `bold` is the number of a row that stands out in HTML.
    """

    rows: Sequence[Sequence[str]]
    align: str
    bold: int | None = None

    def __str__(self) -> str:
        """Return the rows as text."""
        return text_table(self.rows, self.align)

    def ends(self) -> Columns:
        """Return both ends of a long table and the row that stands out."""
        n, rows, bold = len(self.rows) - 1, [*self.rows[:1]], None
        for k, row in enumerate(self.rows[1:], 1):
            if min(k - 1, n - k) < _ENDS or n <= 2 * _ENDS + 1 or k == self.bold:
                bold = len(rows) if k == self.bold else bold
                rows.append(row)
            elif rows[-1][0] != "...":
                rows.append(["...", *[""] * (len(row) - 1)])
        return Columns(rows, self.align, bold)

    def html(self) -> str:
        """Return the rows as a table in HTML."""
        lines = [self._line(n, row) for n, row in enumerate(self.rows)]
        body = "".join(lines[1:])
        return (
            '<table style="border-collapse:collapse;color:inherit;margin:.5em 0">'
            f"<thead>{lines[0]}</thead><tbody>{body}</tbody></table>"
        )

    def _line(self, n: int, row: Sequence[str]) -> str:
        tag = "td" if n else "th"
        weight = ";font-weight:bold" if n in (0, self.bold) else ""
        sides = self.align.ljust(len(row), self.align[-1])
        cells = [
            f'<{tag} style="{_CELL};text-align:{_SIDES[side]}{weight}">'
            f"{escape(printable(cell))}</{tag}>"
            for cell, side in zip(row, sides, strict=True)
        ]
        return f"<tr>{''.join(cells)}</tr>"


class Shown(ABC):
    """Base class of results that print as text, and show the same as HTML in a notebook."""

    @abstractmethod
    def _parts(self) -> Iterator[str | Columns]:
        """Yield paragraphs and tables; an empty paragraph is an empty line of the text."""

    def __repr__(self) -> str:
        """Return paragraphs and tables as text."""
        return "\n".join(map(str, self._parts()))

    def _repr_html_(self) -> str:
        """Return paragraphs and tables as HTML."""
        return "".join(
            part.html() if isinstance(part, Columns) else f"<p>{escape(part)}</p>"
            for part in self._parts()
            if part
        )


def headline_html(committee: Any) -> str:
    """Return the number of kept members, their error and their bytes as HTML.

    Nothing is measured here. Numbers that fitting or pruning did not store are left out.
    Returns an empty string for a committee that is not fitted.
    """
    if not hasattr(committee, "weights_"):
        return ""
    combiner = getattr(committee, "combiner_", None)
    whole = len((committee if combiner is None else combiner).weights_)
    kept = f"{np.count_nonzero(committee.weights_):,} of {whole:,}"
    cells = [
        f'<span style="{_STYLE}"><b>{escape(value)}</b> {escape(label)}</span>'
        for value, label in [(kept, "members"), *_error_and_bytes(committee, combiner)]
    ]
    return f"<div>{''.join(cells)}</div>"


def _error_and_bytes(committee: Any, combiner: Any) -> Iterator[tuple[str, str]]:
    """Yield the held-out or else the leave-one-out error, and the share of the bytes."""
    summary = getattr(committee, "_summary", None)
    if summary is not None:
        label = f"{summary.error_name}, {figures(summary.error_before)} before"
        yield figures(summary.error_after), label
        speed = figures(summary.seconds_before / summary.seconds_after, 2)
        size = percent(summary.bytes_after / summary.bytes_before)
        yield size, f"of the bytes, {speed} times as fast"
        return
    error = getattr(committee, "held_out_error_", None)
    if error is not None:
        yield figures(error), str(committee.held_out_error_name_)
        return
    step = getattr(combiner, "posterior_", None)
    # The posterior may belong to another committee of the path.
    if step is not None and np.array_equal(step.active, committee.support_):
        spread = f" ± {figures(step.loo_se, 1)}" if step.loo_se > 0 else ""
        name = error_name(LEAVE_ONE_OUT, combiner.loo_measure_)
        yield f"{figures(step.loo_error)}{spread}", name
