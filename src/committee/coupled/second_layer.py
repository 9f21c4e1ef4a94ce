"""The second layer of a coupled ensemble: weights of the members from a combiner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiner_names import as_combiner
from committee.diagnostics.correlation import scaled_error_correlation
from committee.linalg import solve_simplex


def needs_rows(combiner: Any, n_members: int) -> bool:
    """Return whether the weights depend on predictions."""
    combiner = as_combiner(combiner)
    if combiner is None:
        return n_members > 1
    return bool(getattr(combiner, "needs_rows", True))


def unseen_rows(rows: IntArray, subsets: Sequence[IntArray]) -> BoolArray:
    """Return (n, M): True where the member was not trained on the row."""
    last = max(int(subset[-1]) for subset in (rows, *subsets))
    owner = np.full(last + 1, -1)  # -1: rows that were split off
    for j, subset in enumerate(subsets):
        owner[subset] = j
    unseen: BoolArray = owner[rows][:, None] != np.arange(len(subsets))
    return unseen


def fit_weights(
    combiner: Any,
    F: FloatArray | None,
    targets: Any,
    n_members: int,
    unseen: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the weights w, (M,), and fit the combiner.

    Parameters
    ----------
    combiner : combiner or None
        None solves for the weights of least squared error on the simplex.
    F : array of shape (N, M) or (N, M, K), or None
        None where `needs_rows` is False.
    targets : array of shape (N,)
    n_members : int
        M.
    unseen : bool array of shape (N, M), optional
        Count a member's prediction only where this is True.
    sample_weight : array of shape (N,), optional
    """
    if F is None:
        if combiner is None:
            return np.ones(1)
        # Only M matters to a combiner that needs no rows.
        return combiner.fit(np.zeros((1, n_members)), [0.0]).weights_  # type: ignore[no-any-return]
    if combiner is None:
        C, _ = scaled_error_correlation(F, targets, unseen, sample_weight)
        return solve_simplex(C)
    combiner.fit(F, targets, held_out=unseen, sample_weight=sample_weight)
    if getattr(combiner, "floor_", None) is not None:
        raise ValueError(
            "A coupled ensemble adds up what its members predict, and a log pool their "
            "logarithms: take a combiner that averages, such as SimplexWeights."
        )
    return combiner.weights_  # type: ignore[no-any-return]
