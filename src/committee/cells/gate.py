"""How wide the borders between cells are: as wide as makes a row ask so many cells."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray
from committee.cells.tree import CellTree

#: Rows, at equal steps, that decide the width.
_WIDTH_ROWS = 5000
_STEPS = 12


def border_width(tree: CellTree, X: FloatArray, asked: float = 2.0) -> float:
    """Return the width at which the rows of X ask `asked` cells on average.

    Found by bisection of its logarithm, to one per cent. One length serves all
    splits: wherever two cells meet, cells of about the same size do.
    """
    if tree.n_cells == 1 or asked <= 1.0:
        return 0.0
    if len(X) > _WIDTH_ROWS:
        X = X[np.linspace(0, len(X) - 1, _WIDTH_ROWS).astype(np.intp)]
    asked = min(asked, (1.0 + tree.n_cells) / 2)
    root = np.zeros(len(X), dtype=np.intp)
    distance = float(np.abs(tree.beyond(X, root)).max())
    low, high = 1e-6 * distance, distance
    for _ in range(_STEPS):
        middle = float(np.sqrt(low * high))
        if len(tree.shares(X, middle).rows) < asked * len(X):
            low = middle
        else:
            high = middle
    return high
