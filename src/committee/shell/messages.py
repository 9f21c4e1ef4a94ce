"""What a command prints: notes on standard error, one result on standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from committee._format import figures, printable, text_table


@dataclass(frozen=True)
class Messages:
    """How much a command prints, and in which form.

    Parameters
    ----------
    quiet : bool, default=False
        No notes and no progress.
    as_json : bool, default=False
        The result as one JSON object instead of a table.

    Examples
    --------
    >>> from committee.shell.messages import Messages
    >>> Messages(as_json=True).result({"members": 3, "task": "regression"})
    {"members": 3, "task": "regression"}
    """

    quiet: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """Print something that is good to know."""
        if not self.quiet:
            print(f"Note: {printable(text)}", file=sys.stderr)

    def result(self, report: Mapping[str, Any], tables: str = "") -> None:
        """Print the result: JSON, or a line for each entry and then the tables.

        Parameters
        ----------
        report : mapping
            Of plain values; lists and mappings appear in the JSON only.
        tables : str, default=""
            What the lists and mappings look like to a reader.
        """
        if self.as_json:
            print(json.dumps(_plain(report)))
            return
        lines = {
            key.replace("_", " "): _cell(value)
            for key, value in report.items()
            if value is not None and not isinstance(value, (list, dict))
        }
        if lines:
            print(text_table(list(lines.items()), "<"))
        if tables:
            print(f"\n{tables}")


def columns(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return rows as aligned text: words to the left, numbers to the right.

    Examples
    --------
    >>> from committee.shell.messages import columns
    >>> print(columns(("member", "weight"), [("3", 0.5), ("12", 0.25)]))
    member  weight
    3          0.5
    12        0.25
    """
    cells = [header, *(tuple(map(_cell, row)) for row in rows)]
    sides = ["<" if isinstance(value, str) else ">" for value in rows[0]]
    return text_table(cells, "".join(sides))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figures(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    """Return what JSON knows: Python's own types, and null for what is no number."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
