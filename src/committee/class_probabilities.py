"""From the weighted sums of a committee to class probabilities, calibrated or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from committee._typing import FloatArray
from committee.calibration import Calibration
from committee.combiners import Combiner
from committee.crossfit import share_unit
from committee.ensembles import Roster
from committee.held_members import HeldMembers
from committee.probabilities import (
    as_probabilities,
    slope_probabilities,
    softmax_probabilities,
)


class ClassProbabilities(HeldMembers):
    """A committee that knows what its weighted sums mean.

    In `_calibration` is what calibrates it; what `prune` returns finds it on first use.
    """

    #: Files of older versions have none.
    calibration: str | None = None

    combiner_: Combiner | None
    _calibration: Calibration | None

    @property
    def calibration_(self) -> Calibration | None:
        """What calibrates the probabilities; None where nothing does.

        Found on rows that neither members nor weights have seen: by `fit`, or for a
        committee made by `prune` on first use. Rounds of a booster have none: their
        weights are scaled instead. Too few rows for folds leave it out.
        """
        self._fitted_roster()
        if "_calibration" in self.__dict__ or not hasattr(self, "path_"):
            return self.__dict__.get("_calibration")
        if self.calibration is None or "_slope" in self.__dict__:
            return None
        return self.path_.assessment.calibration(self.support_)  # type: ignore[no-any-return]

    @property
    def slope_(self) -> float | None:
        """Slope of the calibration, one for all classes.

        None where there is no calibration, or a slope for each class.
        """
        found = self.calibration_
        return None if found is None or found.offset is not None else found.slope

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return probabilities of the weighted sums (N, K)."""
        if "_slope" in self.__dict__:  # of a file of an older version: exp(b s_k)
            b = self._slope
            return (
                as_probabilities(scores)
                if b is None
                else slope_probabilities(scores, b)
            )
        return self._calibrated(self._own_probabilities(scores), scores)

    def _calibrated(
        self, p: FloatArray, sums: FloatArray, variance: FloatArray | None = None
    ) -> FloatArray:
        """Return calibrated probabilities of p and of weighted sums, both (N, K)."""
        found = self.calibration_
        return p if found is None else found(p, sums, variance)

    def _own_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return what is calibrated: shares, a softmax, or the rule of the combiner."""
        link = self.roster_.link
        if link == "softmax":
            return softmax_probabilities(scores)
        if link == "mean" or self.combiner_ is None:
            return as_probabilities(scores)
        # The weights of a pruned committee are shares of those of its combiner.
        unit = share_unit(self.combiner_.weights_) if link == "slope" else 1.0
        return self.combiner_.probabilities(unit * scores)

    def _decided(self, scores: FloatArray) -> Any:
        """Return class codes: those of the largest sums, which a slope leaves largest."""
        found = self.calibration_
        by = (
            scores
            if found is None or found.keeps_order
            else self._probabilities(scores)
        )
        return by.argmax(axis=1)

    def _as_roster(self) -> Roster:
        """Return the roster with what is known of rows and probabilities."""
        known: Roster = super()._as_roster()
        return replace(
            known, probabilities=self._probabilities, calibrated=self._calibrated
        )

    def __getstate__(self) -> Any:
        """Find the calibration while the rows are there: a copy has none."""
        state = super().__getstate__()
        if hasattr(self, "path_"):
            state["_calibration"] = self.calibration_
        return state

    def __delattr__(self, name: str) -> None:
        """Find the calibration before the rows of `path_` are given up."""
        if name == "path_":
            self._calibration = self.calibration_
        super().__delattr__(name)
