"""Subsets, coupling points and rows to weigh on: given and checked, or drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from committee._typing import FloatArray, IntArray
from committee._validation import count_of

#: Rows that weigh the members, and at least so many per member.
_WEIGHING_ROWS, _ROWS_PER_MEMBER = 1000, 2


def draw_subsets(
    rows: IntArray, n_members: int, rng: np.random.RandomState
) -> list[IntArray]:
    """Return sorted, disjoint, random subsets; sizes differ by one row at most.

    Raise ValueError if a subset would have less than two rows.
    """
    if len(rows) < 2 * n_members:
        raise ValueError(
            f"n_members={n_members} needs at least {2 * n_members} training rows, two "
            f"for each subset. Got n_samples={len(rows)}."
        )
    parts = np.array_split(rng.permutation(rows), n_members)
    return [np.sort(part) for part in parts]


def check_subsets(
    subsets: Any, n_members: int | None, n_rows: int, counted: IntArray
) -> list[IntArray]:
    """Return given subsets sorted, without the rows that do not count.

    Parameters
    ----------
    subsets : sequence of array-likes of row numbers
        D_j, disjoint. Rows may be in none.
    n_members : int or None
        None takes any number of subsets.
    n_rows : int
    counted : array of row numbers
        Rows with a positive weight.
    """
    is_list = np.iterable(subsets) and not isinstance(subsets, str)
    # Lists of different lengths become an array of objects, refused below.
    found = [_as_array(part) for part in subsets] if is_list else []
    if not found or n_members not in (None, len(found)):
        number = "" if n_members is None else f"{n_members} "
        each = "expert" if n_members is None else f"of n_members={n_members}"
        raise ValueError(
            f"subsets must be {number}lists of row numbers, one for each {each}. "
            f"Got {len(found) if is_list else repr(subsets)}."
        )
    for j, part in enumerate(found):
        if part.ndim != 1 or not len(part) or part.dtype.kind not in "iu":
            raise ValueError(
                f"subsets[{j}] must be a non-empty list of row numbers. Got dtype "
                f"{part.dtype} and shape {part.shape}."
            )
        if not (part.min() >= 0 and part.max() < n_rows):
            raise ValueError(
                f"subsets[{j}] must have row numbers from 0 to {n_rows - 1}. Got "
                f"{part.min()} to {part.max()}."
            )
    numbers, times = np.unique(np.concatenate(found), return_counts=True)
    if np.any(times > 1):
        raise ValueError(
            f"subsets must be disjoint. Row {numbers[times > 1][0]} occurs "
            f"{times.max()} times."
        )
    kept = [np.intersect1d(part, counted).astype(np.intp) for part in found]
    if not all(len(part) for part in kept):
        empty = [len(part) for part in kept].index(0)
        raise ValueError(
            f"subsets[{empty}] must have at least one row with a positive weight."
        )
    return kept


def _as_array(part: Any) -> Any:
    try:
        return np.asarray(part)
    except ValueError:
        return np.asarray(part, dtype=object)


def draw_coupling(
    X: FloatArray, n_coupling: float, coupling_set: str, rng: np.random.RandomState
) -> FloatArray:
    """Return X_c, (n_c, d): some of the training rows X, centres, or points in their box.

    A float `n_coupling` is a fraction of the training rows.
    """
    n = count_of(n_coupling, len(X))
    if coupling_set == "box":
        low, high = X.min(axis=0), X.max(axis=0)
        return rng.uniform(low, high, size=(n, len(low)))
    if n > len(X):
        raise ValueError(
            f"n_coupling={n} points cannot be drawn from {len(X)} training rows: "
            'give at most that many, or coupling_set="box".'
        )
    if coupling_set == "centres":
        # Copies of a row have one centre.
        n = min(n, len(np.unique(X, axis=0)))
        return np.asarray(KMeans(n, n_init=1, random_state=rng).fit(X).cluster_centers_)
    return X[np.sort(rng.choice(len(X), size=n, replace=False))]


def draw_weighing(
    rows: IntArray, n_members: int, rng: np.random.RandomState
) -> IntArray:
    """Return at most 1000 rows to weigh on, or two for each member, sorted."""
    n = max(_WEIGHING_ROWS, _ROWS_PER_MEMBER * n_members)
    return np.sort(rng.permutation(rows)[:n])
