"""The numbers behind the pictures, ready for JSON, and what they show in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from committee._format import count, figures
from committee._typing import FloatArray, IntArray
from committee.combiners.hull import lower_left_hull
from committee.diagnostics import pairwise_kappa
from committee.displays.weights import posterior_std
from committee.reporting.evaluation import Hearing
from committee.reporting.pathway import numbers_of

_MOST_BARS = 30
_MOST_POINTS = 1500
_MOST_SIZES = 200
_MOST_CLASSES = 15
#: How far from one a sum of weights may be that is one.
_ROUNDING = 1e-6
#: Cells of the grid that counts pairs where there are too many to draw.
_GRID = (44, 30)


def weights(core: Any, names: list[str]) -> dict[str, Any] | None:
    """Return the largest weights, with their posterior spread where it is known."""
    w = getattr(core, "weights_", None)
    if w is None:
        return None
    kept = int(np.count_nonzero(w))
    order = np.argsort(-np.abs(w), kind="stable")[: min(kept, _MOST_BARS)]
    spread = posterior_std(getattr(core, "combiner_", None))
    std = None if spread is None else spread[numbers_of(core)[order]].tolist()
    largest = f"{names[order[0]]} has the largest, {figures(w[order[0]])}"
    return {
        "names": [names[m] for m in order],
        "weight": w[order].tolist(),
        "std": std,
        "more": kept - len(order),
        "alt": f"Weights of {count(len(order), 'member')}; {largest}.",
    }


def pairs(hearing: Hearing, kept: IntArray) -> dict[str, Any] | None:
    """Return how alike the pairs of members are, and how good.

    For classes kappa against the mean error of the pair; for regression the
    correlation of their errors against their mean squared error.
    """
    leading, e = hearing.leading, hearing.errors[hearing.leading]
    if len(leading) < 2:
        return None
    if hearing.together.ndim == 2:
        alike = _weighted_kappa(hearing)
        label = "kappa: agreement beyond chance"
    else:
        C = hearing.correlation
        scale = np.sqrt(np.diag(C))
        scale = np.where(scale > 0, scale, 1.0)
        alike, label = C / np.outer(scale, scale), "correlation of the errors"
    i, j = np.triu_indices(len(leading), k=1)
    x, y = alike[i, j], (e[i] + e[j]) / 2
    ours = np.isin(leading[i], kept) & np.isin(leading[j], kept)
    hull = lower_left_hull(x, y)
    return {
        "x_label": label,
        "y_label": f"{hearing.measure}, mean of the pair",
        "n_pairs": len(x),
        "n_others": int(np.count_nonzero(~ours)),
        **_cloud(x[~ours], y[~ours]),
        "kept": _points(x[ours], y[ours]),
        "hull": np.column_stack([x[hull], y[hull]]).tolist(),
        "alt": f"{count(len(x), 'pair')} of members by their {label.split(':')[0]}, "
        f"from {figures(x.min())} to {figures(x.max())}, and the mean "
        f"of their {hearing.measure}s, from {figures(y.min())} to {figures(y.max())}.",
    }


def _weighted_kappa(hearing: Hearing) -> FloatArray:
    """Return kappa of the leading members on the drawn rows, by their weights."""
    rows, s = hearing.drawn, hearing.rows.weight
    F = hearing.F[:, hearing.leading]
    return pairwise_kappa(F, sample_weight=None if s is None else s[rows])


def ambiguity(hearing: Hearing, w: FloatArray | None) -> dict[str, Any] | None:
    """Return the ambiguity decomposition of the committee and of growing ones.

        ensemble error = member error - diversity:   w'Cw = sum_m w_m C_mm - diversity

    None where members speak by scores, whose distance from the targets says nothing.
    """
    if hearing.roster.votes == "scores":
        return None
    C, M = hearing.correlation, len(hearing.leading)
    own = np.ones(M) if w is None else w[hearing.leading]
    order = np.argsort(-np.abs(own), kind="stable")
    D, k = C[np.ix_(order, order)], np.arange(1, M + 1)
    member = np.diag(D).cumsum() / k
    ensemble = np.diag(D.cumsum(axis=0).cumsum(axis=1)) / k**2
    shown = np.unique(np.linspace(0, M - 1, min(M, _MOST_SIZES)).round().astype(int))
    return {
        "size": k[shown].tolist(),
        "member": member[shown].tolist(),
        "ensemble": ensemble[shown].tolist(),
        "diversity": (member - ensemble)[shown].tolist(),
        "total": _own_terms(C, None if w is None else own),
        "alt": "Line chart of member error, diversity and ensemble error of growing "
        f"committees, largest weights first: with all {M} the members err by "
        f"{figures(member[-1])}, their mean by {figures(ensemble[-1])}.",
    }


def _own_terms(C: FloatArray, w: FloatArray | None) -> dict[str, Any] | None:
    """Return the terms of the committee's own weights, scaled to sum one.

    None where it does not average, or where scaling would turn the weights round.
    """
    if w is None or not w.sum() > 0:
        return None
    own = w / w.sum()
    member, ensemble = float(own @ np.diag(C)), float(own @ C @ own)
    return {
        "member": member,
        "ensemble": ensemble,
        "diversity": member - ensemble,
        "scaled": bool(abs(w.sum() - 1) > _ROUNDING),
    }


def confusion(hearing: Hearing) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, rarest ones joined.

    Rows of a rare class that were taken for a rare class may be right or wrong: only
    the first `n_named` labels have a cell of right ones.
    """
    y, said = hearing.rows.y, hearing.together.argmax(axis=1)
    labels = [str(label) for label in hearing.roster.classes]
    n_named = min(len(labels), _MOST_CLASSES)
    frequent = np.argsort(-np.bincount(y, minlength=len(labels)), kind="stable")
    if len(labels) > _MOST_CLASSES:
        shown = np.sort(frequent[:_MOST_CLASSES])
        place = np.full(len(labels), len(shown))
        place[shown] = np.arange(len(shown))
        rest = len(labels) - len(shown)
        y, said = place[y], place[said]
        labels = [labels[k] for k in shown] + [f"{rest} others"]
    counts = confusion_matrix(
        y, said, labels=np.arange(len(labels)), sample_weight=hearing.rows.weight
    )
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    share[n_named:, n_named:] = 0.0
    return {
        "labels": labels,
        "n_named": n_named,
        "counts": [[figures(c) for c in row] for row in counts.tolist()],
        "share": share.round(3).tolist(),
    }


