"""The rows that an ensemble is pruned on, and what its members predict there."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.combiners import Combiner
from committee.ensembles import Roster
from committee.predictions import predict_members
from committee.pruning.costs import few_rows
from committee.pruning.oob_choice import (
    Oob,
    note_on_perfect_members,
    refuse_seen_rows,
    settle_by_losses,
    settle_oob,
)
from committee.weighing_rows import WeighingRows, checked_rows


class Evaluation(NamedTuple):
    """Rows to weigh or to measure on.

    Attributes
    ----------
    X : rows to time, 1,000 at most
    F : array of shape (N, M) or (N, M, K)
    rows : WeighingRows
    predicted : array of shape (N,) or None
        What the ensemble predicts, where that is no weighted sum of its members.
    """

    X: Any
    F: FloatArray
    rows: WeighingRows
    predicted: FloatArray | IntArray | None


class PruningData:
    """Rows in memory.

    Parameters
    ----------
    ensemble : fitted ensemble
    roster : Roster
        Its members.
    template : committee
        Knows its kind, labels and columns, but was not weighed.
    oob : bool or "auto"
        Whether these are the rows that the ensemble was trained on.
    verbose : bool
    X, y, sample_weight
        As given to `prune`.
    """

    def __init__(
        self,
        ensemble: Any,
        roster: Roster,
        template: Any,
        oob: Oob,
        verbose: bool,
        X: Any,
        y: Any,
        sample_weight: Any,
    ) -> None:
        self.ensemble, self.roster, self.template = ensemble, roster, template
        self.oob, self.verbose = oob, verbose
        #: What the user should know, once the rows were looked at.
        self.note = ""
        self.given = X, y, sample_weight

    @cached_property
    def evaluation(self) -> Evaluation:
        """All rows, predicted by all members; X itself is given up for it."""
        return self.evaluate(*self.__dict__.pop("given"))

    def fit(self, combiner: Combiner) -> Combiner:
        """Fit a combiner on F of the rows."""
        _, F, rows, _ = self.evaluation
        return combiner.fit(
            F, rows.y, held_out=rows.held_out, sample_weight=rows.weight
        )

    def evaluate(self, X: Any, y: Any, sample_weight: Any) -> Evaluation:
        """Check rows and predict them by all members."""
        roster, template = self.roster, self.template
        X = template._check_X(X, reset=not hasattr(template, "n_features_in_"))
        Z = roster.prepared(X)
        oob, self.note = settle_oob(self.oob, roster, Z)
        rows = checked_rows(roster, X, y, oob=bool(oob), sample_weight=sample_weight)
        F = predict_members(roster, Z, n_jobs=template.n_jobs, verbose=self.verbose)
        if oob is None:
            oob, self.note = settle_by_losses(F, rows.y, roster)
            rows = checked_rows(roster, X, y, oob=oob, sample_weight=sample_weight)
        rows.check_oob(roster, F)
        if self.oob == "auto" and not oob:
            self.note = refuse_seen_rows(F, rows.y, roster)
            self.note = self.note or note_on_perfect_members(F, rows.y, roster)
        predicted = None
        if roster.weights is None:  # a median or a second layer: no sum of members
            predicted = np.asarray(self.ensemble.predict(X))
            if roster.classes is not None:
                predicted = np.searchsorted(np.asarray(roster.classes), predicted)
        return Evaluation(few_rows(X), F, rows, predicted)
