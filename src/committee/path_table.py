"""A path as a table: sizes, errors and bytes, as far as they are known."""

from __future__ import annotations

from typing import Any

from committee._format import byte_size, count, figures, text_table

#: Steps at both ends that a long table shows.
_SHOWN = 5


def path_table(path: Any) -> str:
    """Return the table of a `Path`; nothing is measured for it."""
    source = path.assessment
    known = None if source is None else source.measured("errors")
    own = path.own_error, path.own_error_se, path.own_measure
    error, se, measure = own if known is None else known
    columns = {
        "members": [f"{size:,}" for size in path.size],
        measure: [_spread(*pair) for pair in zip(error, se, strict=True)],
    }
    n_bytes = None if source is None else source.measured("n_bytes")
    if n_bytes is not None:
        columns["bytes"] = [byte_size(n) for n in n_bytes]
    if not path.available.all():
        columns[""] = ["" if here else "not in this copy" for here in path.available]
    rows = list(map(list, zip(*columns.values(), strict=True)))
    if len(rows) > 2 * _SHOWN + 1:
        rows[_SHOWN:-_SHOWN] = [["...", *[""] * (len(columns) - 1)]]
    sizes = f"{path.size.min():,} to {path.size.max():,} members"
    sides = "".join("<" if name == "" else ">" for name in columns)
    table = text_table([list(columns), *rows], sides)
    return f"Path of {count(len(path), 'committee')}, {sizes}\n{table}"


def _spread(error: float, se: float) -> str:
    """Return an error, and its standard error where it is known."""
    return figures(error) + (f" ± {figures(se, 2)}" if se >= 0 else "")
