"""The numbers of the displays as JSON takes them, and a sentence for each picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from committee._format import count, figures
from committee._typing import FloatArray, IntArray
from committee.displays import (
    AmbiguityDisplay,
    KappaErrorDisplay,
    PruningPathDisplay,
    WeightsDisplay,
)
from committee.displays.sources import numbers_of, path_of
from committee.displays.style import thin
from committee.displays.weights import posterior_std
from committee.path import Path
from committee.reporting.evaluation import EvaluatedMembers

_MOST_BARS = 30
_MOST_POINTS = 1500
_MOST_SIZES = 200
_MOST_CLASSES = 15
#: Sizes on the slider of the path, and members listed at each of them.
_MOST_STEPS = 150
_MOST_MEMBERS = 40
#: How far from one a sum of weights may be that is one.
_ROUNDING = 1e-6
#: Cells of the grid that counts pairs where there are too many to draw.
_GRID = (44, 30)


def path_chart(core: Any, evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return the committees that a pruner went through, None where there is no path.

    Lists have one entry for each size: `here` is the error on the rows of the page, None
    where members of the step are missing; `more` members are not listed; `chosen` is a
    position.
    """
    path = path_of(core)
    if path is None:
        return None
    members = numbers_of(core, len(evaluated.errors))
    display = PruningPathDisplay.compute(
        path,
        F_test=evaluated.F,
        y_test=evaluated.drawn_y,
        members=members,
        sample_weight=evaluated.drawn_weight,
    )
    chosen = _chosen_step(path, members, core.weights_)
    steps = _one_for_each_size(display, chosen)
    largest = [_largest(path.weights[step]) for step in steps]
    se, here = display.error_se, display.test_error
    on_rows = display.error_label.startswith("on ")
    columns: dict[str, Any] = {
        "size": path.size[steps].tolist(),
        "error": display.error[steps].tolist(),
        "error_se": None if se is None else se[steps].tolist(),
        "here": None if here is None else here[steps].tolist(),
        "bytes": None if path.n_bytes is None else path.n_bytes[steps].tolist(),
        "members": [m.tolist() for m, _ in largest],
        "weights": [w.tolist() for _, w in largest],
        "more": [max(0, int(n) - _MOST_MEMBERS) for n in path.size[steps]],
        "measure": path.measure + (f" {display.error_label}" if on_rows else ""),
        "note": display.note,
        "chosen": None if chosen is None else steps.index(chosen),
    }
    return {**columns, "alt": _path_alt(columns)}


def _chosen_step(path: Path, members: IntArray, w: FloatArray) -> int | None:
    """Return the step of the path that is the committee itself."""
    own = np.zeros(path.weights.shape[1])
    own[members] = w
    same = np.flatnonzero(((path.weights != 0) == (own != 0)).all(axis=1))
    close = [step for step in same if np.allclose(path.weights[step], own)]
    return int([*close, *same][0]) if len(same) else None


def _one_for_each_size(display: PruningPathDisplay, chosen: int | None) -> list[int]:
    """Return the best step of each size, or the chosen one, in rising order."""
    steps = display.best.tolist()
    if chosen is not None:
        sizes = display.size[display.best].tolist()
        steps[sizes.index(display.size[chosen])] = chosen
    shown = thin(len(steps), _MOST_STEPS)
    return [step for i, step in enumerate(steps) if i in shown or step == chosen]


