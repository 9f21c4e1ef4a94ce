"""What `fit` keeps for intervals and sets, from the F that it weighed members on."""

from __future__ import annotations

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.combiners import Combiner
from committee.crossfit import CrossFit
from committee.diagnostics.filled_votes import FilledVotes
from committee.members import Generator, TrainingData
from committee.probabilities import as_probabilities
from committee.uncertainty.held_out_rows import (
    FoldWeights,
    HeldOutResiduals,
    HeldOutScores,
)
from committee.weighing import Weighed
from committee.weighing_rows import WeighingRows

NO_CHUNKS = (
    "uncertainty=True keeps errors of rows in memory and takes no Dask collections: set "
    "it to False, and prune() the committee on other rows, which may be Dask "
    "collections, for intervals and sets."
)


def check_rows_are_held_out(generator: Generator, weigh_on: str | float) -> None:
    """Refuse, before any work, to measure residuals on rows that members have seen."""
    if weigh_on == "train":
        raise ValueError(
            'uncertainty=True needs rows that members have not seen, and weigh_on="train" '
            'has none: take weigh_on="held-out", or a fraction such as 0.25.'
        )
    if isinstance(weigh_on, str) and not generator.leaves_rows_out:
        raise ValueError(
            f"uncertainty=True needs rows that members have not seen, and "
            f"{type(generator).__name__} leaves none out: give a fraction of the rows, "
            "such as weigh_on=0.25."
        )


def held_out_rows(
    weighed: Weighed,
    data: TrainingData,
    mask: BoolArray | None,
) -> HeldOutResiduals | HeldOutScores:
    """Return what a committee keeps of the rows that its members were weighed on.

    Weights that a combiner learned are learned again without each fold of the rows.

    Parameters
    ----------
    weighed : Weighed
        With F.
    data : TrainingData
        The rows of F.
    mask : bool array of shape (N, M) or None
        True where the member has not seen the row; None: all count everywhere.
    """
    combiner, w, F = weighed
    assert F is not None
    rows = WeighingRows(data.y, data.sample_weight, mask)
    if combiner is not None and combiner.needs_rows:
        crossfit = CrossFit(combiner, F, rows)
        votes = crossfit.votes
        folds = [FoldWeights(*fold) for fold in crossfit.weights()]
        p = crossfit.probabilities() if F.ndim == 3 else None
    else:
        votes = FilledVotes.of(F, rows.y, mask)
        folds = [FoldWeights(np.arange(len(F)), w)]
        p = _shares(votes.output(w), combiner) if F.ndim == 3 else None
    if p is None:
        support = np.flatnonzero(w) if w.any() else np.arange(len(w))
        return HeldOutResiduals.of(votes, folds, support, rows.weight)
    counted = votes.counted & _in_folds(len(F), folds)
    y = np.asarray(data.y, dtype=np.intp)
    return HeldOutScores.of(p, y, counted, rows.weight)


def _shares(output: FloatArray, combiner: Combiner | None) -> FloatArray:
    """Return probabilities of weighted sums (N, K), as the committee makes them."""
    return (
        as_probabilities(output) if combiner is None else combiner.probabilities(output)
    )


def _in_folds(N: int, folds: list[FoldWeights]) -> BoolArray:
    """Return which rows have weights that were found without them."""
    known = np.zeros(N, dtype=bool)
    for rows, _ in folds:
        known[rows] = True
    return known
