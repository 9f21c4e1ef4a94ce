"""Interleaved timing: on a shared machine only ratios of one run mean anything."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table


def ratio(
    ours: Callable[[], Any], rival: Callable[[], Any], repeats: int = 5
) -> tuple[float, float, float]:
    """Return (best seconds of ours, best seconds of the rival, median ratio).

    The two are called in turns, so that a slow spell of the machine hits both.
    """
    ours(), rival()
    pairs = [(_seconds(ours), _seconds(rival)) for _ in range(repeats)]
    return (
        min(a for a, _ in pairs),
        min(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table that survives a pipe."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=130).print(table)
