"""Rows that occur more than once, which leave-one-out does not leave out."""

from __future__ import annotations

import warnings

import numpy as np

from committee._typing import FloatArray

#: Copies among the rows that are worth a warning.
_SHARE = 0.1


def warn_of_copies(X: FloatArray, Y: FloatArray) -> None:
    """Warn where many rows (N, d) and their targets (N, T) are copies of others.

    Leave-one-out finds the target of a row in its copy. Where equal rows have unequal
    targets they were measured again rather than copied, and nothing is wrong.
    """
    N = len(X)
    points = _n_distinct(X)
    # Rows that are all different need no second look.
    if N - points <= _SHARE * N or _n_distinct(np.hstack([X, Y])) != points:
        return
    warnings.warn(
        f"{N - points:,} of {N:,} rows are copies of others, in X and y. Leave-one-out "
        "predicts a row from its copy: the ridge that it chooses is too small, and "
        "errors and intervals look better than they are. Drop the copies; "
        "sample_weight may say how often a row occurs.",
        UserWarning,
        stacklevel=2,
    )


def _n_distinct(A: FloatArray) -> int:
    """Return the number of distinct rows, by a hash of 64 bits for each."""
    factors = np.random.default_rng(0).integers(2**63, size=A.shape[1], dtype=np.uint64)
    # Zero is added to make one of the two zeros; products of integers wrap around. Low
    # bits of a float are often zero, and those of a product too: high ones are mixed in.
    bits = (np.ascontiguousarray(A, dtype=np.float64) + 0.0).view(np.uint64)
    hashes = ((bits ^ (bits >> np.uint64(29))) * (2 * factors + np.uint64(1))).sum(
        axis=1
    )
    return len(np.unique(hashes))