def residuals(hearing: Hearing) -> dict[str, Any]:
    """Return predictions and what is left of the targets, for some of the rows."""
    said, left = hearing.together, hearing.rows.y - hearing.together
    return {
        "points": _points(said, left),
        "n_rows": len(said),
        "alt": "Residuals against predictions: half of them lie between "
        f"{figures(np.quantile(left, 0.25))} and {figures(np.quantile(left, 0.75))}, "
        f"all between {figures(left.min())} and {figures(left.max())}.",
    }


def _cloud(x: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Return points, or cells (x1, x2, y1, y2, count) where they are many."""
    if len(x) <= _MOST_POINTS:
        return {"points": _points(x, y), "cells": None}
    counts, across, up = np.histogram2d(x, y, bins=_GRID)
    i, j = np.nonzero(counts)
    cells = (across[i], across[i + 1], up[j], up[j + 1], counts[i, j])
    return {"points": None, "cells": np.column_stack(cells).tolist()}


def _points(x: FloatArray, y: FloatArray) -> list[list[float]]:
    """Return pairs of numbers, a random sample where they are many."""
    points = np.column_stack([x, y])
    if len(points) > _MOST_POINTS:
        rng = np.random.default_rng(0)
        points = points[rng.choice(len(points), _MOST_POINTS, replace=False)]
    listed: list[list[float]] = points.tolist()
    return listed
