"""What is predicted for the rows of a page: by the committee, and by what it is beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee._validation import label_codes
from committee.ensembles import Roster
from committee.probabilities import as_probabilities, softmax_probabilities

#: Answers that are compared, in the order of the page: the committee, the ensemble
#: before pruning, equal votes of the kept members, the best member, a constant.
ANSWERS = ("committee", "before", "equal", "best", "constant")


@dataclass(frozen=True, eq=False)
class Answer:
    """What is predicted for the rows, in one of several ways.

    Attributes
    ----------
    predicted : array of shape (N,)
        Class codes, or numbers.
    p : array of shape (N, K) or None
        Probabilities of classes, where there are.
    """

    predicted: Any
    p: FloatArray | None = None


def answer(roster: Roster, output: FloatArray) -> Answer:
    """Return what weighted sums (N,) or (N, K) predict."""
    if output.ndim == 1:
        return Answer(output)
    if roster.probabilities is not None:
        p = roster.probabilities(output)
    elif roster.output == "scores":
        p = softmax_probabilities(output)
    else:
        p = as_probabilities(output)
    return Answer(output.argmax(axis=1), p)


def own_answer(ensemble: Any, roster: Roster, X: Any, output: FloatArray) -> Answer:
    """Return what an ensemble predicts itself, from its weighted sums if it averages."""
    if roster.weights is not None and roster.classes is None:
        return Answer(output)
    if roster.weights is not None and not (
        roster.probabilities is None and hasattr(ensemble, "predict_proba")
    ):
        found = answer(roster, output)
        if found.p is None or _keeps_order(ensemble):
            return found
        return Answer(found.p.argmax(axis=1), found.p)
    p = None
    if roster.classes is not None and hasattr(ensemble, "predict_proba"):
        p = np.asarray(ensemble.predict_proba(X), dtype=np.float64)
    if roster.weights is not None:
        return Answer(output.argmax(axis=1), p)
    predicted = np.asarray(ensemble.predict(X))
    if roster.classes is None:
        return Answer(predicted.astype(np.float64))
    return Answer(label_codes(predicted, np.asarray(roster.classes)), p)


def _keeps_order(ensemble: Any) -> bool:
    """Whether the largest sum decides: not with a slope for each class."""
    found = getattr(ensemble, "calibration_", None)
    return found is None or bool(found.keeps_order)


def constant(y: Any, s: FloatArray | None, classes: Any) -> Answer:
    """Return the most frequent class with the shares of all, or the mean."""
    N = len(y)
    if classes is None:
        return Answer(np.full(N, np.average(y, weights=s)))
    shares = np.bincount(y, s, minlength=len(classes))
    p = np.broadcast_to(shares / shares.sum(), (N, len(shares)))
    return Answer(np.full(N, int(shares.argmax())), p)
