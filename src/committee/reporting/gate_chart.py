"""Who answers where: the gate of a committee or a mixture on the rows of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from committee._format import count
from committee._typing import FloatArray, IntArray
from committee._validation import column_names
from committee.displays import GateDisplay
from committee.reporting.evaluation import EvaluatedMembers

#: Members with a colour of their own in the picture; the rest are grey together.
_MOST_COLOURS = 4
_MOST_LINES = 30
_MOST_POINTS = 1500


def gate_chart(
    evaluated: EvaluatedMembers, X: Any, names: list[str]
) -> dict[str, Any] | None:
    """Return shares, entropy, and the rows on two columns; None without a gate.

    The picture has the two columns that tell most about who has the largest weight. It
    is None where there are no two columns of numbers, or where one member has the
    largest weight on all rows.
    """
    G = evaluated.gate
    if G is None:
        return None
    table, labels = _numeric_columns(X, len(G))
    across, up = _telling(table, G.argmax(axis=1))
    points = table[:, [across, up]] if across != up else np.zeros((len(G), 2))
    display = GateDisplay(points, G, names=names)
    usage = display.usage
    listed = display.order[:_MOST_LINES]
    shown = across != up and len(np.unique(display.winner)) > 1
    first = display.order[0]
    return {
        "entropy": usage.entropy,
        "fixed": bool(np.all(G[0] == G)),
        "n_members": len(names),
        "lines": [
            {
                "name": names[m],
                "share": float(usage.share[m]),
                "answers": float(usage.answers[m]),
            }
            for m in listed
        ],
        "picture": _picture(display, labels[across], labels[up]) if shown else None,
        "alt": "Scatter plot of rows by the member that has the largest weight there; "
        f"{names[first]} has it on {usage.answers[first]:.0%} of "
        f"{count(len(G), 'row')}.",
    }


def _picture(display: GateDisplay, x_label: str, y_label: str) -> dict[str, Any]:
    """Return points (x, y, weight), a list for each member of a colour and the rest."""
    rows = np.arange(len(display.points))
    if len(rows) > _MOST_POINTS:
        rows = np.random.default_rng(0).choice(len(rows), _MOST_POINTS, replace=False)
    coloured = [
        m
        for m in display.order[:_MOST_COLOURS].tolist()
        if np.any(display.winner[rows] == m)
    ]
    groups = [(display.names[m], display.winner[rows] == m) for m in coloured]
    others = ~np.isin(display.winner[rows], coloured)
    if others.any():
        groups.append(("others", others))
    values = np.column_stack([display.points, display.weight])[rows]
    return {
        "x_label": x_label,
        "y_label": y_label,
        "n_shown": len(rows),
        "groups": [
            {"name": name, "rest": of is others, "points": values[of].tolist()}
            for name, of in groups
        ],
    }


def _numeric_columns(X: Any, n_rows: int) -> tuple[FloatArray, list[str]]:
    """Return the columns of finite numbers, (N, d), and what they are called."""
    if issparse(X):
        return np.empty((n_rows, 0)), []
    known = column_names(X)
    if hasattr(X, "columns"):
        columns = [np.asarray(X[name]) for name in X.columns]
    else:
        columns = list(np.asarray(X).T)
    called = [f"column {i}" for i in range(len(columns))] if known is None else known
    kept = [
        (values.astype(np.float64), str(name))
        for values, name in zip(columns, called, strict=True)
        if values.dtype.kind in "fiu" and np.all(np.isfinite(values))
    ]
    table = np.column_stack([v for v, _ in kept]) if kept else np.empty((n_rows, 0))
    return table, [name for _, name in kept]


def _telling(table: FloatArray, winner: IntArray) -> tuple[int, int]:
    """Return the two columns of which most is the mean over rows of one winner.

    By sums of squares of ranks between groups. Twice the same where no two columns vary.
    """
    ranks = table.argsort(axis=0).argsort(axis=0).astype(np.float64)
    ranks -= ranks.mean(axis=0)
    varies = np.ptp(table, axis=0) > 0 if len(table) else np.zeros(0, dtype=bool)
    if np.count_nonzero(varies) < 2:
        return 0, 0
    between = np.zeros(table.shape[1])
    for m in np.unique(winner):
        of = winner == m
        between += of.sum() * ranks[of].mean(axis=0) ** 2
    between = np.where(varies, between, -1.0)
    across, up = np.argsort(-between, kind="stable")[:2].tolist()
    return across, up
