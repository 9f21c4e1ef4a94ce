"""What pruning is worth on rows that had no say in it.

Members that were chosen on some rows look better on these than they are, and leaving
a row out of the weights does not leave it out of the choice. So the combiner is fitted
again on folds of the same F, and each row is judged by a committee that was chosen
without it. The members themselves are not trained again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners import Combiner
from committee.pruning.path import Step, chosen_step, steps_of
from committee.pruning.rows import Rows, decided

#: Above this many rows two folds are enough, and cost no more than one more fit.
_MANY = 10_000
#: Sizes of committees that are judged, at most.
_SIZES = 25


@dataclass(frozen=True, eq=False)
class Judged:
    """What committees say on rows that did not choose them.

    Attributes
    ----------
    said : array of shape (N,)
        Class codes, or numbers.
    speaks : bool array of shape (N,)
        False where nobody was heard.
    """

    said: FloatArray | IntArray
    speaks: BoolArray


class CrossFit:
    """Committees of every size, each judged on the fold that did not choose it."""

    def __init__(self, combiner: Combiner, F: FloatArray, rows: Rows) -> None:
        self.rows = rows
        self.own: Judged | None = None
        self.by_size: dict[int, Judged] = {}
        try:
            folds = [
                (test, *_fold(combiner, F, rows, train))
                for train, test in _splits(rows)
            ]
        except ValueError:
            # Too few rows of a kind for folds: then there is nothing to report.
            return
        self.own = _judged(F, rows, [(test, own) for test, own, _ in folds])
        most = max(len(step.members) for _, _, steps in folds for step in steps)
        for size in np.unique(np.geomspace(1, most, _SIZES).astype(int)):
            chosen = [(test, _best(steps, size)) for test, _, steps in folds]
            self.by_size[int(size)] = _judged(F, rows, chosen)

    def errors(self) -> dict[int, tuple[float, float]]:
        """Return the error and its standard error, by size."""
        return {
            size: self.rows.mean(self.rows.losses(judged.said), judged.speaks)
            for size, judged in self.by_size.items()
            if judged.speaks.any()
        }

    def of_size(self, size: int) -> Judged | None:
        """Return what committees say of about this size, and not above it."""
        below = [known for known in self.by_size if known <= size]
        return self.by_size[max(below)] if below else None


def _splits(rows: Rows) -> list[tuple[IntArray, IntArray]]:
    """Return (train, test) rows of five folds, of two for many rows."""
    N = len(rows.y)
    n_splits = 2 if N > _MANY else 5
    by_class = rows.y.dtype.kind != "f" and np.bincount(rows.y).max() >= n_splits
    kind = StratifiedKFold if by_class else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = kind(n_splits, shuffle=True, random_state=0)
        return list(splits.split(np.zeros(N), rows.y))


def _fold(
    combiner: Combiner, F: FloatArray, rows: Rows, train: IntArray
) -> tuple[Step, list[Step]]:
    """Fit the combiner on the training rows; return its choice, and its path."""
    part, F_train = rows.take(train), F[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once already, for all rows
        fitted = clone(combiner).fit(
            F_train, part.y, held_out=part.held_out, sample_weight=part.weight
        )
    steps = steps_of(fitted, part.error_of(F_train))
    return chosen_step(fitted, steps, part.error_of(F_train)), steps


def _best(steps: list[Step], size: int) -> Step:
    """Return the step of least error up to a size, or the smallest there is."""
    fits = [step for step in steps if len(step.members) <= size]
    if not fits:
        return min(steps, key=lambda step: len(step.members))
    return min(fits, key=lambda step: step.error)


def _judged(F: FloatArray, rows: Rows, chosen: list[tuple[IntArray, Step]]) -> Judged:
    """Put together what the committees of the folds say."""
    said: Any = np.zeros(len(F), dtype=np.float64 if F.ndim == 2 else np.intp)
    speaks = np.zeros(len(F), dtype=bool)
    for test, step in chosen:
        output, speaks[test] = rows.take(test).output(
            F[np.ix_(test, step.members)], step.weights, step.members
        )
        said[test] = decided(output)
    return Judged(said, speaks)
