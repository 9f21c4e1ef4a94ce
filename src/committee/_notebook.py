"""What a notebook shows above a committee's diagram: three numbers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from committee._format import figures, percent

_STYLE = "display:inline-block;margin:0 1.6em .5em 0;font-family:sans-serif"


def headline_html(committee: Any) -> str:
    """Return how many members are kept, their error and their bytes, as HTML.

    Nothing is measured: numbers are those that pruning or weighing has left, and what
    is not known is left out. A committee that is not fitted has none.
    """
    if not hasattr(committee, "weights_"):
        return ""
    numbers = [_members(committee), _error(committee), _bytes(committee)]
    cells = [
        f'<span style="{_STYLE}"><b>{escape(value)}</b> {escape(label)}</span>'
        for value, label in filter(None, numbers)
    ]
    return f"<div>{''.join(cells)}</div>"


def _members(committee: Any) -> tuple[str, str]:
    combiner = getattr(committee, "combiner_", None)
    whole = len((committee if combiner is None else combiner).weights_)
    return f"{np.count_nonzero(committee.weights_):,} of {whole:,}", "members"


def _error(committee: Any) -> tuple[str, str] | None:
    """Return the error that is known: cross-fitted by `summary`, or leave-one-out."""
    summary = getattr(committee, "_summary", None)
    if summary is not None:
        how = "cross-fitted " if summary.cross_fitted else ""
        return figures(summary.error_after), (
            f"{how}{summary.measure}, {figures(summary.error_before)} before"
        )
    combiner: Any = getattr(committee, "combiner_", None)
    step = getattr(combiner, "posterior_", None)
    # Another committee of the path is not the one that the posterior is of.
    if step is None or not np.array_equal(step.active, committee.support_):
        return None
    spread = f" ± {figures(step.loo_se, 1)}" if step.loo_se > 0 else ""
    error = f"{figures(step.loo_error)}{spread}"
    return error, f"leave-one-out {combiner.loo_measure_}"


def _bytes(committee: Any) -> tuple[str, str] | None:
    """Return what is left of the bytes and of the time of a pruned ensemble."""
    summary = getattr(committee, "_summary", None)
    if summary is None:
        return None
    speed = figures(summary.seconds_before / summary.seconds_after, 2)
    size = percent(summary.bytes_after / summary.bytes_before)
    return size, f"of the bytes, {speed} times as fast"
