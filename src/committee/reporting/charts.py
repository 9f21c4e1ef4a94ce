"""Pictures and tables of the page as JSON: first the members, then the errors."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from committee._format import NumberFormat, count, figures
from committee._typing import FloatArray, IntArray
from committee.diagnostics import gate_usage
from committee.diagnostics.curves import precision_recall, roc
from committee.displays import (
    AmbiguityDisplay,
    GateDisplay,
    KappaErrorDisplay,
    PruningPathDisplay,
    ReliabilityDisplay,
    WeightsDisplay,
)
from committee.displays.diversity import shares_of
from committee.displays.sources import numbers_of, path_of
from committee.displays.style import thin
from committee.displays.weights import posterior_std
from committee.held_out import as_shares, share_unit
from committee.losses import area_under_curve, effective_rows, mean_of, wilson
from committee.reporting.evaluation import EvaluatedMembers

#: Largest numbers of bars, points, sizes and lines of a table that are drawn.
_MOST_BARS, _MOST_POINTS, _MOST_SIZES, _MOST_LINES = 30, 1500, 200, 30
#: Largest number of sizes on the slider of the path, and of members listed at each size.
_MOST_STEPS, _MOST_MEMBERS = 150, 40
#: Number of members with a colour of their own in the picture of a gate.
_MOST_COLOURS = 4


def path_chart(core: Any, evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return the pruning path; None if there is none.

    Lists have one entry for each size. `here` is the error on the rows of the page, NaN
    if members of the step are not available. `more` is the number of members that are not
    listed. `chosen` is a position in the lists.
    """
    path = path_of(core)
    members, w = evaluated.numbers, evaluated.roster.weights
    if path is None or w is None:
        return None
    display = PruningPathDisplay.compute(
        path,
        F_test=evaluated.F,
        y_test=evaluated.drawn_y,
        members=members,
        sample_weight=evaluated.drawn_weight,
    )
    own = np.zeros(path.weights.shape[1])
    own[members] = w
    chosen = path.chosen
    steps = _one_for_each_size(display, chosen)
    to_shares = evaluated.is_classifier and evaluated.roster.output != "scores"
    largest = [_largest(path.weights[step], to_shares) for step in steps]
    if chosen is not None:  # the weights in the table of members
        largest[steps.index(chosen)] = _largest(own, to_shares=False)
    on_rows = display.error_label.startswith("on ")
    of_steps = {"size": path.size, "error": display.error, "error_se": display.error_se}
    of_steps |= {"here": display.test_error, "bytes": path.n_bytes}
    columns: dict[str, Any] = {
        **{key: x if x is None else x[steps].tolist() for key, x in of_steps.items()},
        "members": [m.tolist() for m, _ in largest],
        "weights": [w.tolist() for _, w in largest],
        "more": [max(0, int(n) - _MOST_MEMBERS) for n in path.size[steps]],
        "measure": path.measure + (f" {display.error_label}" if on_rows else ""),
        "note": display.note,
        "chosen": None if chosen is None else steps.index(chosen),
    }
    error = display.error[np.isfinite(display.error)]
    written = NumberFormat.of(path.measure, float(error.min()) if len(error) else 0.0)
    return columns | {"format": written.as_json(), "alt": _path_alt(columns, written)}


def _one_for_each_size(display: PruningPathDisplay, chosen: int | None) -> list[int]:
    """Return the best step of each size, or the chosen one, in increasing order."""
    steps = display.best.tolist()
    if chosen is not None:
        sizes = display.size[display.best].tolist()
        steps[sizes.index(display.size[chosen])] = chosen
    shown = thin(len(steps), _MOST_STEPS)
    return [step for i, step in enumerate(steps) if i in shown or step == chosen]


def _largest(w: FloatArray, to_shares: bool) -> tuple[IntArray, FloatArray]:
    """Return the members with the largest weights, largest first, and their weights."""
    w = as_shares(w) if to_shares else w
    order = np.argsort(-np.abs(w), kind="stable")
    order = order[: min(_MOST_MEMBERS, np.count_nonzero(w))]
    return order, w[order]


