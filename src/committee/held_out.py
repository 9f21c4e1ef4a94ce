"""Predictions of rows that had no part in choosing or weighing the members.

Members that were chosen on some rows look better on these rows than they are, and leaving
a row out of the weights does not leave it out of the choice. So the combiner is fitted
again on folds of the same F, and each row is predicted by a committee that was chosen
without it. The members themselves are not trained again.

Calibration, intervals, sets of classes, the errors of a path, `summary()` and the error
that `committee train` prints are functions of these predictions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import safe_indexing
from committee.calibration import Calibration, fit_calibration
from committee.combiners import Combiner
from committee.diagnostics.missing_votes import FilledVotes, open_share, uniform_numbers
from committee.gates import Gate
from committee.losses import Measure, decided, mean_and_se, paired_difference
from committee.probabilities import as_probabilities, pooled_terms
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores
from committee.votes import Votes

#: With more rows than this, two folds are enough, and cost no more than one more fit.
_MANY = 10_000
#: Draws of missing votes, at least and at most, and the rows that all draws have together.
_DRAWS, _DRAWN_ROWS = (2, 16), 50_000
#: Draws at most in `fit`, which computes one error, and no difference of two.
DRAWS_OF_FIT = 4
#: Largest number of committee sizes that are evaluated.
_SIZES = 25


@dataclass(frozen=True, eq=False)
class HeldOutPredictions:
    """Predictions of N rows if all members voted, and their losses.

    Attributes
    ----------
    votes : Votes
        F, targets, mask and row weights.
    output : array of shape (N,) or (N, K)
        Weighted sums; missing votes are filled.
    losses : array of shape (N,)
        Expected squared error, or probability of a wrong class; see `FilledVotes.losses`.
    counted : bool array of shape (N,)
        False where no member of the whole ensemble votes.
    values : array of shape (N,)
        Class codes, or numbers. Where no member votes: the most frequent class, or the
        mean.
    variance : array of shape (N,) or None
        Variance of the margins of `output`, for classes.
    p : array of shape (N, K) or None
        Class probabilities before calibration; None where they are not known, and for
        sums of scores, of which only a calibration makes probabilities.
    folds : list of (rows, array of shape (M,) or (n, M))
        Weights by which the rows are predicted; of a gate, for each row.
    filled : FilledVotes or None
        Model of the missing votes that `output` comes from.
    method : {"slope", "vector"} or None
        Kind of the calibration.
    log_pool : bool
        Whether `output` is a sum of log-probabilities.
    link : callable or None
        Function that made p of `output`; None if p are shares of it.
    most_draws : int, default=16
        Draws of missing votes at most; see `drawn`.
    """

    votes: Votes
    output: FloatArray
    losses: FloatArray
    counted: BoolArray
    values: Any
    variance: FloatArray | None = None
    p: FloatArray | None = None
    folds: Sequence[tuple[IntArray, FloatArray]] = ()
    filled: FilledVotes | None = None
    method: str | None = None
    log_pool: bool = False
    link: Callable[[FloatArray], FloatArray] | None = None
    most_draws: int = _DRAWS[1]

    @classmethod
    def of_weights(cls, votes: Votes, filled: FilledVotes, w: FloatArray) -> Self:
        """Return the predictions of weights (M,) or (N, M), and the offset of `filled`."""
        output = filled.output(w)
        return cls(
            votes,
            output,
            filled.losses(w),
            filled.counted,
            decided(output),
            None if output.ndim == 1 else filled.margin_variance(w),
            folds=[(np.arange(len(output)), w)],
            filled=filled,
        )

    @classmethod
    def empty(cls, votes: Votes) -> Self:
        """Return predictions of which no row counts, where rows are too few for folds."""
        found = cls.of_weights(votes, votes.filled, np.zeros(votes.n_members))
        none = np.zeros(len(votes.y), dtype=bool)
        return replace(found, counted=none, p=votes.filled.mean, folds=[])

    def in_units(self, u: float) -> Self:
        """Return the predictions with weighted sums u times as large."""
        variance = None if self.variance is None else u**2 * self.variance
        return replace(self, output=u * self.output, variance=variance)

    @property
    def row_weights(self) -> FloatArray:
        """Row weights (N,), zero where no member votes."""
        s = self.votes.sample_weight
        return self.counted.astype(np.float64) if s is None else self.counted * s

    @cached_property
    def calibration(self) -> Calibration | None:
        """Calibration with the smallest log-loss on these rows; None without a `method`."""
        if self.method is None or not self.counted.any():
            return None
        return fit_calibration(
            *(self.method, self.p, self._codes, self.row_weights),
            sums=None if self.log_pool else self.output,
            variance=self.variance,
        )

    @property
    def probabilities(self) -> FloatArray:
        """Calibrated class probabilities (N, K). Raises ValueError if none are known."""
        if self.calibration is not None:
            return self.calibration(self.p, self.output, self.variance)
        if self.p is None:
            raise ValueError(
                "The probabilities of an ensemble that does not average its members "
                "(for example, a median or a stacking layer) cannot be computed from F: leave out "
                "scoring."
            )
        return self.p

    def drawn(self) -> FloatArray:
        """Return calibrated probabilities (J, N, K) as if all members voted, J draws.

        `output` has the spread of the votes that are there. Missing votes are drawn for
        averages of probabilities; other committees have one draw, `probabilities`.
        """
        if not self._averages:
            return self.probabilities[None]
        N = len(self.output)
        J = int(np.clip(_DRAWN_ROWS // N, _DRAWS[0], self.most_draws))
        u = uniform_numbers(J, N)
        p, filled = (
            np.empty((len(u), *self.output.shape)),
            self.votes.filled_probabilities,
        )
        for rows, w in self.folds:
            p[:, rows] = filled.take(rows).drawn(w, u[:, :, rows])
        unit = np.where(self.counted, self.output.sum(axis=1), 1.0)[:, None]
        link, calibration = self.link or as_probabilities, self.calibration
        for j, sums in enumerate(p * unit):
            p[j] = link(sums)
            if calibration is not None:
                p[j] = calibration(p[j], sums)
        return p

    @property
    def _codes(self) -> IntArray:
        return np.asarray(self.votes.y, dtype=np.intp)

    @cached_property
    def _averages(self) -> bool:
        """Whether `output` are weighted means of members that vote on some rows only."""
        if not self.votes.masked or self.log_pool or self.p is None:
            return False
        fair = all(np.all(w >= 0) and np.any(w) for _, w in self.folds)
        return bool(self.folds) and fair and bool(self.output.min() >= 0)

    def row_losses(self, measure: Measure) -> FloatArray:
        """Return the losses of a measure by row, (N,); means over draws of the votes."""
        # Losses are kept in the place of the draws, which are J K times as large.
        known = self._known_losses
        if measure.name not in known:
            known[measure.name] = self._row_losses(measure)
        return known[measure.name]

    @cached_property
    def _known_losses(self) -> dict[str, FloatArray]:
        """Losses by the name of their measure."""
        return {}

    def _row_losses(self, measure: Measure) -> FloatArray:
        if measure.losses is None:
            return self._error_losses()
        y, s = self.votes.y, self.row_weights
        if self.votes.n_classes is None:
            return measure.losses(np.asarray(self.values), y, s)
        return np.asarray(
            np.mean([measure.losses(p, y, s) for p in self.drawn()], axis=0)
        )

    def _error_losses(self) -> FloatArray:
        """Return the expected losses.

        A vector of slopes may decide differently from `output`, and where `output`
        varies more than all votes would, the normal distribution cannot be used.
        """
        vector = self.method == "vector" and self.p is not None
        few = self._varies_more
        if not vector and not few.any():
            return self.losses
        wrong = np.mean(self.drawn().argmax(axis=2) != self.votes.y, axis=0)
        return np.asarray(wrong if vector else np.where(few, wrong, self.losses))

    @property
    def _varies_more(self) -> BoolArray:
        """Rows on which averages vary more than with the votes of all members."""
        few = np.zeros(len(self.losses), dtype=bool)
        if self.votes.n_classes is not None and self._averages:
            mask, n_votes = self.votes.held_out, self.votes.filled.n_votes
            assert mask is not None
            for rows, w in self.folds:
                few[rows] = open_share(w, mask[rows], n_votes[rows]) < 0
        return few

    def error(
        self, measure: Measure, counted: BoolArray | None = None
    ) -> tuple[float, float]:
        """Return the error and its standard error, over all or some counted rows."""
        s = self.row_weights if counted is None else self.row_weights * counted
        found: tuple[float, float] = measure.shown(
            *mean_and_se(self.row_losses(measure), s)
        )
        return found

    def stored(self, support: IntArray) -> HeldOutResiduals | HeldOutScores:
        """Return the residuals or scores that intervals and sets need.

        `support` (k,) are the members of the committee that will predict.
        """
        s = self.votes.sample_weight
        if self.votes.n_classes is not None:
            return HeldOutScores.of(self.drawn()[0], self._codes, self.counted, s)
        assert self.filled is not None
        return HeldOutResiduals.of(self.filled, self.folds, support, s)


class Compared(NamedTuple):
    """An error before and after, on the same rows."""

    before: float
    after: float
    difference: float
    difference_se: float


def compared(
    before: HeldOutPredictions, after: HeldOutPredictions, measure: Measure
) -> Compared:
    """Return the errors of two predictions on the rows that both count, paired."""
    s = after.row_weights * before.counted
    losses = [found.row_losses(measure) for found in (before, after)]
    (first, _), (later, _) = (measure.shown(*mean_and_se(loss, s)) for loss in losses)
    gap = paired_difference(losses[1], losses[0], s)
    return Compared(first, later, *measure.difference(*gap, first, later))


class _Fold(NamedTuple):
    """A combiner fitted without some rows, and the prediction without members."""

    test: IntArray
    baseline: float
    combiner: Combiner


class _Point(NamedTuple):
    """The weights (M,) of a committee, and what it adds to their sums."""

    weights: FloatArray
    offset: FloatArray | float


class CrossFit:
    """Committees of every size, each evaluated on the fold that did not choose it.

    Parameters
    ----------
    combiner : Combiner
        Fitted on all rows.
    votes : Votes
    method : {"slope", "vector"} or None
        Kind of the calibration.
    scores : bool
        Whether F holds scores of boosting rounds, whose sums have an unknown scale.
    """

    def __init__(
        self,
        combiner: Combiner,
        votes: Votes,
        method: str | None = None,
        *,
        scores: bool = False,
    ) -> None:
        self.combiner, self.votes, self.method = combiner, votes, method
        self.scores = scores

    @cached_property
    def filled(self) -> FilledVotes:
        """F of all rows, or its logarithms, with missing votes filled."""
        votes, floor = self.votes, self.combiner.floor_
        if floor is None:
            return votes.filled
        terms = pooled_terms(votes.F, floor)
        return FilledVotes.of(terms, votes.y, votes.held_out)

    @cached_property
    def _folds(self) -> list[_Fold]:
        """The combiner fitted without each fold; empty with too few rows for folds."""
        votes, splits = self.votes, splits_of(self.votes.y)
        if any(_is_empty(votes.at(train)) for train, _ in splits):
            return []
        return [
            _Fold(test, *_fitted(self.combiner, votes.at(train)))
            for train, test in splits
        ]

    @cached_property
    def own(self) -> HeldOutPredictions | None:
        """Predictions of the combiner's own choice in each fold; None without folds."""
        if not self._folds:
            return None
        return self._predicted([_chosen(fold.combiner) for fold in self._folds])

    def unit(self, w: FloatArray, b: FloatArray | float) -> float:
        """Return u, by which weights (M,) and offset of a classifier are divided.

        Weights become shares of a vote. The scale of scores says nothing, so that their sums
        get the root mean square one; it is measured on all rows, without labels.
        """
        if not self.scores:
            return share_unit(w)
        S = self.filled.plus(b).output(w)
        return float(np.std(S - S.mean(axis=1, keepdims=True))) or 1.0

    @cached_property
    def by_size(self) -> dict[int, HeldOutPredictions]:
        """Predictions of the committees of up to 25 sizes."""
        combiners = [fold.combiner for fold in self._folds]
        paths = [getattr(combiner, "path_", None) for combiner in combiners]
        counts = [
            len(combiner.support_) if path is None else path.size.max()
            for combiner, path in zip(combiners, paths, strict=True)
        ]
        return {
            size: self._predicted([_of_size(combiner, size) for combiner in combiners])
            for size in sizes_up_to(max([*counts, 1]))
            if self._folds
        }

    def at_sizes(self, size: IntArray) -> IntArray:
        """Return the positions in `by_size` that `of_size` takes for sizes (S,)."""
        known = np.array(list(self.by_size))
        return np.maximum(np.searchsorted(known, size, side="right") - 1, 0)

    def of_size(self, size: int) -> HeldOutPredictions | None:
        """Return the predictions of committees of about this size, and not above it.

        If the folds found only larger ones, the smallest; None without folds.
        """
        if not self.by_size:
            return None
        return list(self.by_size.values())[int(self.at_sizes(np.array(size)))]

    def _predicted(self, points: list[_Point]) -> HeldOutPredictions:
        """Assemble the predictions of one committee for each fold."""
        N, K = len(self.filled.F), self.filled.F.shape[2:]
        units = [self.unit(*point) if K else 1.0 for point in points]
        offset = np.zeros((N, *K))
        for fold, (_, b), u in zip(self._folds, points, units, strict=True):
            offset[fold.test] = b / u
        filled = self.filled.plus(offset)
        values: Any = np.zeros(N, dtype=np.intp if K else np.float64)
        losses, variance = np.zeros((2, N))
        output, p = np.zeros((2, N, *K))
        for (test, baseline, combiner), (w, _), u in zip(
            self._folds, points, units, strict=True
        ):
            part = filled.take(test)
            output[test], losses[test] = part.output(w / u), part.losses(w / u)
            values[test] = np.where(part.counted, decided(output[test]), baseline)
            if K:
                variance[test] = part.margin_variance(w / u)
                p[test] = combiner.linked(u * output[test])
        return HeldOutPredictions(
            self.votes,
            output,
            losses,
            self.filled.counted,
            values,
            variance=variance if K else None,
            p=p if K and not self.scores else None,
            folds=[
                (fold.test, w) for fold, (w, _) in zip(self._folds, points, strict=True)
            ],
            filled=filled,
            method=self.method,
            log_pool=self.combiner.floor_ is not None,
        )


