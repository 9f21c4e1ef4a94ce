"""Sizes and counts in options: 5MB, and how many at work at the same time."""

from __future__ import annotations

import math
import re

import typer

#: More threads than a system lets a user start are an error deep in joblib.
MOST_JOBS = 1024


def number_of_bytes(text: str) -> float:
    """Return the bytes of a size such as 5MB.

    Examples
    --------
    >>> from committee.shell.quantities import number_of_bytes
    >>> number_of_bytes("800kB"), number_of_bytes("5 MiB"), number_of_bytes("1e6")
    (800000.0, 5242880.0, 1000000.0)
    """
    found = re.fullmatch(
        r"([\d.]+(?:e\d+)?)\s*(?:([kmgt]?)(i?)b)?", text.strip().lower()
    )
    try:
        number, prefix, binary = found.groups() if found else ("", None, None)
        power = "kmgt".index(prefix) + 1 if prefix else 0
        unit = 1024.0 if binary else 1000.0
        return float(number) * math.pow(unit, power)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no size: give bytes, or a number with kB, MB, GB, KiB, MiB "
            "or GiB."
        ) from None


def number_of_jobs(value: int) -> int:
    """Refuse zero, which joblib has no meaning for."""
    if value == 0:
        raise typer.BadParameter("0 is nobody: give 1 or more, or -1 for all cores.")
    return value
