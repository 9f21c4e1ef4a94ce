"""Members behind a gate: sum_m g_m(x) f_m(x) instead of sum_m w_m f_m(x)."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from committee._typing import BoolArray, FloatArray, Member
from committee._validation import label_codes
from committee.calibration import Calibration, fit_calibration
from committee.crossfit import gated_sums
from committee.deviations import check_std, predict_with_std
from committee.distributed import is_dask, lazy_rows
from committee.ensembles import Roster
from committee.export.gated import LinearGate
from committee.gates import Gate, SoftmaxGate
from committee.held_members import HeldMembers
from committee.members import Generator, TrainingData
from committee.predictions import predict_members, weighted_by_row
from committee.probabilities import as_probabilities
from committee.weighing_rows import WeighingRows

#: What belongs to other weights than those of a gate.
_CALIBRATED = ("_slope", "_calibration")


class GatedMembers(HeldMembers):
    """A committee whose gate, if it has one, says which member counts where."""

    gate: Gate | None = None
    uncertainty: bool = False
    calibration: str | None = None
    _calibration: Calibration | None
    gate_: Gate | None = None
    held_out_: BoolArray | None
    n_jobs: int | None

    @lazy_rows(tail=lambda committee: (len(committee.members_),))
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
        self._fitted_roster()
        return self._predicted(X, self._fitted_gate())[1]

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
        if not isinstance(gate, Gate):
            raise TypeError(
                f"gate must be a gate, such as SoftmaxGate(). Got {gate!r} instead."
            )
        if is_dask(X):
            raise TypeError("A gate sees all rows at once: compute() as many as fit.")
        if self.roster_.output == "scores":
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
        if gate.needs_std:
            check_std(self.roster_.members, type(gate).__name__)
        made.gate_ = made._fitted_on(gate, X, None, y, mask, sample_weight)
        made._calibrate_gate(gate, X, None, y, mask, sample_weight)
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
        if self.gate.needs_std:
            check_std(self._estimators(), type(self.gate).__name__)
        if (
            self.gate.fits_on_std
            and weigh_on == "held-out"
            and not hasattr(generator, "sample")
        ):
            raise ValueError(
                f"{type(self.gate).__name__} has to know the members' standard "
                "deviations on rows that they have not seen. "
                f"{type(generator).__name__} trains them on all rows: give a fraction of "
                "the rows to split off, such as weigh_on=0.25, or take "
                f"{type(self.gate).__name__}(calibrate=False)."
            )

    def _fit_gate(self, F: FloatArray | None, rows: TrainingData) -> Self:
        """Fit the gate, if there is one, on the members that have a weight."""
        if self.gate is None:
            return self
        if F is not None:  # else of rows that were split off, for no combiner
            F = F[:, self.support_]
        known = rows.y, self.held_out_, rows.sample_weight
        self.gate_ = self._fitted_on(self.gate, rows.X, F, *known)
        self._calibrate_gate(self.gate, rows.X, F, *known)
        return self

    def _calibrate_gate(
        self, gate: Gate, X: Any, F: FloatArray | None, y: Any, mask: Any, s: Any
    ) -> None:
        """Calibrate probabilities of gates that were fitted without a row, if asked."""
        if self.calibration is None or self.roster_.classes is None:
            return
        if F is None:
            F = predict_members(self.roster_, self._prepared(X), n_jobs=self.n_jobs)
        rows = WeighingRows(np.asarray(y), s, mask)
        sums, counted = gated_sums(gate, X, F, rows)
        if counted.any():
            weight = counted if rows.weight is None else counted * rows.weight
            self._calibration = fit_calibration(
                *(self.calibration, as_probabilities(sums), rows.y.astype(np.intp)),
                weight.astype(np.float64),
                sums=sums,
            )

    def _fitted_on(
        self, gate: Gate, X: Any, F: FloatArray | None, y: Any, mask: Any, s: Any
    ) -> Gate:
        """Return a fitted clone; F is asked of the members where it is not known."""
        gate, std = clone(gate), {}
        if gate.fits_on_std:
            F, std["std"] = predict_with_std(
                self.roster_, self._prepared(X), n_jobs=self.n_jobs
            )
        elif F is None:
            F = predict_members(self.roster_, self._prepared(X), n_jobs=self.n_jobs)
        return gate.fit(X, F, y, held_out=mask, sample_weight=s, **std)

    def _gated(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x)."""
        return weighted_by_row(*self._predicted(X, self._fitted_gate()))

    def _predicted(self, X: Any, gate: Gate) -> tuple[FloatArray, FloatArray]:
        """Return F, and the gate's weights G."""
        rows = self._prepared(X)
        if gate.needs_std:
            F, S = predict_with_std(self.roster_, rows, n_jobs=self.n_jobs)
            return F, gate.weights(X, F, std=S)  # type: ignore[call-arg]
        F = predict_members(self.roster_, rows, n_jobs=self.n_jobs)
        return F, gate.weights(X, F)

    def _linear_gate(self) -> LinearGate:
        """Return the gate as numbers, if it is linear in x."""
        gate = self._fitted_gate()
        if isinstance(gate, SoftmaxGate):
            return gate.linear_form()
        raise ValueError(
            "to_onnx writes gates that are linear in x, such as SoftmaxGate. "
            f"{type(gate).__name__} is not: use committee.save, or "
            "committee.with_gate(SoftmaxGate(), X, y)."
        )

    def _fitted_gate(self) -> Gate:
        if self.gate_ is None:
            raise AttributeError(
                f"This {type(self).__name__} has no gate: its weights are the same "
                "everywhere, weights_. Fit it with gate=..., or call with_gate."
            )
        return self.gate_

    @abstractmethod
    def _estimators(self) -> Sequence[Member]:
        """Return the unfitted estimators behind the members."""

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
