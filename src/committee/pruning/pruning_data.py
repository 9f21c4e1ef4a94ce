"""The rows that an ensemble is pruned on, and what its members predict there.

On Dask collections all rows are weighed; errors, costs and the summary are measured on a
sample of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from committee._typing import FloatArray, IntArray
from committee._validation import label_codes, n_rows, safe_indexing
from committee.combiners import Combiner
from committee.distributed.chunks import Chunks
from committee.distributed.collections import (
    aligned,
    check_lead,
    is_dask,
    map_rows,
    row_chunks,
)
from committee.ensembles import Roster
from committee.predictions import member_predictions, predict_members
from committee.pruning.costs import few_rows
from committee.pruning.seen_rows import (
    Oob,
    check_recorded_oob,
    member_losses,
    note_on_perfect_members,
    refuse_seen_rows,
    settle_by_losses,
    settle_oob,
)
from committee.votes import Votes, checked_rows

#: Rows of Dask collections that errors, costs and the summary are measured on.
SAMPLED_ROWS = 10_000
#: Chunks that they are taken from, or more where these are small.
_SAMPLED_CHUNKS = 32


class PruningData:
    """Rows in memory.

    Parameters
    ----------
    ensemble : fitted ensemble
    roster : Roster
        Its members.
    template : committee
        Has its kind, labels and columns, but no weights.
    oob : bool or "auto"
        Whether these are the rows that the ensemble was trained on.
    verbose : bool
    X, y, sample_weight
        As given to `prune`.

    Attributes
    ----------
    note : str
        Warning for the user; set when the rows are checked.
    timed_rows : array or frame
        At most 1,000 rows of X, once the rows were looked at.
    predicted : array of shape (N,) or None
        What the ensemble predicts, where that is not a weighted sum of its members.
    probabilities : array of shape (N, K) or None
        The same of a classifier with `predict_proba`.
    """

    timed_rows: Any
    predicted: FloatArray | IntArray | None = None
    probabilities: FloatArray | None = None

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
        self.note = ""
        self.given = X, y, sample_weight

    @cached_property
    def votes(self) -> Votes:
        """All rows, predicted by all members; X is released afterwards."""
        return self._predicted(*self.__dict__.pop("given"))

    def fit(self, combiner: Combiner) -> Combiner:
        """Fit a combiner on F of the rows."""
        fitted: Combiner = self.votes.fit(combiner)
        return fitted

    def _predicted(self, X: Any, y: Any, sample_weight: Any) -> Votes:
        """Check rows and predict them by all members."""
        roster, template = self.roster, self.template
        X = template._check_X(X, reset=not hasattr(template, "n_features_in_"))
        Z = roster.prepared(X)
        oob, self.note = settle_oob(self.oob, roster, Z)
        y_, mask, s = checked_rows(
            roster, X, y, oob=bool(oob), sample_weight=sample_weight
        )
        F = predict_members(roster, Z, n_jobs=template.n_jobs, verbose=self.verbose)
        if oob is None:
            oob, self.note = settle_by_losses(F, y_, roster)
            if oob:
                y_, mask, s = checked_rows(
                    roster, X, y, oob=True, sample_weight=sample_weight
                )
        votes = Votes(F, y_, mask, s)
        check_recorded_oob(roster, votes)
        if self.oob == "auto" and not oob:
            losses = member_losses(F, y_)
            self.note = refuse_seen_rows(losses, y_, roster)
            self.note = self.note or note_on_perfect_members(losses, y_, roster)
        if roster.weights is None:  # a median or a second layer: no sum of members
            predicted = np.asarray(self.ensemble.predict(X))
            if roster.classes is not None:
                predicted = np.searchsorted(np.asarray(roster.classes), predicted)
                if hasattr(self.ensemble, "predict_proba"):
                    self.probabilities = np.asarray(self.ensemble.predict_proba(X))
            self.predicted = predicted
        self.timed_rows = few_rows(X)
        return votes


class ChunkedPruningData(PruningData):
    """Rows of Dask collections: all are weighed, errors and costs are of a sample."""

    @cached_property
    def votes(self) -> Votes:
        """Some rows from all over the collections, predicted by all members."""
        self.oob = False  # a sample of the rows is not recognised
        return self._predicted(*sample_rows(*self.given))

    def fit(self, combiner: Combiner) -> Combiner:
        """Fit a combiner on F of all rows, which is never gathered."""
        if self.oob is True:
            raise ValueError(
                "oob=True needs the training rows in memory, in their order. Pass "
                "Dask collections of rows that the ensemble was not trained on, "
                "without oob."
            )
        X, y, sample_weight = self.given
        check_lead(X=X, y=y)
        F = member_predictions(self.ensemble, X)
        y = aligned("y", y, "X", X)
        if self.roster.classes is not None:
            y = map_rows(_codes, y, (), np.intp, np.asarray(self.roster.classes))
        return combiner.fit(F, y, sample_weight=sample_weight)


def kind_of_data(X: Any, y: Any) -> type[PruningData]:
    """Return the class for rows in memory, or in chunks."""
    return ChunkedPruningData if is_dask(X, y) else PruningData


def _codes(y: Any, classes: Any) -> IntArray:
    return label_codes(column_or_1d(y), classes)


def sample_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return plain X, y and weights of some rows from all over the collection."""
    columns = row_chunks(X=X, y=y, sample_weight=sample_weight)
    s = columns["sample_weight"]
    assert columns["y"] is not None
    counts = np.array(columns["y"].map(_n_weighted, s).values())
    some = _spread(counts)
    share = -(-SAMPLED_ROWS // len(some))
    X_few, y_few, s_few = (
        None if blocks is None else _stacked(_few(blocks, s, some, share))
        for blocks in columns.values()
    )
    return X_few, y_few, s_few


def _n_weighted(y: Any, s: Any) -> int:
    """Return the number of rows with a positive weight."""
    return n_rows(y) if s is None else int(np.count_nonzero(np.asarray(s) > 0))


def _spread(counts: IntArray) -> IntArray:
    """Return chunks from all over that have enough rows together, if there are."""
    there = np.flatnonzero(counts)
    needed = -(-SAMPLED_ROWS // counts[there].mean())
    n = min(len(there), max(_SAMPLED_CHUNKS, int(needed)))
    some: IntArray = there[np.unique(np.linspace(0, len(there) - 1, n).astype(int))]
    return some


def _few(blocks: Chunks, s: Chunks | None, some: IntArray, share: int) -> list[Any]:
    """Return a share of the rows of some chunks."""
    weights = None if s is None else Chunks([s.parts[c] for c in some])
    chosen = Chunks([blocks.parts[c] for c in some])
    return chosen.map(_spaced, weights, share).values()


def _spaced(block: Any, s: Any, share: int) -> Any:
    """Return up to `share` rows of a block with a positive weight, evenly spaced."""
    rows = np.arange(n_rows(block)) if s is None else np.flatnonzero(np.asarray(s) > 0)
    return safe_indexing(block, rows[:: max(1, -(-len(rows) // share))])


def _stacked(blocks: list[Any]) -> Any:
    """Concatenate blocks of rows, arrays or frames."""
    if hasattr(blocks[0], "columns"):
        import pandas as pd

        return pd.concat(blocks)
    return np.concatenate(blocks)
