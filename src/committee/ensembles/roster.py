"""What is known about a fitted ensemble, whoever trained it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from committee._typing import BoolArray, FloatArray, IntArray, Member, Votes


@dataclass(frozen=True)
class Roster:
    """The members of a fitted ensemble, and how to ask them.

    Attributes
    ----------
    members : list of fitted estimators
    weights : array of shape (M,) or None
        The ensemble's own weights, with sum one; None where it does not average
        its members (a median, a second layer).
    classes : array of shape (K,) or None
        Labels in the order of F's last axis; None for regression.
    member_classes : array of shape (K,) or None
        The same classes as the members name them: labels, or codes 0..K-1.
    votes : {"soft", "hard", "scores"}
    transformer : fitted transformer or None
        Applied to X once, before all members.
    arrays : bool
        Whether the members were trained on plain arrays, whatever X was.
    held_out : callable or None
        Given N, returns the mask (N, M) of the rows that members did not see, or
        raises ValueError if these cannot be the training rows.
    oob_prediction : array of shape (N,) or (N, K), or None
        What the ensemble itself has said out of bag, NaN where nobody did: by this
        its training rows are recognised.
    no_oob_reason : str
        Where `held_out` is None: why, and what to do about it.
    staged_predictions : callable or None
        Given X as the members take it, yields their predictions in order, faster
        than one member at a time.
    """

    members: list[Member]
    weights: FloatArray | None
    classes: Any = None
    member_classes: Any = None
    votes: Votes = "soft"
    transformer: Any = None
    arrays: bool = False
    held_out: Callable[[int], BoolArray] | None = None
    oob_prediction: FloatArray | None = None
    no_oob_reason: str = "It does not record which rows each member was trained on."
    staged_predictions: Callable[[Any], Iterator[FloatArray]] | None = None

    def __len__(self) -> int:
        """M."""
        return len(self.members)

    def prepared(self, X: Any) -> Any:
        """Return X as the members take it."""
        if self.transformer is not None:
            X = self.transformer.transform(X)
        if self.arrays and hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        return X


def unseen_rows(seen: Sequence[IntArray], n_rows: int) -> BoolArray:
    """Return the mask (N, M): True where a row is not among those a member saw."""
    mask = np.ones((n_rows, len(seen)), dtype=bool)
    for m, rows in enumerate(seen):
        mask[rows, m] = False
    return mask