def sizes_up_to(most: int) -> list[int]:
    """Return up to 25 sizes from 1 to a largest one, in equal ratios."""
    sizes = np.geomspace(1, most, _SIZES).astype(int)
    return [int(size) for size in np.unique(sizes)]


def splits_of(y: Any) -> list[tuple[IntArray, IntArray]]:
    """Return (train, test) rows of five folds, of two for many rows, none for few.

    y (N,) holds numbers, or class codes, by which folds are stratified.
    """
    N = len(y)
    n_splits = 2 if N > _MANY else 5
    if n_splits > N:
        return []
    by_class = y.dtype.kind != "f" and np.bincount(y).max() >= n_splits
    kind = StratifiedKFold if by_class else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splits = kind(n_splits, shuffle=True, random_state=0)
        return list(splits.split(np.zeros(N), y))


def _is_empty(votes: Votes) -> bool:
    """Whether no member votes on any row of positive weight."""
    voting = votes.row_weights > 0
    if votes.held_out is not None:
        voting &= votes.held_out.any(axis=1)
    return not voting.any()


def _fitted(combiner: Combiner, votes: Votes) -> tuple[float, Combiner]:
    """Return the prediction without members, and the combiner fitted on some rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows has warned already
        fitted: Combiner = votes.fit(combiner.copy_for(combiner.pool_))
    return votes.baseline(), fitted


def _chosen(combiner: Combiner) -> _Point:
    return _Point(combiner.weights_, combiner.offset)


def _of_size(combiner: Combiner, size: int) -> _Point:
    """Return the largest committee of a path up to a size, the best of equals.

    The smallest if there is none; without a path the combiner's own.
    """
    path = getattr(combiner, "path_", None)
    if path is None:
        return _chosen(combiner)
    most = max(path.size[path.size <= size], default=path.size.min())
    error = np.nan_to_num(path.own_error, nan=0.0)
    best = int(np.where(path.size == most, error, np.inf).argmin())
    return _Point(path.weights[best], path.offset(best))


def as_shares(w: FloatArray) -> FloatArray:
    """Return weights as shares of a vote, where none is negative."""
    return w / share_unit(w)


def share_unit(w: FloatArray) -> float:
    """Return u with w = u as_shares(w)."""
    return float(w.sum()) if np.all(w >= 0) and w.any() else 1.0


def of_committee(
    combiner: Combiner | None, w: FloatArray, votes: Votes, method: str | None
) -> HeldOutPredictions:
    """Return held-out predictions of a committee with weights w (M,).

    Weights that a combiner learned are learned again without each fold of the rows;
    other weights are fixed. With too few rows for folds no row counts.
    """
    if combiner is not None and combiner.needs_rows:
        own = CrossFit(combiner, votes, method).own or HeldOutPredictions.empty(votes)
        if votes.n_classes is None:
            return own
        return own.in_units(share_unit(w))
    # A combiner that needs no rows has weights only.
    found = HeldOutPredictions.of_weights(votes, votes.filled, w)
    if votes.n_classes is None:
        return found
    linked = as_probabilities if combiner is None else combiner.linked
    return replace(found, p=linked(found.output), method=method)


def of_gate(
    gate: Gate, combiner: Combiner | None, X: Any, votes: Votes, method: str | None
) -> HeldOutPredictions:
    """Return held-out predictions sum_m g_m(x) f_m(x) of a committee behind a gate.

    Gates, and the combiner that chooses the members they weigh, are fitted again without
    each fold of the rows. With too few rows for folds no row counts.
    """
    N, M, *K = votes.F.shape
    splits = splits_of(votes.y)
    if not splits or any(_is_empty(votes.at(train)) for train, _ in splits):
        return HeldOutPredictions.empty(votes)
    G = np.zeros((N, M))
    for train, test in splits:
        part, kept = votes.at(train), np.arange(M)
        if combiner is not None and combiner.needs_rows:
            chosen = _fitted(combiner, part)[1].support_
            kept = chosen if len(chosen) else kept
        fitted = clone(gate).fit(
            safe_indexing(X, train),
            part.F[:, kept],
            part.y,
            held_out=None if part.held_out is None else part.held_out[:, kept],
            sample_weight=part.sample_weight,
        )
        G[np.ix_(test, kept)] = fitted.weights(safe_indexing(X, test))
    found = HeldOutPredictions.of_weights(votes, votes.filled, G)
    if not K:
        return found
    return replace(found, p=as_probabilities(found.output), method=method)