def _path_alt(path: dict[str, Any], written: NumberFormat) -> str:
    """Return a description of the picture."""
    error, sizes = np.array(path["error"]), path["size"]
    least = int(np.nanargmin(error)) if np.isfinite(error).any() else 0
    text = (
        f"Line chart of the {path['measure']} against the number of members: "
        f"{written.text(error[0])} with {count(sizes[0], 'member')}, least "
        f"{written.text(error[least])} with {sizes[least]}, {written.text(error[-1])} "
        f"with {sizes[-1]}."
    )
    if path["chosen"] is not None:
        at = path["chosen"]
        text += f" Chosen: {sizes[at]} members at {written.text(error[at])}."
    note: str = path["note"]
    return f"{text} {note[0].upper()}{note[1:]}." if note else text


def weights(
    core: Any, names: list[str], means: FloatArray | None = None
) -> dict[str, Any] | None:
    """Return the largest weights with their posterior standard deviations, if known.

    `names` has the names of the members with a nonzero weight. `means` has the mean
    weights of a gate over the rows of the page.
    """
    w = getattr(core, "weights_", None) if means is None else means
    if w is None or not names:
        return None
    std = posterior_std(getattr(core, "combiner_", None)) if means is None else None
    if std is not None:
        std = std[numbers_of(core, len(w))]
    unit = share_unit(w)
    w, std = w / unit, None if std is None else std / unit
    display = WeightsDisplay(w, std=std, names=names)
    bars = display.bars[:_MOST_BARS]
    first = np.array([bar[0] for bar in bars], dtype=np.intp)
    shown = sum(len(bar) for bar in bars)
    who = "all have the same" if len(bars) == 1 < shown else None
    who = who or f"{names[first[0]]} has the largest"
    return {
        "names": [display.bar_name(bar) for bar in bars],
        "n_members": [len(bar) for bar in bars],
        "weight": w[first].tolist(),
        "std": None if std is None else std[first].tolist(),
        "more": len(display.order) - shown,
        "alt": f"Weights of {count(shown, 'member')}; {who}, {figures(w[first[0]])}.",
    }


def pairs(
    evaluated: EvaluatedMembers, kept: IntArray, names: list[str]
) -> dict[str, Any] | None:
    """Return agreement and error of the pairs of members; None for one member.

    For classes kappa against the mean error of the pair, for regression the correlation
    of the errors against the mean RMSE. Few pairs have names.
    """
    leading = evaluated.leading
    called = [names[m] for m in leading]
    if len(leading) < 2:
        return None
    if evaluated.is_classifier:
        label = "kappa: agreement beyond chance"
        display = KappaErrorDisplay.compute(
            evaluated.F[:, leading],
            evaluated.drawn_y,
            sample_weight=evaluated.drawn_weight,
            names=called,
        )
    else:
        label = "correlation of the errors"
        display = _correlated_pairs(evaluated, called)
    x, y, hull = display.kappa, display.error, display.hull
    ours = np.isin(leading[display.pairs], kept).all(axis=1)
    written = NumberFormat.of(evaluated.measure, float(y.min()))
    return {
        "x_label": label,
        "y_label": f"{evaluated.measure}, mean of the pair",
        "n_pairs": len(x),
        "n_others": int(np.count_nonzero(~ours)),
        "others": some_points(x[~ours], y[~ours]),
        "kept": some_points(x[ours], y[ours]),
        "hull": np.column_stack([x[hull], y[hull]]).tolist(),
        "labels": None if display.labels is None else _labels(display, called),
        "format": written.as_json(),
        "alt": f"{count(len(x), 'pair')} of members by their {label.split(':')[0]}, "
        f"from {figures(x.min())} to {figures(x.max())}, and the mean of their "
        f"{evaluated.measure}, {written.interval(y.min(), y.max())}.",
    }


def _labels(display: KappaErrorDisplay, names: list[str]) -> list[dict[str, Any]]:
    """Return the position of each pair and the names of its members."""
    assert display.pairs is not None
    places = zip(display.kappa.tolist(), display.error.tolist(), strict=True)
    return [
        {"x": x, "y": y, "names": [names[i], names[j]]}
        for (x, y), (i, j) in zip(places, display.pairs.tolist(), strict=True)
    ]


def _correlated_pairs(
    evaluated: EvaluatedMembers, names: list[str]
) -> KappaErrorDisplay:
    """Return the pairs of regressors, with the correlation of errors as kappa."""
    C, e = evaluated.correlation, evaluated.errors[evaluated.leading]
    scale = np.sqrt(np.where(np.diag(C) > 0, np.diag(C), 1.0))
    i, j = np.triu_indices(len(C), k=1)
    alike, pairs = C[i, j] / (scale[i] * scale[j]), np.column_stack([i, j])
    return KappaErrorDisplay(alike, (e[i] + e[j]) / 2, pairs=pairs, names=names)


