"""A balanced tree of cells, and how wide their borders are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from committee._typing import BoolArray, FloatArray, IntArray
from committee.kernels import equal_steps

#: Rows, at equal steps, that decide the direction of a split.
_DIRECTION_ROWS = 2000
#: Projections that differ by less, relative to their range, are equal but for rounding.
_TIE = 1e-12
#: Rows that walk down the tree together.
_BLOCK = 65_536
#: Rows, at equal steps, that decide the width of borders, and steps of its bisection.
WIDTH_ROWS, _WIDTH_STEPS = 5000, 12


class Shares(NamedTuple):
    """The cells that predict each row, and their weights, in the order of the cells.

    Attributes
    ----------
    rows, cells : arrays of shape (P,)
    weights : array of shape (P,)
        Above zero; those of a row sum to one.
    """

    rows: IntArray
    cells: IntArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class CellTree:
    """Splits of space: x is on the right of split k where v_k'(x - centre) > t_k.

    Attributes
    ----------
    centre : array of shape (d,)
        The mean of the rows: a large offset would cost all digits.
    directions : array of shape (S, d)
        v_k, of length one.
    thresholds : array of shape (S,)
        t_k.
    children : int array of shape (S, 2)
        Left and right: the number of a split, or -1 - c for cell c.
    n_cells : int
        S + 1.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.cells import grow_tree
    >>> X = np.arange(8.0)[:, None]
    >>> tree, cells = grow_tree(X, max_cell=4)
    >>> [rows.tolist() for rows in cells]
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    >>> tree.cell_of([[1.0], [9.0]]).tolist()
    [0, 1]
    """

    centre: FloatArray
    directions: FloatArray
    thresholds: FloatArray
    children: IntArray

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.thresholds) + 1

    def cell_of(self, X: FloatArray) -> IntArray:
        """Return the cell of each row, (N,)."""
        cells = np.empty(len(X), dtype=np.intp)
        shares = self.shares(X, 0.0)
        cells[shares.rows] = shares.cells
        return cells

    def shares(self, X: FloatArray, width: float) -> Shares:
        """Return the cells that predict each row, with weights continuous in x.

            c_k(x) = h((v_k'x - t_k) / width)          to the right, 1 - c_k to the left

            h(u) = 0, (1 + u)^2 (2 - u) / 4, 1         for u <= -1, in between, u >= 1

        The weight of a cell is the product of those on the way to it. Away from all
        borders a row has one cell, near one of them two; at width 0 always its own.
        """
        X = np.asarray(X, dtype=np.float64)
        parts = [
            self._block_shares(X[start : start + _BLOCK] - self.centre, width, start)
            for start in range(0, max(len(X), 1), _BLOCK)
        ]
        rows, cells, weights = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )
        order = np.argsort(cells, kind="stable")
        return Shares(rows[order], cells[order], weights[order])

    def beyond(self, X: FloatArray, splits: IntArray) -> FloatArray:
        """Return v_k'(x - centre) - t_k for one split k a row, (N,)."""
        return self._beyond(X - self.centre, splits)

    def _beyond(self, X: FloatArray, splits: IntArray) -> FloatArray:
        """Return v_k'x - t_k for rows that are taken from the centre."""
        along = np.einsum("nd,nd->n", X, self.directions[splits])
        return along - self.thresholds[splits]  # type: ignore[no-any-return]

    def _block_shares(self, X: FloatArray, width: float, first: int) -> Shares:
        rows = np.arange(len(X))
        nodes = np.full(len(X), 0 if len(self.thresholds) else -1)
        weights = np.ones(len(X))
        found = []
        while True:
            done = nodes < 0
            found.append((rows[done] + first, -1 - nodes[done], weights[done]))
            if done.all():
                break
            rows, nodes, weights = rows[~done], nodes[~done], weights[~done]
            right = _ramp(self._beyond(X[rows], nodes), width)
            steps = []
            for side, share in enumerate((1.0 - right, right)):
                go = share > 0
                below = self.children[nodes[go], side]
                steps.append((rows[go], below, weights[go] * share[go]))
            rows, nodes, weights = (
                np.concatenate(part) for part in zip(*steps, strict=True)
            )
        return Shares(*(np.concatenate(part) for part in zip(*found, strict=True)))


def grow_tree(
    X: FloatArray,
    max_cell: int,
    centre: FloatArray | None = None,
    *,
    max_group: int = 0,
) -> tuple[CellTree, list[IntArray]]:
    """Split until no cell has more than `max_cell` rows.

    n rows are to become m = ceil(n / max_cell) cells of equal size: a split leaves n
    floor(m / 2) / m of them on the left, the least of their first principal component, or
    as near to that as rows that coincide allow. Only rows that are all alike are more
    than `max_cell` in a cell.

    Parameters
    ----------
    X : array of shape (N, d)
    max_cell : int
    centre : array of shape (d,), default=None
        None means the mean of the rows.
    max_group : int, default=0
        Leave groups of at most so many rows whole: the top of the tree alone.

    Returns
    -------
    tree : CellTree
    cells : list of arrays of row numbers, sorted
    """
    directions: list[FloatArray] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    cells: list[IntArray] = []
    centre = X.mean(axis=0) if centre is None else centre
    X = X - centre
    waiting: list[tuple[IntArray, int, int]] = [(np.arange(len(X)), -1, 0)]
    while waiting:
        rows, above, side = waiting.pop()
        m = -(-len(rows) // max_cell)
        whole = m == 1 or len(rows) <= max_group
        split = None if whole else _split(X[rows], len(rows) * (m // 2) // m)
        if split is None:
            node = -1 - len(cells)
            cells.append(rows)
        else:
            v, t, right = split
            node = len(thresholds)
            directions.append(v)
            thresholds.append(t)
            children.append([0, 0])
            waiting += [(rows[right], node, 1), (rows[~right], node, 0)]
        if above >= 0:
            children[above][side] = node
    tree = CellTree(
        centre,
        np.array(directions).reshape(-1, X.shape[1]),
        np.array(thresholds),
        np.array(children, dtype=np.intp).reshape(-1, 2),
    )
    return tree, cells


def border_width(tree: CellTree, X: FloatArray, per_row: float = 2.0) -> float:
    """Return the width at which the rows of X have `per_row` cells on average.

    Found by bisection of its logarithm, to one per cent. One length serves all
    splits: wherever two cells meet, cells of about the same size do.
    """
    if tree.n_cells == 1 or per_row <= 1.0:
        return 0.0
    X = X[equal_steps(len(X), WIDTH_ROWS)]
    per_row = min(per_row, (1.0 + tree.n_cells) / 2)
    root = np.zeros(len(X), dtype=np.intp)
    distance = float(np.abs(tree.beyond(X, root)).max())
    low, high = 1e-6 * distance, distance
    for _ in range(_WIDTH_STEPS):
        middle = float(np.sqrt(low * high))
        if len(tree.shares(X, middle).rows) < per_row * len(X):
            low = middle
        else:
            high = middle
    return high


def _split(X: FloatArray, n_left: int) -> tuple[FloatArray, float, BoolArray] | None:
    """Return v, t and which rows are right of it; None where all rows are alike."""
    v = _principal_direction(X)
    along = X @ v
    low, high = float(along.min()), float(along.max())
    tie = _TIE * max(abs(low), abs(high), float(np.abs(X).max()))
    if not high - low > 2 * tie:
        return None
    middle = float(np.partition(along, n_left)[n_left])
    # Rows tied with it go to one side: that which leaves the sizes nearest to the wanted.
    below, above = along < middle - tie, along > middle + tie
    n_below, n_above = int(below.sum()), int(above.sum())
    to_left = abs(n_below - n_left) > abs(len(along) - n_above - n_left)
    upper = above if n_above and (to_left or not n_below) else ~below
    t = _between(float(along[~upper].max()), float(along[upper].min()))
    return v, t, along > t


def _between(low: float, high: float) -> float:
    t = low + (high - low) / 2
    return t if t < high else low


def _principal_direction(X: FloatArray) -> FloatArray:
    """Return the direction in which X varies most, its largest entry positive."""
    if X.shape[1] == 1:
        return np.ones(1)
    X = X[equal_steps(len(X), _DIRECTION_ROWS)]
    X = X - X.mean(axis=0)
    largest = np.abs(X).max()
    if largest > 0:
        X /= largest
    d = X.shape[1]
    v: FloatArray = eigh(X.T @ X, subset_by_index=[d - 1, d - 1])[1][:, 0]
    return v if v[np.abs(v).argmax()] > 0 else -v


def _ramp(u: FloatArray, width: float) -> FloatArray:
    """Return h(u / width), the step at zero for width zero."""
    if width == 0.0:
        return (u > 0).astype(np.float64)
    u = np.clip(u / width, -1.0, 1.0)
    h: FloatArray = (1.0 + u) ** 2 * (2.0 - u) / 4.0
    return h
