"""Where a committee errs: classes, curves, probabilities, residuals, as JSON takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from committee._format import figures
from committee._typing import FloatArray
from committee.diagnostics.curves import (
    calibration_error,
    one_probability,
    precision_recall,
    reliability,
    roc,
)
from committee.displays.style import thin
from committee.losses import area_under_curve, effective_rows, wilson
from committee.reporting.charts import some_points
from committee.reporting.evaluation import EvaluatedMembers
from committee.reporting.number_format import NumberFormat

#: Classes that a matrix has a row for, and that have a curve.
_MOST_CLASSES = 40
_MOST_CURVES = 30
#: Points of a curve; the picture does not show more.
_MOST_POINTS = 200
#: More classes than these have small cells.
_MOST_LARGE = 12

_SHARE = NumberFormat(100, 1, " %")
_AREA = NumberFormat(1, 3, "")


def confusion(evaluated: EvaluatedMembers) -> dict[str, Any]:
    """Return how many rows of each class were taken for which, rarest ones joined.

    Rows of a rare class that were taken for a rare class may be right or wrong: only
    the first `n_named` labels have a cell of right ones.
    """
    y, predicted = evaluated.y, evaluated.own.predicted
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
        y,
        predicted,
        labels=np.arange(len(labels)),
        sample_weight=evaluated.sample_weight,
    )
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    share[n_named:, n_named:] = 0.0
    return {
        "labels": labels,
        "n_named": n_named,
        "small": len(labels) > _MOST_LARGE,
        "counts": [[figures(c) for c in row] for row in counts.tolist()],
        "share": share.round(3).tolist(),
    }


def classes(evaluated: EvaluatedMembers) -> list[dict[str, Any]]:
    """Return recall, precision, AUC and the worst confusion of each class, by lines.

    recall = TP / (TP + FN), with Wilson's 95 % interval;   precision = TP / (TP + FP)
    """
    y, own, s = evaluated.y, evaluated.own, evaluated.sample_weight
    labels = [str(label) for label in evaluated.roster.classes]
    counts = confusion_matrix(
        y, own.predicted, labels=np.arange(len(labels)), sample_weight=s
    )
    lines = []
    for k, label in enumerate(labels):
        of_class = y == k
        weight = np.ones(len(y)) if s is None else s
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
    """Return a number to sort by: what is not known comes last."""
    return -1.0 if np.isnan(x) else float(x)


def _confused(counts: FloatArray, k: int, labels: list[str]) -> tuple[str, str]:
    """Return what a class is most often taken for, and for which share of its rows."""
    wrong = counts[k].astype(np.float64)
    wrong[k] = 0.0
    if not wrong.any():
        return "", ""
    return labels[wrong.argmax()], _SHARE.text(wrong.max() / counts[k].sum())


def curves(evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return ROC and precision-recall curves; None without probabilities.

    Of two classes the second is positive, and the ensemble before pruning has a curve as
    well; of more each is against the rest.
    """
    own, y, s = evaluated.own, evaluated.y, evaluated.sample_weight
    if own.p is None:
        return None
    labels = [str(label) for label in evaluated.roster.classes]
    K = len(labels)
    weight = np.ones(len(y)) if s is None else s
    sizes = np.bincount(y, weight, minlength=K)
    if K == 2:
        answers = {
            key: evaluated.answers[key].p
            for key in ("committee", "before")
            if key in evaluated.answers
        }
        wanted = [(key, 1, p) for key, p in answers.items() if p is not None]
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
    """Return how often what had a probability came true, by bins of the probability.

    Of two classes the probability is that of the second, of more that of the class that
    is predicted.
    """
    own, y, s = evaluated.own, evaluated.y, evaluated.sample_weight
    if own.p is None:
        return None
    labels = [str(label) for label in evaluated.roster.classes]
    two = len(labels) == 2
    right, p, _ = one_probability(y, own.p)
    found = reliability(right, p, s)
    scores = evaluated.scores["committee"]
    shown = {
        "log-loss": scores["log-loss"],
        "Brier score": scores["Brier score"],
        "expected calibration error": calibration_error(right, p, s),
    }
    texts = {
        name: NumberFormat.of(name, max(score.value, score.se)).spread(
            score.value, score.se
        )
        for name, score in shown.items()
    }
    gap = np.abs(found.observed - found.predicted).max()
    return {
        "what": f"class {labels[1]}" if two else "the predicted class",
        "predicted": found.predicted.tolist(),
        "observed": found.observed.tolist(),
        "low": found.low.tolist(),
        "high": found.high.tolist(),
        "n_rows": found.n_rows.tolist(),
        "scores": texts,
        "alt": f"Reliability curve in {len(found.n_rows)} bins: predicted probability "
        f"and observed share are {_SHARE.text(gap)} apart at most.",
    }


def residuals(evaluated: EvaluatedMembers) -> dict[str, Any]:
    """Return predictions, targets and what is left of them, for some of the rows."""
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
