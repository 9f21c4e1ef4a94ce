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
from committee.pruning.summary import paired_difference

#: Standard errors by which a smaller committee must be better to be preferred: three,
#: since it is the best of up to 25 sizes.
_CLEARLY = 3.0
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
        Class codes, or numbers. Where nobody was heard what is known without a
        committee: the most frequent class, or the mean.
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
        self.own = _judged(
            F, rows, [(test, guess, own) for test, guess, own, _ in folds]
        )
        most = max(len(step.members) for *_, steps in folds for step in steps)
        for size in np.unique(np.geomspace(1, most, _SIZES).astype(int)):
            chosen = [
                (test, guess, _largest(steps, size)) for test, guess, _, steps in folds
            ]
            self.by_size[int(size)] = _judged(F, rows, chosen)

    def errors(self) -> dict[int, tuple[float, float]]:
        """Return the error and its standard error, by size, all on the same rows."""
        every = np.ones(len(self.rows.y), dtype=bool)
        return {
            size: self.rows.mean(self.rows.losses(judged.said), every)
            for size, judged in self.by_size.items()
        }

    def take(self, sizes: IntArray, within_se: float) -> int:
        """Return the size to take, of those given in rising order.

            d_k = mean_n L_kn - L_rn,   s_k its standard error,   r the largest size

        Members of one kind are the better the more there are, and neighbouring sizes
        differ by less than the noise. So r is taken, unless a smaller size is clearly
        better, d_k < -3 s_k: then the best of these. With `within_se` = t size is
        given up from there downwards, as long as the error is within t of its standard
        errors: a smaller size that passes below one that fails was lucky.
        """
        if not self.by_size:
            return int(sizes[-1])
        at = np.searchsorted(list(self.by_size), sizes, side="right") - 1
        losses = [self.rows.losses(judged.said) for judged in self.by_size.values()]
        gaps = [paired_difference(L, losses[at[-1]], self.rows.weight) for L in losses]
        gap, gap_se = np.array(gaps)[at].T
        clear = np.where(gap < -_CLEARLY * gap_se, gap, 0.0)
        best = int(np.flatnonzero(clear == clear.min())[-1])
        if within_se > 0:
            error, se = np.array(list(self.errors().values()))[at].T
            too_far = error[:best] > error[best] + within_se * se[best]
            best = int(np.flatnonzero([True, *too_far])[-1])
        return int(sizes[best])

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
) -> tuple[float, Step, list[Step]]:
    """Fit the combiner on training rows; return a guess, its choice, and its path."""
    part, F_train = rows.take(train), F[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once already, for all rows
        fitted = clone(combiner).fit(
            F_train, part.y, held_out=part.held_out, sample_weight=part.weight
        )
    steps = steps_of(fitted, part.error_of(F_train))
    own = chosen_step(fitted, steps, part.error_of(F_train))
    return part.guess(), own, steps


def _largest(steps: list[Step], size: int) -> Step:
    """Return the largest step up to a size, the best of equals; or the smallest."""
    sizes = [len(step.members) for step in steps]
    most = max((k for k in sizes if k <= size), default=min(sizes))
    equals = [step for step in steps if len(step.members) == most]
    return min(equals, key=lambda step: step.error)


def _judged(
    F: FloatArray, rows: Rows, chosen: list[tuple[IntArray, float, Step]]
) -> Judged:
    """Put together what the committees of the folds say."""
    said: Any = np.zeros(len(F), dtype=np.float64 if F.ndim == 2 else np.intp)
    speaks = np.zeros(len(F), dtype=bool)
    for test, guess, step in chosen:
        output, speaks[test] = rows.take(test).output(
            F[np.ix_(test, step.members)], step.weights, step.members
        )
        said[test] = np.where(speaks[test], decided(output), guess)
    return Judged(said, speaks)
