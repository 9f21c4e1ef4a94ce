"""What the errors of a pruning path are, so that others can be measured alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_class_codes
from committee.combiners.base import Problem
from committee.combiners.evidence_pruner import EvidencePruner
from committee.combiners.greedy import GreedyPruner

GreedyPath = GreedyPruner
from committee.combiners.objectives import Scoring, row_score

#: Why the first members of a path seem to help more than they do.
UNHEARD = "rows on which nobody is heard count half"
#: How errors are found that are not left out or cross-fitted.
_WEIGHING = "on the weighing rows"


@dataclass(frozen=True)
class Measure:
    """What the errors of a path are.

    Attributes
    ----------
    kind : str
        "error rate", "mean squared error", "squared error of probabilities" or
        "minus ..." a score; "error" where it is not known.
    how : str
        "leave-one-out", "cross-fitted" or "on the weighing rows".
    note : str
        What else a reader should know; empty if nothing.
    scoring : str, callable or None
        The score, where the error is minus a score.
    """

    kind: str
    how: str
    note: str = ""
    scoring: Scoring | None = None

    @property
    def name(self) -> str:
        """Kind and how, in the order of speech."""
        if self.how == _WEIGHING:
            return f"{self.kind} {self.how}"
        return f"{self.how} {self.kind}"

    @property
    def squared(self) -> bool:
        """Whether the error of classes is that of their probabilities."""
        return "squared" in self.kind

    def errors(self, F: FloatArray, y: Any, committees: Sequence[Any]) -> FloatArray:
        """Return the error of each of many committees on other rows.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        y : array of shape (N,)
        committees : sequence of (members, weights)

        Returns
        -------
        error : array of shape (S,)
        """
        if self.scoring is not None:
            W = np.zeros((len(committees), F.shape[1]))
            for row, (m, w) in zip(W, committees, strict=True):
                row[m] = w
            return minus_scores(F, y, W, self.scoring)
        outputs = (np.tensordot(F[:, m], w, axes=(1, 0)) for m, w in committees)
        return np.array([error_of(f, y, squared=self.squared) for f in outputs])


def error_of(
    output: FloatArray, y: FloatArray | IntArray, *, squared: bool = False
) -> float:
    """Return the share of wrong rows of (N, K) scores, or the mean squared error.

    With `squared` that of scores is their squared distance from the one-hot targets.
    """
    if output.ndim == 1:
        return float(np.mean((output - y) ** 2))
    codes = check_class_codes(y, output.shape[1])
    if not squared:
        return float(np.mean(output.argmax(axis=1) != codes))
    return float(np.mean(((output - np.eye(output.shape[1])[codes]) ** 2).sum(axis=1)))


def error_name(F: FloatArray) -> str:
    """Return what `error_of` measures."""
    return "share of wrong rows" if F.ndim == 3 else "mean squared error"


def minus_scores(
    F: FloatArray,
    y: Any,
    W: FloatArray,
    scoring: Scoring,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return minus the score of many committees, W of shape (S, M)."""
    score = row_score(Problem(F, y, None, sample_weight), scoring)
    return np.array([score.error(w) for w in W])


def measure_of(path: Any, combiner: Any = None) -> Measure:
    """Return what the errors of a path are.

    Parameters
    ----------
    path : path
        Of a pruner or of a pruned committee.
    combiner : fitted combiner, optional
        The pruner that made it; without it less is known.

    Returns
    -------
    measure : Measure

    Examples
    --------
    >>> import numpy as np
    >>> from committee import EPPruner
    >>> from committee.displays.measures import measure_of
    >>> F = np.random.default_rng(0).normal(size=(30, 4))
    >>> pruner = EPPruner().fit(F, F.mean(axis=1))
    >>> measure_of(pruner.path_, pruner).name
    'leave-one-out mean squared error'
    """
    known = getattr(path, "measure", "")
    for how in ("leave-one-out", "cross-fitted"):
        if known.startswith(how):
            note = _note(combiner) if how == "leave-one-out" else ""
            return Measure(known.removeprefix(how).strip(), how, note)
    if isinstance(path, GreedyPath):
        return _greedy_measure(combiner)
    if hasattr(path, "loo_error"):
        kind = getattr(combiner, "loo_measure_", "error")
        return Measure(kind, "leave-one-out", _note(combiner))
    return Measure(known or _plain_kind(combiner), _WEIGHING)


def _greedy_measure(combiner: Any) -> Measure:
    """Return the squared error, or minus the score."""
    scoring = combiner.scoring if isinstance(combiner, GreedyPruner) else None
    if scoring is not None:
        name = scoring if isinstance(scoring, str) else "the score"
        return Measure(f"minus {name}", _WEIGHING, "", scoring)
    of_votes = getattr(combiner, "_n_classes", None) is not None
    kind = "squared error of probabilities" if of_votes else "mean squared error"
    return Measure(kind, _WEIGHING)


def _plain_kind(combiner: Any) -> str:
    """Return the error of equal votes."""
    if combiner is None:
        return "error"
    return "mean squared error" if combiner._n_classes is None else "error rate"


def _note(combiner: Any) -> str:
    """Say where votes were held out: a small committee is silent on many rows."""
    masked = isinstance(combiner, EvidencePruner) and combiner._heard < 1
    return UNHEARD if masked else ""
