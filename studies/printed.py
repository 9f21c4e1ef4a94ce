"""The figures that the papers print, from printed_tables/*.csv."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

TABLES = Path(__file__).parent / "printed_tables"


@cache
def printed(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a printed table, such as "chen_table12_poker"."""
    text = (TABLES / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def figure(name: str, column: str, **where: str) -> float | None:
    """Return the figure in the row where columns have these values, None for none.

    Columns that the table does not have match everything, and hold nothing.
    """
    for row in printed(name):
        if all(row.get(key, value) == value for key, value in where.items()):
            return float(row[column]) if row.get(column) else None
    return None
