"""Errors of the committees of a path and of the ensemble, all measured alike.

Each row is judged by committees that were chosen without it, and where votes are missing,
as if all members voted; see `CrossFit` and `FilledVotes`.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.calibration import Calibration, fit_calibration
from committee.combiners import Combiner
from committee.crossfit import CrossFit, Predicted, share_unit
from committee.diagnostics.missing_votes import FilledProbabilities, FilledVotes
from committee.ensembles import Roster
from committee.losses import LOG_LOSS, Measure
from committee.probabilities import (
    as_probabilities,
    fit_slope,
    pooled_terms,
    slope_probabilities,
    softmax_probabilities,
)
from committee.pruning.pruning_data import Evaluation
from committee.pruning.summary import paired_difference


class Compared(NamedTuple):
    """An error before and after, on the same rows."""

    before: float
    after: float
    difference: float
    difference_se: float


class PathErrors:
    """Measures the committees of a path, and the ensemble they come from.

    Parameters
    ----------
    evaluation : Evaluation
        The rows and F.
    roster : Roster
        The ensemble.
    combiner : Combiner
        Fitted on these rows.
    measure : Measure
    calibration : {"slope", "vector"} or None
        Of the committees' probabilities.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        roster: Roster,
        combiner: Combiner,
        measure: Measure,
        calibration: str | None,
    ) -> None:
        self._calibration = calibration
        self._evaluation, self._roster = evaluation, roster
        self._rows = evaluation.rows
        self._combiner, self.measure = combiner, measure

    @cached_property
    def crossfit(self) -> CrossFit:
        """The combiner, fitted again on folds."""
        return CrossFit(self._combiner, self._evaluation.F, self._rows)

    @property
    def has_folds(self) -> bool:
        """Whether there were enough rows for folds."""
        return self.crossfit.own is not None

    def by(self, measure: Measure) -> PathErrors:
        """Return the same committees, measured otherwise."""
        _ = self.crossfit, self.before  # which both then have
        other = copy.copy(self)
        other.measure = measure
        return other

    def of_sizes(self, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the errors of committees of these sizes, and their standard errors."""
        known = np.array(list(self.crossfit.by_size))
        found = [
            self._rows.mean(self.losses(predicted), predicted.counted)
            for predicted in self.crossfit.by_size.values()
        ]
        at = np.maximum(np.searchsorted(known, sizes, side="right") - 1, 0)
        error, se = np.array(found)[at].T
        return self.measure.shown(error, se)

    def differences(self, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return losses of each size less those of the last, in the mean, and spread."""
        s = self._counts(self.crossfit.votes.counted)
        losses = [self.losses(self.like(int(size), own=False)) for size in sizes]
        gaps = [paired_difference(loss, losses[-1], s) for loss in losses]
        gap, gap_se = np.array(gaps).T
        return gap, gap_se

    def like(self, size: int, *, own: bool) -> Predicted:
        """Return what committees like that of all rows predict where they are fair.

        `own` is the combiner's own choice; others go by their size.
        """
        found = self.crossfit.own if own else self.crossfit.of_size(size)
        assert found is not None
        return found

    def as_weighed(self, w: FloatArray) -> Predicted:
        """Return what weights (M,) predict on the rows that chose them."""
        found = Predicted.of(self.crossfit.votes, w)
        if found.output.ndim == 1:
            return found
        unit = share_unit(self._combiner.weights_) / share_unit(w)
        return found._replace(p=self._combiner.probabilities(unit * found.output))

    @cached_property
    def before(self) -> Predicted:
        """What the whole ensemble predicts, by weights that have not seen the row.

        Where a combiner learned the ensemble's weights on these very rows, it is
        fitted again on the same folds, as the one that prunes is.
        """
        predicted = self._evaluation.predicted
        if predicted is not None:
            losses = self._rows.losses(predicted)
            every = np.ones(len(losses), dtype=bool)
            return Predicted(predicted, losses, every, np.zeros(0))
        if self._relearned is not None and self._relearned.own is not None:
            return self._relearned.own
        assert self._roster.weights is not None
        votes = self.crossfit.votes
        if self._roster.floor != self._combiner.floor_:
            terms = pooled_terms(self._evaluation.F, self._roster.floor)
            votes = FilledVotes.of(terms, self._rows.y, self._rows.held_out)
        return Predicted.of(votes, self._roster.weights)

    @cached_property
    def _relearned(self) -> CrossFit | None:
        """The combiner that weighed the ensemble, on folds of the same rows."""
        weigher = self._roster.combiner
        if self._rows.held_out is None or weigher is None or not weigher.needs_rows:
            return None
        return CrossFit(weigher, self._evaluation.F, self._rows)

    def compare(self, after: Predicted, measure: Measure | None = None) -> Compared:
        """Return the error of the ensemble beside that of a committee."""
        measure = self.measure if measure is None else measure
        both = after.counted & self.before.counted
        losses = [self.losses(p, measure) for p in (self.before, after)]
        (before, _), (later, _) = (
            measure.shown(*self._rows.mean(loss, both)) for loss in losses
        )
        gap = paired_difference(losses[1], losses[0], self._counts(both))
        return Compared(before, later, *measure.difference(*gap, before, later))

    def compare_log_loss(self, after: Predicted) -> Compared | None:
        """Return the same for the log-loss; None where there are no probabilities."""
        known = self._evaluation.F.ndim == 3 and self._evaluation.predicted is None
        return self.compare(after, LOG_LOSS) if known else None

    def losses(
        self, predicted: Predicted, measure: Measure | None = None
    ) -> FloatArray:
        """Return the losses by row of the measure, or of another one."""
        measure = self.measure if measure is None else measure
        if measure.losses is None:
            return self._errors(predicted)
        s = self._counts(predicted.counted)
        if self._evaluation.F.ndim == 2:
            return measure.losses(np.asarray(predicted.values), self._rows.y, s)
        p = self.probabilities(predicted)
        if measure.expected is None or not self._are_means_of_some(predicted, p):
            return measure.losses(p, self._rows.y, s)
        losses = np.zeros(len(p))
        for rows, w in predicted.weights:
            expected = getattr(self._filled.take(rows), measure.expected)
            losses[rows] = expected(w)
        return losses

    @cached_property
    def _filled(self) -> FilledProbabilities:
        votes = FilledVotes.of(self._evaluation.F, self._rows.y, self._rows.held_out)
        return FilledProbabilities.of(votes)

    def _are_means_of_some(self, predicted: Predicted, p: FloatArray) -> bool:
        """Whether p are plain weighted means, of members that vote on some rows only.

        Calibrated probabilities have the variance of the sums in them.
        """
        if self._rows.held_out is None or predicted.output.min() < 0:
            return False
        if any(np.any(w < 0) or not np.any(w) for _, w in predicted.weights):
            return False
        return np.allclose(p, as_probabilities(predicted.output), rtol=1e-9, atol=1e-12)

    def _errors(self, predicted: Predicted) -> FloatArray:
        """Return 1 for a wrong class, or the squared error, in expectation, by row.

        A vector of slopes may decide otherwise than the weighted votes.
        """
        if self._calibration != "vector" or predicted.p is None:
            return predicted.losses
        wrong = self.probabilities(predicted).argmax(axis=1) != self._rows.y
        return np.asarray(wrong, dtype=np.float64)

    def probabilities(self, predicted: Predicted) -> FloatArray:
        """Return class probabilities: the ensemble's own, or calibrated ones."""
        if predicted is self.before:
            return self._own_probabilities(predicted.output)
        if self._roster.output == "scores":
            y, s = self._rows.y.astype(np.intp), self._counts(predicted.counted)
            return slope_probabilities(
                predicted.output, fit_slope(predicted.output, y, s)
            )
        assert predicted.p is not None
        found = self.calibration(predicted)
        if found is None:
            return predicted.p
        return found(predicted.p, predicted.output, predicted.variance)

    def calibration(self, predicted: Predicted) -> Calibration | None:
        """Return the calibration of committees like these, None where there is none."""
        if self._calibration is None or not predicted.counted.any():
            return None
        s = self._counts(predicted.counted)
        y = np.asarray(self._rows.y, dtype=np.intp)
        assert predicted.p is not None
        return fit_calibration(
            *(self._calibration, predicted.p, y, s),
            sums=None if self._combiner.floor_ is not None else predicted.output,
            variance=predicted.variance,
        )

    def _own_probabilities(self, output: FloatArray) -> FloatArray:
        """Return what the ensemble makes of its weighted sums (N, K)."""
        if self._evaluation.predicted is not None:
            raise ValueError(
                "The probabilities of an ensemble that does not average its members "
                "(a median, a second layer) are not known from F: leave out scoring."
            )
        if self._relearned is not None and self._relearned.own is not None:
            return self._as_calibrated(self._relearned.own)
        if self._roster.probabilities is not None:
            return self._roster.probabilities(output)
        if self._roster.link == "softmax":
            return softmax_probabilities(output)
        return as_probabilities(output)

    def _as_calibrated(self, predicted: Predicted) -> FloatArray:
        """Return the probabilities of the ensemble's combiner as the ensemble has them."""
        assert predicted.p is not None
        if self._roster.calibrated is None:
            return predicted.p
        found = predicted.in_units(share_unit(self._roster.combiner.weights_))
        return self._roster.calibrated(predicted.p, found.output, found.variance)

    def _counts(self, counted: BoolArray) -> FloatArray:
        """Return the weights of the rows that count."""
        weight = self._rows.weight
        return counted.astype(np.float64) if weight is None else counted * weight