def ambiguity(
    evaluated: EvaluatedMembers, w: FloatArray | None
) -> dict[str, Any] | None:
    """Return the ambiguity decomposition of the committee and of its first k members.

        ensemble error = member error - diversity:   w'Cw = sum_m w_m C_mm - diversity

    None for scores of boosting rounds, whose distance from the targets has no meaning,
    and for a log pool, which is not an average.
    """
    if evaluated.roster.output == "scores" or evaluated.roster.floor is not None:
        return None
    C, M = evaluated.correlation, len(evaluated.leading)
    own = np.ones(M) if w is None else w[evaluated.leading]
    order = np.argsort(-np.abs(own), kind="stable")
    order = order[: max(1, np.count_nonzero(own))]
    shares = None if w is None else shares_of(own)
    display = AmbiguityDisplay.compute(C, w=shares, order=order)
    shown = thin(len(order), _MOST_SIZES)
    member, ensemble = display.member_error, display.ensemble_error
    how = "weighted as in the committee" if shares is not None else "as equals"
    return {
        "size": display.size[shown].tolist(),
        "member": member[shown].tolist(),
        "ensemble": ensemble[shown].tolist(),
        "diversity": display.diversity[shown].tolist(),
        "weighted": shares is not None,
        "gated": evaluated.gate is not None,
        "alt": "Line chart of member error, diversity and ensemble error of growing "
        f"committees, largest weights first, {how}: with all {len(order)} the members "
        f"err by {figures(member[-1])}, together by {figures(ensemble[-1])}.",
    }


def some_points(x: FloatArray, y: FloatArray) -> list[list[float]]:
    """Return pairs of numbers, a random sample if there are many."""
    listed: list[list[float]] = np.column_stack([x, y])[_some_of(len(x))].tolist()
    return listed


def _some_of(n: int) -> IntArray:
    """Return the numbers 0..n-1, or a random sample of them that can be drawn."""
    if n <= _MOST_POINTS:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, _MOST_POINTS, replace=False)


def gate(
    evaluated: EvaluatedMembers, X: Any, names: list[str]
) -> dict[str, Any] | None:
    """Return shares, entropy, and a picture of the gate; None without a gate.

    The picture is None if X has no two columns of numbers that vary, or if one member
    has the largest weight on all rows.
    """
    G = evaluated.gate
    if G is None:
        return None
    usage = gate_usage(G)
    order = np.argsort(-usage.share, kind="stable")
    picture = None
    with suppress(ValueError):  # no two columns of numbers that vary
        display = GateDisplay.compute(G, X, names=names)
        picture = _gate_picture(display) if np.ptp(display.winner) else None
    share, top = usage.answers[order[0]], order[:_MOST_LINES]
    numbers = usage.share[top].tolist(), usage.answers[top].tolist()
    return {
        "entropy": usage.entropy,
        "fixed": bool(np.all(G[0] == G)),
        "n_members": len(names),
        "lines": [
            {"name": name, "share": share, "answers": answers}
            for name, share, answers in zip(
                [names[m] for m in top], *numbers, strict=True
            )
        ],
        "picture": picture,
        "alt": "Scatter plot of rows by the member with the largest weight; "
        f"{names[order[0]]} has it on {share:.0%} of {count(len(G), 'row')}.",
    }


def _gate_picture(display: GateDisplay) -> dict[str, Any]:
    """Return points (x, y, weight) of each member with a colour, and of the others."""
    rows = _some_of(len(display.points))
    winner = display.winner[rows]
    coloured = [m for m in display.order[:_MOST_COLOURS] if np.any(winner == m)]
    groups = [(display.names[m], winner == m) for m in coloured]
    others = ~np.isin(winner, coloured)
    if others.any():
        groups.append(("others", others))
    values = np.column_stack([display.points, display.weight])[rows]
    return {
        "x_label": display.labels[0],
        "y_label": display.labels[1],
        "n_shown": len(rows),
        "groups": [
            {"name": name, "rest": of is others, "points": values[of].tolist()}
            for name, of in groups
        ],
    }


#: Largest numbers of classes in the confusion matrix and of classes with a curve.
_MOST_CLASSES, _MOST_CURVES = 100, 30
#: Largest number of points of a curve.
_MOST_ON_CURVE = 200
#: Matrices with more classes than this have small cells.
_MOST_LARGE = 12
#: The requested coverage of intervals and sets, and their methods.
COVERAGE = 0.9
_METHODS = {"interval": ("scaled", "constant"), "set": ("lac", "aps")}

