"""Rows of a smooth surface, in memory and in chunks that Dask's threads have."""

from itertools import pairwise

import numpy as np

from committee.cells import CellOptions
from committee.cells.choose import Part
from committee.cells.groups import RowChunks
from committee.distributed.chunks import Chunks, shared

N = 400


def surface(n=N, T=2, seed=0):
    """Return X (n, 3), Y (n, T) and weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 3))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.standard_normal(n)
    Y = np.stack([y + t * X[:, 2] for t in range(T)], axis=1)
    return Part(X, Y, rng.uniform(0.5, 2.0, n))


def in_chunks(part, cuts=(60, 60, 250)):
    """Return the rows in chunks that end at the cuts; one of them is empty."""
    bounds = [0, *cuts, len(part.X)]
    pieces = [
        Part(*(a[start:stop] for a in part)) if stop > start else None
        for start, stop in pairwise(bounds)
    ]
    return RowChunks(Chunks([shared(piece) for piece in pieces]), np.diff(bounds))


def options(**changes):
    """Return options that leave nothing to choose."""
    given = {"kernel": "matern32", "gamma": 0.3, "alpha": 0.1, "couplings": (1.0,)}
    return CellOptions(**{"max_cell": 30, "n_coupling": 8, **given, **changes})
