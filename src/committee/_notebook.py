"""What a notebook shows above a committee's diagram: three numbers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

_STYLE = "display:inline-block;margin:0 1.6em .5em 0;font-family:sans-serif"


def headline_html(committee: Any) -> str:
    """Return how many members are kept, their error and their bytes, as HTML.

    Nothing is measured: numbers are those that pruning or weighing has left behind,
    and what is not known is left out.

    Parameters
    ----------
    committee : committee
        Nothing is said about one that is not fitted.

    Returns
    -------
    html : str

    Examples
    --------
    >>> from committee import Bagging, CommitteeRegressor
    >>> from committee._notebook import headline_html
    >>> committee = CommitteeRegressor(generator=Bagging(3), random_state=0)
    >>> headline_html(committee)
    ''
    >>> _ = committee.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> "<b>3 of 3</b> members" in headline_html(committee)
    True
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
    summary = getattr(committee, "_summary", None)
    whole = len(committee.weights_) if summary is None else summary.n_members_before
    return f"{np.count_nonzero(committee.weights_):,} of {whole:,}", "members"


def _error(committee: Any) -> tuple[str, str] | None:
    """Return the error that is known: cross-fitted by `prune`, or leave-one-out."""
    summary = getattr(committee, "_summary", None)
    if summary is not None:
        how = "cross-fitted " if summary.cross_fitted else ""
        return f"{summary.error_after:.3g}", (
            f"{how}{summary.measure}, {summary.error_before:.3g} before"
        )
    combiner: Any = getattr(committee, "combiner_", None)
    if not hasattr(combiner, "loo_measure_"):
        return None
    step = combiner.posterior_
    spread = f" ± {step.loo_se:.1g}" if step.loo_se > 0 else ""
    return f"{step.loo_error:.3g}{spread}", f"leave-one-out {combiner.loo_measure_}"


def _bytes(committee: Any) -> tuple[str, str] | None:
    """Return what is left of the bytes and of the time of a pruned ensemble."""
    summary = getattr(committee, "_summary", None)
    if summary is None:
        return None
    size, speed = (
        summary.bytes_after / summary.bytes_before,
        summary.seconds_before / summary.seconds_after,
    )
    return f"{100 * size:.3g} %", f"of the bytes, {speed:.2g} times as fast"
