"""Pictures and tables of the errors as JSON: classes, curves, residuals, coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline

from committee._format import NumberFormat, figures
from committee._typing import FloatArray
from committee.diagnostics.curves import precision_recall, roc
from committee.displays import IntervalDisplay, ReliabilityDisplay
from committee.displays.style import thin
from committee.losses import area_under_curve, effective_rows, mean_of, wilson
from committee.reporting.evaluation import EvaluatedMembers
from committee.reporting.member_charts import some_points

#: Largest numbers of classes in the confusion matrix and of classes with a curve.
_MOST_CLASSES, _MOST_CURVES = 100, 30
#: Largest number of points of a curve.
_MOST_POINTS = 200
#: Matrices with more classes than this have small cells.
_MOST_LARGE = 12
#: The requested coverage of intervals and sets, and their methods.
COVERAGE = 0.9
_METHODS = {"interval": ("scaled", "constant"), "set": ("lac", "aps")}

_SHARE = NumberFormat(100, 1, " %")
_AREA = NumberFormat(1, 3, "")
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
        pair = {key: evaluated.answers.get(key) for key in ("committee", "before")}
        wanted = [
            (key, 1, found.p)
            for key, found in pair.items()
            if found and found.p is not None
        ]
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
    area = f"{_AREA.text(areas[0])}"
    if K > 2:
        area = f"between {_AREA.text(min(areas))} and {_AREA.text(max(areas))}"
    what = f"of class {labels[1]}" if K == 2 else "of each class against the rest"
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
        "roc": rates[thin(len(rates), _MOST_POINTS)].tolist(),
        "pr": points[thin(len(points), _MOST_POINTS)].tolist(),
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
        within = mean_of(predicted[np.arange(len(y)), y].astype(np.float64), s)
        classes = mean_of(predicted.sum(axis=1).astype(np.float64), s)
        share, size = (within.value, within.se), (classes.value, classes.se)
    else:
        display: Any = IntervalDisplay(predicted, y, sample_weight=s)
        share = display.coverage, display.coverage_se
        size = display.width, display.width_se
    written = NumberFormat.of("size", size[0])
    line = {"share": _SHARE.spread(*share), "size": written.spread(*size)}
    return {"name": method, **line}
