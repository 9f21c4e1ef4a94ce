"""What committees are worth on rows that had no say in them.

Members that were chosen on some rows look better on these than they are, and leaving
a row out of the weights does not leave it out of the choice. So the combiner is fitted
again on folds of the same F, and each row is predicted by a committee that was chosen
without it. The members themselves are not trained again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import safe_indexing
from committee.combiners import Combiner
from committee.diagnostics.missing_votes import FilledVotes
from committee.gates import Gate
from committee.predictions import weighted_by_row
from committee.probabilities import pooled_terms
from committee.weighing_rows import WeighingRows, decided

#: Above this many rows two folds are enough, and cost no more than one more fit.
_MANY = 10_000
#: Sizes of committees that are evaluated, at most.
_SIZES = 25


class Predicted(NamedTuple):
    """What a committee predicts, if all of its members voted, and its losses.

    Attributes
    ----------
    values : array of shape (N,)
        Class codes, or numbers; missing votes are filled. Where nobody
        votes what is known without a committee: the most frequent class, or the mean.
    losses : array of shape (N,)
        Expected: see `FilledVotes.losses`.
    counted : bool array of shape (N,)
        False where no member of the whole ensemble votes.
    output : array of shape (N,) or (N, K)
        The weighted sums.
    variance : array of shape (N,) or None
        That of the margins of `output`, for classes.
    p : array of shape (N, K) or None
        What the combiner makes of the sums, for classes; None where it is not known.
    weights : list of (rows, array of shape (M,))
        By which weights the rows are predicted.
    """

    values: FloatArray | IntArray
    losses: FloatArray
    counted: BoolArray
    output: FloatArray
    variance: FloatArray | None = None
    p: FloatArray | None = None
    weights: Sequence[tuple[IntArray, FloatArray]] = ()

    @classmethod
    def of(cls, votes: FilledVotes, w: FloatArray) -> Self:
        """Return the predictions of weights (M,)."""
        output = votes.output(w)
        variance = None if output.ndim == 1 else votes.margin_variance(w)
        found = decided(output), votes.losses(w), votes.counted, output, variance
        return cls(*found, weights=[(np.arange(len(output)), w)])

    def in_units(self, u: float) -> Self:
        """Return the same with the sums of weights that are u times as large."""
        variance = None if self.variance is None else u**2 * self.variance
        return self._replace(output=u * self.output, variance=variance)


class _Fold(NamedTuple):
    """A combiner fitted without some rows, and the prediction without members."""

    test: IntArray
    baseline: float
    combiner: Combiner


class CrossFit:
    """Committees of every size, each evaluated on the fold that did not choose it.

    Attributes
    ----------
    votes : FilledVotes
        F of all rows, or its logarithms, with missing votes filled.
    own : Predicted or None
        Of the combiner's own choice in each fold; None if there are too few rows for
        folds.
    """

    def __init__(self, combiner: Combiner, F: FloatArray, rows: WeighingRows) -> None:
        terms = pooled_terms(F, combiner.floor_)
        self.votes = FilledVotes.of(terms, rows.y, rows.held_out)
        self.own: Predicted | None = None
        self._folds: list[_Fold] = []
        splits = _splits(rows)
        if not splits or any(_is_empty(rows.take(train)) for train, _ in splits):
            return
        self._folds = [
            _Fold(test, *_fitted(combiner, F, rows, train)) for train, test in splits
        ]
        own = [fold.combiner.weights_ for fold in self._folds]
        self.own = _predicted(self.votes, self._folds, own)

    @cached_property
    def by_size(self) -> dict[int, Predicted]:
        """What the committees of up to some 25 sizes predict."""
        paths = [_path(fold.combiner) for fold in self._folds]
        most = max((np.count_nonzero(W, axis=1).max() for W, _ in paths), default=0)
        sizes = np.unique(np.geomspace(1, max(most, 1), _SIZES).astype(int))
        chosen = {int(size): [_largest(*p, size) for p in paths] for size in sizes}
        return {
            size: _predicted(self.votes, self._folds, weights)
            for size, weights in chosen.items()
            if self._folds
        }

    def probabilities(self) -> FloatArray:
        """Return what the combiners of the folds make of their own weighted sums."""
        if self.own is None or self.own.p is None:  # too few rows for folds
            return np.zeros((len(self.votes.F), self.votes.F.shape[2]))
        return self.own.p

    def weights(self, size: int | None = None) -> list[tuple[IntArray, FloatArray]]:
        """Return rows and the weights (M,) that were found without them, by fold.

        Those of the combiner's own choice, or of its path up to a size.
        """
        if size is None:
            return [(test, fitted.weights_) for test, _, fitted in self._folds]
        return [
            (test, _largest(*_path(fitted), size)) for test, _, fitted in self._folds
        ]

    def of_size(self, size: int) -> Predicted | None:
        """Return the predictions of committees of about this size, and not above it.

        No members at all are in the smallest ones, where that is what folds have found.
        """
        if not self.by_size:
            return None
        below = [known for known in self.by_size if known <= size]
        return self.by_size[max(below, default=min(self.by_size))]


def _splits(rows: WeighingRows) -> list[tuple[IntArray, IntArray]]:
    """Return (train, test) rows of five folds, of two for many rows, none for few."""
    N = len(rows.y)
    n_splits = 2 if N > _MANY else 5
    if n_splits > N:
        return []
    by_class = rows.y.dtype.kind != "f" and np.bincount(rows.y).max() >= n_splits
    kind = StratifiedKFold if by_class else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = kind(n_splits, shuffle=True, random_state=0)
        return list(splits.split(np.zeros(N), rows.y))


def _is_empty(rows: WeighingRows) -> bool:
    """Whether no member has a vote on any of the rows, or none of them counts."""
    voteless = rows.held_out is not None and not rows.held_out.any()
    return voteless or (rows.weight is not None and not rows.weight.any())


def _fitted(
    combiner: Combiner, F: FloatArray, rows: WeighingRows, train: IntArray
) -> tuple[float, Combiner]:
    """Return the prediction without members, and the combiner fitted on some rows."""
    part = rows.take(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows has warned already
        fitted = clone(combiner).fit(
            F[train], part.y, held_out=part.held_out, sample_weight=part.weight
        )
    return part.baseline(), fitted


def _path(combiner: Combiner) -> tuple[FloatArray, FloatArray]:
    """Return weights (S, M) and errors (S,) of a combiner's path, or its only point."""
    path = getattr(combiner, "path_", None)
    if path is None:
        return combiner.weights_[None], np.zeros(1)
    return path.weights, path.own_error


