"""Weighted rounds of a booster, asked in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee._typing import FloatArray, Member
from committee.ensembles.rebuild import rebuild
from committee.ensembles.rounds import (
    LightGBMRound,
    Round,
    XGBoostRound,
    margin_rows,
    raw_predictions,
)


class Together:
    """The booster that weighted rounds make up: one call instead of one for each.

        sum_m w_m F_m(x),   from raw(x) = sum_m w_m (start + M h_m(x))

    Parameters
    ----------
    rounds : sequence of Round
    weights : array of shape (k,)
    """

    def __init__(self, rounds: Sequence[Round], weights: FloatArray) -> None:
        self.shared = rounds[0].shared
        self.kind = type(rounds[0])
        self.model = rebuild(rounds, weights)
        self.total = float(np.sum(weights))

    def __call__(self, X: Any) -> FloatArray:
        """Return sum_m w_m F_m, of shape (N,) or (N, K)."""
        raw = np.asarray(self._raw(X), dtype=np.float64)
        spoken = self.shared.spoken(raw.reshape(len(raw), -1))
        if spoken.ndim == 1:
            return spoken
        # Each F_m sums to one over the classes, and `spoken` counts one of them.
        shifted: FloatArray = spoken + (self.total - 1.0) / spoken.shape[1]
        return shifted

    def _raw(self, X: Any) -> Any:
        """Return what the booster says before its link."""
        if self.kind is LightGBMRound:
            return self.model.predict(X, raw_score=True)
        if self.kind is not XGBoostRound:
            return raw_predictions(self.model, X)
        if hasattr(self.model, "get_booster"):
            return self.model.predict(X, output_margin=True)
        rows = margin_rows(self.model, self.shared, X, from_zero=False)
        return self.model.predict(rows, output_margin=True)


def together(members: Sequence[Member], weights: FloatArray) -> Together | None:
    """Return the booster of weighted rounds, None for other members or no booster.

    A start that depends on x has no booster unless the weights sum to one.
    """
    if not all(isinstance(member, Round) for member in members):
        return None
    try:
        return Together(members, weights)
    except ValueError:
        return None
