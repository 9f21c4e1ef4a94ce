"""Intervals and sets of classes on the page's rows: how many they cover, how large."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee._typing import BoolArray, FloatArray
from committee.losses import mean_of
from committee.reporting.evaluation import EvaluatedMembers
from committee.reporting.number_format import NumberFormat

#: The share of targets that is asked for.
COVERAGE = 0.9
_METHODS = {"interval": ("scaled", "constant"), "set": ("lac", "aps")}
_SHARE = NumberFormat(100, 1, " %")


def coverage(committee: Any, core: Any, X: Any, evaluated: EvaluatedMembers) -> Any:
    """Return a line for each method: its name, what it covers, and its mean size.

    None where the committee keeps no held-out rows, or too few, and on rows that its
    members were trained on, which say nothing about others.
    """
    if evaluated.is_training or not getattr(core, "has_held_out_rows", False):
        return None
    if isinstance(committee, Pipeline):
        X = committee[:-1].transform(X)
    kind = "set" if evaluated.is_classifier else "interval"
    try:
        predict = getattr(core, f"predict_{kind}")  # intervals (N, 2), or sets (N, K)
        found = [
            (name, np.asarray(predict(X, COVERAGE, method=name)))
            for name in _METHODS[kind]
        ]
    except ValueError:  # too few rows for this coverage
        return None
    return {
        "asked": f"{COVERAGE:.0%}",
        "kind": kind,
        "lines": [_line(name, answer, evaluated) for name, answer in found],
    }


def _line(
    name: str, answer: FloatArray | BoolArray, evaluated: EvaluatedMembers
) -> dict[str, str]:
    """Return the share of targets within and the mean size, with standard errors."""
    y, s = np.asarray(evaluated.y), evaluated.sample_weight
    if evaluated.is_classifier:
        within, size = answer[np.arange(len(y)), y], answer.sum(axis=1)
    else:
        lower, upper = answer.T
        within, size = (lower <= y) & (y <= upper), upper - lower
    share = mean_of(within.astype(np.float64), s)
    mean = mean_of(size.astype(np.float64), s)
    return {
        "name": name,
        "share": _SHARE.spread(share.value, share.se),
        "size": NumberFormat.of("size", mean.value).spread(mean.value, mean.se),
    }