def _largest(w: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the members with the largest weights, largest first, and the weights."""
    order = np.argsort(-np.abs(w), kind="stable")
    order = order[: min(_MOST_MEMBERS, np.count_nonzero(w))]
    return order, w[order]


def _path_alt(path: dict[str, Any]) -> str:
    """Return the picture as a sentence."""
    error, sizes = np.array(path["error"]), path["size"]
    least = int(np.nanargmin(error)) if np.isfinite(error).any() else 0
    text = (
        f"Line chart of the {path['measure']} against the number of members: "
        f"{figures(error[0])} with {count(sizes[0], 'member')}, least "
        f"{figures(error[least])} with {sizes[least]}, {figures(error[-1])} with "
        f"{sizes[-1]}."
    )
    if path["chosen"] is not None:
        at = path["chosen"]
        text += f" Chosen: {sizes[at]} members at {figures(error[at])}."
    note: str = path["note"]
    return f"{text} {note[0].upper()}{note[1:]}." if note else text


def weights(core: Any, names: list[str]) -> dict[str, Any] | None:
    """Return the largest weights, with their posterior spread where it is known."""
    w = getattr(core, "weights_", None)
    if w is None:
        return None
    std = posterior_std(getattr(core, "combiner_", None))
    if std is not None:
        std = std[numbers_of(core, len(w))]
    display = WeightsDisplay(w, std=std, names=names)
    order = display.order[:_MOST_BARS]
    return {
        "names": [display.names[m] for m in order],
        "weight": w[order].tolist(),
        "std": None if std is None else std[order].tolist(),
        "more": len(display.order) - len(order),
        "alt": f"Weights of {count(len(order), 'member')}; {names[order[0]]} has the "
        f"largest, {figures(w[order[0]])}.",
    }


def pairs(evaluated: EvaluatedMembers, kept: IntArray) -> dict[str, Any] | None:
    """Return how alike the pairs of members are, and how good.

    For classes kappa against the mean error of the pair; for regression the
    correlation of their errors against their mean squared error.
    """
    leading = evaluated.leading
    if len(leading) < 2:
        return None
    if evaluated.output.ndim == 2:
        label = "kappa: agreement beyond chance"
        display = KappaErrorDisplay.compute(
            evaluated.F[:, leading],
            evaluated.drawn_y,
            sample_weight=evaluated.drawn_weight,
        )
    else:
        label = "correlation of the errors"
        display = _correlated_pairs(evaluated)
    x, y, hull = display.kappa, display.error, display.hull
    ours = np.isin(leading[display.pairs], kept).all(axis=1)
    return {
        "x_label": label,
        "y_label": f"{evaluated.measure}, mean of the pair",
        "n_pairs": len(x),
        "n_others": int(np.count_nonzero(~ours)),
        **_cloud(x[~ours], y[~ours]),
        "kept": _points(x[ours], y[ours]),
        "hull": np.column_stack([x[hull], y[hull]]).tolist(),
        "alt": f"{count(len(x), 'pair')} of members by their {label.split(':')[0]}, "
        f"from {figures(x.min())} to {figures(x.max())}, and the mean of their "
        f"{evaluated.measure}s, from {figures(y.min())} to {figures(y.max())}.",
    }


def _correlated_pairs(evaluated: EvaluatedMembers) -> KappaErrorDisplay:
    """Return the pairs of regressors, with the correlation of errors for kappa."""
    C, e = evaluated.correlation, evaluated.errors[evaluated.leading]
    scale = np.sqrt(np.diag(C))
    scale = np.where(scale > 0, scale, 1.0)
    i, j = np.triu_indices(len(C), k=1)
    alike = C[i, j] / (scale[i] * scale[j])
    return KappaErrorDisplay(alike, (e[i] + e[j]) / 2, pairs=np.column_stack([i, j]))


def ambiguity(
    evaluated: EvaluatedMembers, w: FloatArray | None
) -> dict[str, Any] | None:
    """Return the ambiguity decomposition of the committee and of growing ones.

        ensemble error = member error - diversity:   w'Cw = sum_m w_m C_mm - diversity

    None where members give scores, whose distance from the targets has no meaning.
    """
    if evaluated.roster.votes == "scores":
        return None
    C, M = evaluated.correlation, len(evaluated.leading)
    own = np.ones(M) if w is None else w[evaluated.leading]
    order = np.argsort(-np.abs(own), kind="stable")
    display = AmbiguityDisplay.from_correlation(C, order)
    shown = thin(M, _MOST_SIZES)
    member, ensemble = display.member_error, display.ensemble_error
    return {
        "size": display.size[shown].tolist(),
        "member": member[shown].tolist(),
        "ensemble": ensemble[shown].tolist(),
        "diversity": display.diversity[shown].tolist(),
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


def confusion(evaluated: EvaluatedMembers) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, rarest ones joined.

    Rows of a rare class that were taken for a rare class may be right or wrong: only
    the first `n_named` labels have a cell of right ones.
    """
    y, predicted = evaluated.rows.y, evaluated.output.argmax(axis=1)
    labels = [str(label) for label in evaluated.roster.classes]
    n_named = min(len(labels), _MOST_CLASSES)
    frequent = np.argsort(-np.bincount(y, minlength=len(labels)), kind="stable")
    if len(labels) > _MOST_CLASSES:
        shown = np.sort(frequent[:_MOST_CLASSES])
        place = np.full(len(labels), len(shown))
        place[shown] = np.arange(len(shown))
        rest = len(labels) - len(shown)
        y, predicted = place[y], place[predicted]
        labels = [labels[k] for k in shown] + [f"{rest} others"]
    counts = confusion_matrix(
        y, predicted, labels=np.arange(len(labels)), sample_weight=evaluated.rows.weight
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


def residuals(evaluated: EvaluatedMembers) -> dict[str, Any]:
    """Return predictions and what is left of the targets, for some of the rows."""
    predicted, left = evaluated.output, evaluated.rows.y - evaluated.output
    return {
        "points": _points(predicted, left),
        "n_rows": len(predicted),
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
