"""Members behind a gate: sum_m g_m(x) f_m(x) instead of sum_m w_m f_m(x)."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from committee._typing import BoolArray, FloatArray
from committee._validation import label_codes
from committee.calibration import Calibration, fit_calibration
from committee.crossfit import gated_sums
from committee.distributed import is_dask, lazy_rows
from committee.ensembles import Roster
from committee.gates import Gate
from committee.held_members import HeldMembers
from committee.members import Generator, TrainingData
from committee.predictions import predict_members, weighted_by_row
from committee.probabilities import as_probabilities
from committee.weighing_rows import WeighingRows

#: What belongs to other weights than those of a gate.
_CALIBRATED = ("_slope", "_calibration")


def _members(committee: GatedMembers) -> tuple[int, ...]:
    """Return the shape of G behind the rows."""
    return (len(committee.members_),)


class GatedMembers(HeldMembers):
    """A committee whose gate, if it has one, says which member counts where."""

    gate: Gate | None = None
    uncertainty: bool = False
    calibration: str | None = None
    _calibration: Calibration | None
    gate_: Gate | None = None
    held_out_: BoolArray | None
    n_jobs: int | None

    @lazy_rows(tail=_members)
    def gate_weights(self, X: Any) -> FloatArray:
        """Return g(x), the weight of every member at every x.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        G : array of shape (N, M)
            Rows sum to one.
        """
        F = predict_members(
            self._fitted_roster(), self._prepared(X), n_jobs=self.n_jobs
        )
        return self._fitted_gate().weights(X, F)

    def with_gate(self, gate: Gate, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the same members behind a gate, fitted on other rows.

        So a committee made by `prune` is gated: first the few members, then where each
        of them counts. Its `path_` and `summary()` stay behind.

        Parameters
        ----------
        gate : gate
            It is cloned.
        X : array-like or frame of shape (N, n_features)
            Rows that the members have not seen; or those of the training, where the
            committee knows which rows each member left out.
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        committee : CommitteeClassifier or CommitteeRegressor
        """
        check_is_fitted(self)
        if is_dask(X):
            raise TypeError("A gate sees all rows at once: compute() as many as fit.")
        if self.roster_.votes == "scores":
            raise ValueError(
                "The members are rounds of a booster, whose scores add up: none of them "
                "is right by itself anywhere, and a gate cannot weigh them."
            )
        mask = self._unseen(X)
        y = self._check_y(y)
        if self.roster_.classes is not None:
            y = label_codes(y, self.roster_.classes)
        made = copy.copy(self)
        for name in ("path_", "_summary", "_whole", "_held_out_rows", *_CALIBRATED):
            made.__dict__.pop(name, None)
        made.roster_ = replace(self.roster_, link="mean")
        F = self.member_predictions(X)
        known = {"held_out": mask, "sample_weight": sample_weight}
        made.gate_ = clone(gate).fit(X, F, y, **known)
        made._calibrate_gate(gate, X, F, y, **known)
        return made

    def _unseen(self, X: Any) -> BoolArray | None:
        """Return the mask of the rows that members left out, None for fresh rows."""
        recognise = self._as_roster().recognise
        found = None if recognise is None else recognise(self._prepared(X))
        if found == "same" and self.held_out_ is not None:
            return self.held_out_
        if found in ("same", "another order"):
            raise ValueError(
                "These are rows that the members were trained on, and who is right "
                "there says nothing about other rows. Give fresh rows; or let the "
                "committee keep some, CommitteeClassifier(..., gate=...)."
            )
        return None

    def _check_gate(self, generator: Generator, weigh_on: Any) -> None:
        """Refuse, before any work, a gate that would be fitted on training rows."""
        if self.gate is None:
            return
        if self.uncertainty:
            raise ValueError(
                "Intervals and sets are those of weights that are the same for all "
                "rows: uncertainty=True goes with gate=None only."
            )
        if weigh_on == "train" or (
            weigh_on == "held-out" and not generator.leaves_rows_out
        ):
            raise ValueError(
                "A gate has to know who is right on rows that the members have not "
                f"seen. {type(generator).__name__} with weigh_on={weigh_on!r} has none: "
                "give a fraction of the rows to split off, such as weigh_on=0.25."
            )

    def _fit_gate(self, F: FloatArray | None, rows: TrainingData) -> Self:
        """Fit the gate, if there is one, on the members that have a weight."""
        if self.gate is None:
            return self
        if F is None:  # of rows that were split off, for no combiner
            F = predict_members(
                self.roster_, self._prepared(rows.X), n_jobs=self.n_jobs
            )
        else:
            F = F[:, self.support_]
        known = {"held_out": self.held_out_, "sample_weight": rows.sample_weight}
        self.gate_ = clone(self.gate).fit(rows.X, F, rows.y, **known)
        self._calibrate_gate(self.gate, rows.X, F, rows.y, **known)
        return self

    def _calibrate_gate(
        self, gate: Gate, X: Any, F: FloatArray, y: Any, **known: Any
    ) -> None:
        """Calibrate probabilities of gates that were fitted without a row, if asked."""
        if self.calibration is None or F.ndim == 2:
            return
        rows = WeighingRows(np.asarray(y), known["sample_weight"], known["held_out"])
        sums, counted = gated_sums(gate, X, F, rows)
        if counted.any():
            s = counted if rows.weight is None else counted * rows.weight
            self._calibration = fit_calibration(
                *(self.calibration, as_probabilities(sums), rows.y.astype(np.intp)),
                s.astype(np.float64),
                sums=sums,
            )

    def _gated(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x)."""
        F = predict_members(self.roster_, self._prepared(X), n_jobs=self.n_jobs)
        return weighted_by_row(F, self._fitted_gate().weights(X, F))

    def _fitted_gate(self) -> Gate:
        if self.gate_ is None:
            raise AttributeError(
                f"This {type(self).__name__} has no gate: its weights are the same "
                "everywhere, weights_. Fit it with gate=..., or call with_gate."
            )
        return self.gate_

    @abstractmethod
    def _prepared(self, X: Any) -> Any:
        """Check X and return it as the members take it."""

    @abstractmethod
    def _as_roster(self) -> Roster:
        """Return the roster with what is known of the training rows."""

    @abstractmethod
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every member."""

    #: Returns labels or numbers, or raises ValueError.
    _check_y: Any
