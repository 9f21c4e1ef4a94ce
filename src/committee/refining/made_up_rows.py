"""Rows that nobody has labelled, like those that somebody has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from committee._typing import FloatArray, IntArray

#: Neighbours that a row may take columns from.
_NEIGHBOURS = 20
#: Rows among which neighbours are looked for, at most: the search is quadratic.
_SEARCHED = 10_000


class MadeUp(NamedTuple):
    """Rows (S, n_features), and the rows of X, (S,) each, that they are made of."""

    X: FloatArray
    base: IntArray
    other: IntArray


def made_up_rows(X: FloatArray, n: int, rng: np.random.RandomState) -> MadeUp:
    """Return n rows: each a row of X with half of its columns from a neighbour.

    The neighbour is one of the 20 nearest, in units of the columns' spread; missing
    values count as the mean there, and are handed on as they are. All rows are used
    equally often, and every second made-up row has the halves of the one before the other
    way round: both lower the part of chance in a model that is fitted to them.

    Parameters
    ----------
    X : array of shape (N, n_features)
    n : int
    rng : RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from committee.refining.made_up_rows import made_up_rows
    >>> X = np.arange(6.0)[:, None] * np.ones(4)
    >>> made_up_rows(X, 3, np.random.RandomState(0)).X.shape
    (3, 4)
    """
    some = np.arange(len(X))
    if len(X) > _SEARCHED:
        some = np.sort(rng.permutation(len(X))[:_SEARCHED])
    X = X[some]
    N, width = X.shape
    pairs = (n + 1) // 2
    base = np.resize(rng.permutation(N), pairs)
    other = base
    if N > 1:
        k = min(_NEIGHBOURS, N - 1)
        near = NearestNeighbors(n_neighbors=k).fit(_in_units(X))
        other = near.kneighbors(return_distance=False)[base, rng.randint(k, size=pairs)]
    # At random which half; one column of one is taken with probability one half.
    half = width // 2 + (width % 2) * rng.randint(2, size=(pairs, 1))
    taken = rng.random_sample((pairs, width)).argsort(axis=1) < half
    base, other = np.repeat(base, 2)[:n], np.repeat(other, 2)[:n]
    taken = np.stack([taken, ~taken], axis=1).reshape(-1, width)[:n]
    made = np.asarray(np.where(taken, X[other], X[base]))
    return MadeUp(made, some[base], some[other])


def _in_units(X: FloatArray) -> FloatArray:
    """Return the columns with mean zero and spread one, zero where they are missing."""
    X = np.where(np.isfinite(X), X, np.nan)
    known = np.isfinite(X)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, X, 0).sum(axis=0) / count
    centred = np.where(known, X - mean, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / count)
    return centred / np.where(spread > 0, spread, 1.0)