_SHARE = NumberFormat(100, 1, " %")
_AREA = NumberFormat(1, 3, "")
_WITH_CURVES = ("committee", "before")
_PROBABILITY_SCORES = ("log-loss", "Brier score")


def _confusions(evaluated: EvaluatedMembers) -> FloatArray:
    """Return the weights of the rows by class and predicted class, (K, K)."""
    counts: FloatArray = confusion_matrix(
        evaluated.y,
        evaluated.own.predicted,
        labels=np.arange(len(evaluated.roster.classes)),
        sample_weight=evaluated.sample_weight,
    )
    return counts


def confusion(evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return the confusion matrix; None for more than 100 classes."""
    labels = [str(label) for label in evaluated.roster.classes]
    if len(labels) > _MOST_CLASSES:
        return None
    counts = _confusions(evaluated)
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    return {
        "labels": labels,
        "small": len(labels) > _MOST_LARGE,
        "counts": [[figures(c) for c in row] for row in counts.tolist()],
        "share": share.round(3).tolist(),
    }


def classes(evaluated: EvaluatedMembers) -> list[dict[str, Any]]:
    """Return recall, precision, AUC and most frequent confusion, a line for each class.

    recall = TP / (TP + FN), with Wilson's 95 % interval;   precision = TP / (TP + FP)
    """
    y, own, s = evaluated.y, evaluated.own, evaluated.sample_weight
    labels = [str(label) for label in evaluated.roster.classes]
    weight = np.ones(len(y)) if s is None else s
    counts, lines = _confusions(evaluated), []
    for k, label in enumerate(labels):
        of_class = y == k
        size, taken = counts[k].sum(), counts[:, k].sum()
        recall = counts[k, k] / size if size > 0 else np.nan
        precision = counts[k, k] / taken if taken > 0 else np.nan
        area = np.nan
        if own.p is not None and 0 < weight[of_class].sum() < weight.sum():
            area = area_under_curve(of_class, own.p[:, k], s).value
        n = effective_rows(weight[of_class], 0) if size > 0 else 0.0
        ends = wilson(float(recall), n) if n else (np.nan, np.nan)
        lines.append(
            {
                "number": k,
                "name": label,
                "rows": (float(size), figures(size)),
                "recall": (_sortable(recall), _SHARE.text(recall)),
                "interval": (_sortable(ends[0]), _SHARE.interval(*ends)),
                "precision": (_sortable(precision), _SHARE.text(precision)),
                "area": (_sortable(area), _AREA.text(area)),
                "confused": _confused(counts, k, labels),
            }
        )
    return lines


def _sortable(x: float) -> float:
    """Return a number to sort by; NaN comes last."""
    return -1.0 if np.isnan(x) else float(x)


def _confused(counts: FloatArray, k: int, labels: list[str]) -> tuple[str, str]:
    """Return the most frequent wrong prediction of a class, and its share of the rows."""
    wrong = counts[k].astype(np.float64)
    wrong[k] = 0.0
    if not wrong.any():
        return "", ""
    return labels[wrong.argmax()], _SHARE.text(wrong.max() / counts[k].sum())


def curves(evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return ROC and precision-recall curves; None without probabilities.

    For two classes the second is positive, and the ensemble before pruning has a curve as
    well. For more classes each has a curve against the rest.
    """
    own, y, s = evaluated.own, evaluated.y, evaluated.sample_weight
    if own.p is None:
        return None
    labels = [str(label) for label in evaluated.roster.classes]
    K = len(labels)
    weight = np.ones(len(y)) if s is None else s
    sizes = np.bincount(y, weight, minlength=K)
    if K == 2:
        answers = evaluated.answers
        pair = [(key, 1, answers[key].p) for key in answers if key in _WITH_CURVES]
        wanted = [(key, k, p) for key, k, p in pair if p is not None]
    else:
        frequent = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_CURVES])
        wanted = [(labels[k], int(k), own.p) for k in frequent]
    lines = [
        _curves_of(name, y == k, p[:, k], s)
        for name, k, p in wanted
        if 0 < sizes[k] < weight.sum()
    ]
    if not lines:
        return None
    areas = [line["area"] for line in lines]
    area, what = _AREA.text(areas[0]), f"of class {labels[1]}"
    if K > 2:
        area = f"between {_AREA.text(min(areas))} and {_AREA.text(max(areas))}"
        what = "of each class against the rest"
    return {
        "lines": lines,
        "positive": labels[1] if K == 2 else None,
        "share": float(sizes[1] / weight.sum()) if K == 2 else None,
        "n_classes": K,
        "roc_alt": f"ROC curves {what}: the area under them is {area}.",
        "pr_alt": f"Curves of precision against recall {what}: the average precision is "
        f"{_AREA.text(min(line['average'] for line in lines))} or more.",
    }


