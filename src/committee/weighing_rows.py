"""The rows that an ensemble is pruned on, and errors on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_sample_weight,
    label_codes,
    n_rows,
)
from committee.diagnostics.missing_votes import FilledVotes
from committee.ensembles import Roster


@dataclass(frozen=True, eq=False)
class WeighingRows:
    """Checked targets, weights and the held-out mask of N rows.

    Attributes
    ----------
    y : array of shape (N,)
        Numbers, or the positions of the labels in the ensemble's classes.
    weight : array of shape (N,) or None
    held_out : bool array of shape (N, M) or None
    """

    y: FloatArray | IntArray
    weight: FloatArray | None
    held_out: BoolArray | None

    def take(self, rows: IntArray) -> WeighingRows:
        """Return some of the rows."""
        return WeighingRows(
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.held_out is None else self.held_out[rows],
        )

    @property
    def measure(self) -> str:
        """What the mean of the losses is."""
        return "mean squared error" if self.y.dtype.kind == "f" else "error rate"

    def losses(self, predicted: FloatArray | IntArray) -> FloatArray:
        """Return 1 for a wrong class, or the squared error, by row."""
        if self.y.dtype.kind != "f":
            return np.asarray(predicted != self.y, dtype=np.float64)
        return np.asarray((predicted - self.y) ** 2)

    def baseline(self) -> float:
        """Return the most frequent class, or the mean: a prediction without members."""
        if self.y.dtype.kind == "f":
            return float(np.average(self.y, weights=self.weight))
        return float(np.bincount(self.y, self.weight).argmax())

    def mean(self, losses: FloatArray, counted: BoolArray) -> tuple[float, float]:
        """Return the weighted mean over the counted rows, and its standard error."""
        s = counted if self.weight is None else counted * self.weight
        s = s / s.sum()
        mean = float(s @ losses)
        return mean, float(np.sqrt((s**2) @ (losses - mean) ** 2))

    def error(self, F: FloatArray, w: FloatArray) -> tuple[float, float]:
        """Return the error of weights (M,) on F, and its standard error."""
        votes = FilledVotes.of(F, self.y, self.held_out)
        return self.mean(votes.losses(w), votes.counted)

    def check_oob(self, roster: Roster, F: FloatArray) -> None:
        """Refuse rows on which the ensemble's own out-of-bag output was another.

        Without the right rows in their order a mask of unseen rows is wrong, and
        pruning would be misled without a sign.
        """
        if self.held_out is None or roster.oob_prediction is None:
            return
        votes = FilledVotes.of(F, self.y, self.held_out)
        recorded = roster.oob_prediction.reshape(len(F), -1)
        known = votes.counted & np.isfinite(recorded).all(axis=1)
        same = np.isclose(
            votes.mean[known], roster.oob_prediction[known], rtol=1e-6, atol=1e-6
        )
        # A regressor writes 0 where no member had a vote; a few rows may do so.
        if same.mean() < 0.9:
            raise ValueError(
                "oob=True needs the rows that the ensemble was trained on, in their "
                "order. Its own out-of-bag predictions are not those of these rows."
            )


def decided(output: FloatArray) -> FloatArray | IntArray:
    """Return the class codes of scores (N, K); numbers (N,) as they are."""
    return output if output.ndim == 1 else output.argmax(axis=1)


def checked_rows(
    roster: Roster, X: Any, y: Any, *, oob: bool, sample_weight: Any
) -> WeighingRows:
    """Check y and the weights against X, and find the held-out mask for `oob`."""
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    y = _numbers(y) if roster.classes is None else label_codes(y, roster.classes)
    held_out = None
    if oob:
        if roster.held_out is None:
            raise ValueError(f"oob=True is not possible here. {roster.no_oob_reason}")
        held_out = roster.held_out(n_rows(X))
        check_held_out(held_out, held_out.shape)
    return WeighingRows(y, check_sample_weight(sample_weight, X), held_out)


def _numbers(y: Any) -> FloatArray:
    """Return the targets of a regression."""
    try:
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "The ensemble predicts numbers, but y holds values such as "
            f"{y[:3].tolist()}."
        ) from None
    assert_all_finite(y, input_name="y")
    return np.asarray(y)