def _largest(W: FloatArray, error: FloatArray, size: int) -> FloatArray:
    """Return the largest committee up to a size, the best of equals; or the smallest."""
    sizes = np.count_nonzero(W, axis=1)
    most = max(sizes[sizes <= size], default=sizes.min())
    equals = np.where(sizes == most, np.nan_to_num(error, nan=0.0), np.inf)
    best: FloatArray = W[int(equals.argmin())]
    return best


def _predicted(
    votes: FilledVotes, folds: list[_Fold], weights: list[FloatArray]
) -> Predicted:
    """Put together what the committees of the folds predict."""
    N, K = len(votes.F), votes.F.shape[2:]
    values: Any = np.zeros(N, dtype=np.intp if K else np.float64)
    losses, variance = np.zeros((2, N))
    output, p = np.zeros((2, N, *K))
    for (test, baseline, combiner), w in zip(folds, weights, strict=True):
        part = Predicted.of(votes.take(test), as_shares(w) if K else w)
        values[test] = np.where(part.counted, part.values, baseline)
        losses[test], output[test] = part.losses, part.output
        if part.variance is not None:
            variance[test] = part.variance
            p[test] = combiner.probabilities(share_unit(w) * part.output)
    of_classes = (variance, p) if K else ()
    by = [(fold.test, w) for fold, w in zip(folds, weights, strict=True)]
    found = Predicted(values, losses, votes.counted, output, *of_classes)
    return found._replace(weights=by)


def as_shares(w: FloatArray) -> FloatArray:
    """Return weights as shares of a vote, where none is negative."""
    return w / share_unit(w)


def share_unit(w: FloatArray) -> float:
    """Return u with w = u as_shares(w)."""
    return float(w.sum()) if np.all(w >= 0) and w.any() else 1.0


def gated_sums(
    gate: Gate, X: Any, F: FloatArray, rows: WeighingRows
) -> tuple[FloatArray, BoolArray]:
    """Return sum_m g_m(x) f_m(x), (N, K), by gates that were fitted without a row.

    Where members abstain the weights of the others are scaled to sum one. The second
    array says where something is known: not where all abstain, nor where there are too
    few rows for folds.
    """
    N, M, K = F.shape
    sums, counted = np.full((N, K), 1.0 / K), np.zeros(N, dtype=bool)
    voting = np.ones((N, M), dtype=bool) if rows.held_out is None else rows.held_out
    splits = _splits(rows)
    if any(_is_empty(rows.take(train)) for train, _ in splits):
        return sums, counted
    for train, test in splits:
        part = rows.take(train)
        fitted = clone(gate).fit(
            safe_indexing(X, train),
            F[train],
            part.y,
            held_out=part.held_out,
            sample_weight=part.weight,
        )
        G = voting[test] * fitted.weights(safe_indexing(X, test), F[test])
        total = G.sum(axis=1)
        known = total > 0
        G[known] /= total[known, None]
        counted[test] = known
        sums[test[known]] = weighted_by_row(F[test], G)[known]
    return sums, counted
