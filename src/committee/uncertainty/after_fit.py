"""What `fit` keeps for intervals, sets and probabilities, from the F that it weighed on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.calibration import fit_calibration
from committee.combiners import Combiner
from committee.crossfit import CrossFit, Predicted, share_unit
from committee.diagnostics.missing_votes import FilledVotes
from committee.members import Generator, TrainingData
from committee.probabilities import as_probabilities
from committee.uncertainty.held_out_rows import (
    FoldWeights,
    HeldOutResiduals,
    HeldOutScores,
)
from committee.weighing import Weighed
from committee.weighing_rows import WeighingRows


def asks_for(committee: Any) -> str | None:
    """Return the argument that asks for held-out rows, None if there is none."""
    if committee.calibration is not None:
        return f"calibration={committee.calibration!r}"
    return "uncertainty=True" if committee.uncertainty else None


def check_no_chunks(committee: Any) -> None:
    """Refuse Dask collections where rows have to be measured in memory."""
    asked = asks_for(committee)
    if asked is not None:
        raise ValueError(
            f"{asked} measures rows in memory and takes no Dask collections: leave it "
            "out, and prune() the committee on other rows, which may be Dask "
            "collections, for intervals, sets and calibrated probabilities."
        )


def check_rows_are_held_out(committee: Any, generator: Generator) -> None:
    """Refuse, before any work, to measure errors on rows that members have seen."""
    asked, weigh_on = asks_for(committee), committee.weigh_on
    if asked is None:
        return
    if weigh_on == "train":
        raise ValueError(
            f'{asked} needs rows that members have not seen, and weigh_on="train" '
            'has none: take weigh_on="held-out", or a fraction such as 0.25.'
        )
    if isinstance(weigh_on, str) and not generator.leaves_rows_out:
        raise ValueError(
            f"{asked} needs rows that members have not seen, and "
            f"{type(generator).__name__} leaves none out: give a fraction of the rows, "
            "such as weigh_on=0.25."
        )


class Honest(NamedTuple):
    """What committees predict on rows that had no part in them.

    Attributes
    ----------
    rows : WeighingRows
    votes : FilledVotes
    folds : list of FoldWeights
        Weights that were learned without some rows.
    predicted : Predicted or None
        Of classes, as the weights of the whole committee would have it; None for
        numbers, and where there are too few rows for folds.
    of_logarithms : bool
        Whether the sums are those of a logarithmic pool.
    """

    rows: WeighingRows
    votes: FilledVotes
    folds: list[FoldWeights]
    predicted: Predicted | None
    of_logarithms: bool


def measure_held_out(
    committee: Any, weighed: Weighed, data: TrainingData, mask: BoolArray | None
) -> None:
    """Keep what a committee is to know of the rows that its members were weighed on.

    Its calibration, residuals for intervals, scores for sets: each as far as asked for.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
    weighed : Weighed
        With F.
    data : TrainingData
        The rows of F.
    mask : bool array of shape (N, M) or None
        True where the member has not seen the row; None: all count everywhere.
    """
    # A gate has weights of its own, which are calibrated after it.
    if asks_for(committee) is None or committee.gate is not None:
        return
    honest, w = _honest(weighed, data, mask), weighed.weights
    if honest.votes.F.ndim == 3:
        _measure_classes(committee, honest)
    elif committee.uncertainty:
        support = np.flatnonzero(w) if w.any() else np.arange(len(w))
        committee._held_out_rows = HeldOutResiduals.of(
            honest.votes, honest.folds, support, honest.rows.weight
        )


def _measure_classes(committee: Any, honest: Honest) -> None:
    """Keep the calibration of a classifier, and the scores of its sets."""
    y, s = np.asarray(honest.rows.y, dtype=np.intp), honest.rows.weight
    found, counted = honest.predicted, honest.votes.counted
    if found is None:  # too few rows for folds
        if committee.uncertainty:
            none = np.zeros(len(y), dtype=bool)
            committee._held_out_rows = HeldOutScores.of(honest.votes.mean, y, none)
        return
    assert found.p is not None
    p = found.p
    if committee.calibration is not None and counted.any():
        fitted = fit_calibration(
            *(committee.calibration, p, y),
            counted.astype(np.float64) if s is None else counted * s,
            sums=None if honest.of_logarithms else found.output,
            variance=found.variance,
        )
        committee._calibration = fitted
        p = fitted(p, found.output, found.variance)
    if committee.uncertainty:
        committee._held_out_rows = HeldOutScores.of(p, y, counted, s)


def _honest(weighed: Weighed, data: TrainingData, mask: BoolArray | None) -> Honest:
    """Predict each row by members that did not see it, and weights of other folds.

    Weights that a combiner learned are learned again without each fold of the rows.
    """
    combiner, w, F = weighed
    assert F is not None
    rows, predicted = WeighingRows(data.y, data.sample_weight, mask), None
    if combiner is not None and combiner.needs_rows:
        crossfit = CrossFit(combiner, F, rows)
        votes = crossfit.votes
        folds = [FoldWeights(*fold) for fold in crossfit.weights()]
        if F.ndim == 3 and crossfit.own is not None:
            predicted = crossfit.own.in_units(share_unit(w))
    else:
        votes = FilledVotes.of(F, rows.y, mask)
        folds = [FoldWeights(np.arange(len(F)), w)]
        if F.ndim == 3:
            found = Predicted.of(votes, w)
            predicted = found._replace(p=_shares(found.output, combiner))
    logarithms = combiner is not None and combiner.floor_ is not None
    return Honest(rows, votes, folds, predicted, logarithms)


def _shares(output: FloatArray, combiner: Combiner | None) -> FloatArray:
    """Return probabilities of weighted sums (N, K), as the committee makes them."""
    return (
        as_probabilities(output) if combiner is None else combiner.probabilities(output)
    )