def _curves_of(name: str, positive: Any, p: FloatArray, s: Any) -> dict[str, Any]:
    """Return both curves of one class against the rest."""
    rates, (points, average) = roc(positive, p, s), precision_recall(positive, p, s)
    return {
        "name": name,
        "roc": rates[thin(len(rates), _MOST_ON_CURVE)].tolist(),
        "pr": points[thin(len(points), _MOST_ON_CURVE)].tolist(),
        "area": area_under_curve(positive, p, s).value,
        "average": average,
    }


def calibration(evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return the reliability curve and scores of the probabilities; None without them."""
    own = evaluated.own
    if own.p is None:
        return None
    display = ReliabilityDisplay.compute(
        own.p, evaluated.y, sample_weight=evaluated.sample_weight
    )
    curve, scores = display.curve, evaluated.scores["committee"]
    shown = {
        name: (scores[name].value, scores[name].se) for name in _PROBABILITY_SCORES
    }
    shown["expected calibration error"] = (display.ece, display.ece_se)
    labels = evaluated.roster.classes
    return {
        "what": f"class {labels[1]}" if len(labels) == 2 else "the predicted class",
        **{name: values.tolist() for name, values in curve._asdict().items()},
        "scores": {
            name: NumberFormat.of(name, max(spread)).spread(*spread)
            for name, spread in shown.items()
        },
        "alt": f"Reliability curve in {len(curve.n_rows)} bins: predicted probability "
        "and observed share differ by at most "
        f"{_SHARE.text(np.abs(curve.observed - curve.predicted).max())}.",
    }


def residuals(evaluated: EvaluatedMembers) -> dict[str, Any]:
    """Return residuals against predictions for a sample of the rows."""
    predicted, y = evaluated.own.predicted, evaluated.y
    left = y - predicted
    return {
        "points": some_points(predicted, left),
        "n_rows": len(predicted),
        "alt": "Residuals against predictions: half of them lie between "
        f"{figures(np.quantile(left, 0.25))} and {figures(np.quantile(left, 0.75))}, "
        f"all between {figures(left.min())} and {figures(left.max())}.",
        "truth_alt": "Predictions against targets, from "
        f"{figures(predicted.min())} to {figures(predicted.max())} where targets go "
        f"from {figures(y.min())} to {figures(y.max())}.",
    }


def coverage(committee: Any, core: Any, X: Any, evaluated: EvaluatedMembers) -> Any:
    """Return coverage and mean size of intervals or sets, a line for each method.

    None if the committee has no held-out rows, or too few of them, and on rows that its
    members were trained on.
    """
    if evaluated.is_training or not getattr(core, "has_held_out_rows", False):
        return None
    if isinstance(committee, Pipeline):
        X = committee[:-1].transform(X)
    kind = "set" if evaluated.is_classifier else "interval"
    try:
        predict = getattr(core, f"predict_{kind}")  # intervals (N, 2), or sets (N, K)
        found = {m: np.asarray(predict(X, COVERAGE, method=m)) for m in _METHODS[kind]}
    except ValueError:  # too few rows for this coverage
        return None
    return {
        "asked": f"{COVERAGE:.0%}",
        "kind": kind,
        "lines": [_covered(*item, evaluated) for item in found.items()],
    }


def _covered(
    method: str, predicted: Any, evaluated: EvaluatedMembers
) -> dict[str, str]:
    """Return the covered share and the mean size with their standard errors."""
    y, s = evaluated.y, evaluated.sample_weight
    if evaluated.is_classifier:
        right, size = predicted[np.arange(len(y)), y], predicted.sum(axis=1)
    else:
        low, high = predicted.T
        right, size = (low <= y) & (y <= high), high - low
    share, mean = (mean_of(x.astype(np.float64), s) for x in (right, size))
    written = NumberFormat.of("size", mean.value).spread(mean.value, mean.se)
    return {
        "name": method,
        "share": _SHARE.spread(share.value, share.se),
        "size": written,
    }
