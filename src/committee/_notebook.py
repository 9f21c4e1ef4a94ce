"""Three numbers above the diagram of a committee in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from committee._format import LEAVE_ONE_OUT, error_name, figures, percent

_STYLE = "display:inline-block;margin:0 1.6em .5em 0;font-family:sans-serif"


def headline_html(committee: Any) -> str:
    """Return the number of kept members, their error and their bytes as HTML.

    Nothing is measured here. Numbers that fitting or pruning did not store are left out.
    Returns an empty string for a committee that is not fitted.
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
    """Return the held-out error, else the leave-one-out error, with its name."""
    summary = getattr(committee, "_summary", None)
    if summary is not None:
        label = f"{summary.error_name}, {figures(summary.error_before)} before"
        return figures(summary.error_after), label
    error = getattr(committee, "held_out_error_", None)
    if error is not None:
        return figures(error), str(committee.held_out_error_name_)
    combiner: Any = getattr(committee, "combiner_", None)
    step = getattr(combiner, "posterior_", None)
    # The posterior may belong to another committee of the path.
    if step is None or not np.array_equal(step.active, committee.support_):
        return None
    spread = f" ± {figures(step.loo_se, 1)}" if step.loo_se > 0 else ""
    loo = f"{figures(step.loo_error)}{spread}"
    return loo, error_name(LEAVE_ONE_OUT, combiner.loo_measure_)


def _bytes(committee: Any) -> tuple[str, str] | None:
    """Return the share of the bytes, and the speed-up, of a pruned ensemble."""
    summary = getattr(committee, "_summary", None)
    if summary is None:
        return None
    speed = figures(summary.seconds_before / summary.seconds_after, 2)
    size = percent(summary.bytes_after / summary.bytes_before)
    return size, f"of the bytes, {speed} times as fast"
