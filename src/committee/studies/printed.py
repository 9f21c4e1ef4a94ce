"""The figures that the papers print, as tables of this package."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def printed(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a printed table.

    Parameters
    ----------
    name : str
        Such as "chen_table6_classification_error".

    Examples
    --------
    >>> from committee.studies.printed import printed
    >>> printed("chen_table12_poker")[1]["error_percent"]
    '25.68'
    """
    path = files("committee.studies") / "printed_tables" / f"{name}.csv"
    return tuple(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def figure(name: str, column: str, **where: str) -> float | None:
    """Return one figure of a printed table, None where it has none.

    Parameters
    ----------
    name : str
    column : str
    **where
        What the other columns of its row say.

    Examples
    --------
    >>> from committee.studies.printed import figure
    >>> figure("chen_table12_poker", "size", method="ep")
    11.6
    """
    for row in printed(name):
        if all(row[key] == value for key, value in where.items()):
            return float(row[column]) if row[column] else None
    return None
