"""Points on the borders of cells, of all cells and of groups of them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.tree import CellTree


class BorderPoints(NamedTuple):
    """Points that lie on the border of two cells.

    Attributes
    ----------
    points : array of shape (P, d)
    owner, other : arrays of shape (P,)
        The cell of the row that the point comes from, and that behind the border.
    """

    points: FloatArray
    owner: IntArray
    other: IntArray

    def of_cell(self, c: int) -> tuple[IntArray, FloatArray]:
        """Return the numbers of a cell's points, and +1 where it owns them, else -1."""
        own, far = np.flatnonzero(self.owner == c), np.flatnonzero(self.other == c)
        sign = np.repeat([1.0, -1.0], [len(own), len(far)])
        return np.concatenate([own, far]), sign


def nearest_split(tree: CellTree, X: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the split on its way down that each row is nearest to, and v'x - t."""
    nearest = np.zeros(len(X), dtype=np.intp)
    distance = np.full(len(X), np.inf)
    nodes = np.zeros(len(X), dtype=np.intp)
    rows = np.arange(len(X) if len(tree.thresholds) else 0)
    while len(rows):
        at = nodes[rows]
        along = tree.beyond(X[rows], at)
        nearer = np.abs(along) < np.abs(distance[rows])
        nearest[rows[nearer]], distance[rows[nearer]] = at[nearer], along[nearer]
        nodes[rows] = tree.children[at, (along > 0).astype(np.intp)]
        rows = rows[nodes[rows] >= 0]
    return nearest, distance


def border_points(
    tree: CellTree,
    X: FloatArray,
    cells: list[IntArray],
    per_cell: int,
    first: int = 0,
) -> BorderPoints:
    """Return points on the borders: the `per_cell` rows of each cell nearest to one.

        b = x - (v'x - t) v

    with the nearest split on the way to x: no other split is crossed, so b is on the
    border of the cell of x. The cells are those of the tree from number `first` on.
    """
    found: list[BorderPoints] = [
        BorderPoints(
            np.empty((0, X.shape[1])), np.empty(0, np.intp), np.empty(0, np.intp)
        )
    ]
    if tree.n_cells > 1:
        for c, rows in enumerate(cells, first):
            split, along = nearest_split(tree, X[rows])
            near = np.argsort(np.abs(along), kind="stable")[:per_cell]
            split, along = split[near], along[near]
            b = X[rows[near]] - along[:, None] * tree.directions[split]
            behind = tree.children[split, (along <= 0).astype(np.intp)]
            other = _descend(tree, b, behind)
            found.append(BorderPoints(b, np.full(len(b), c), other))
    return BorderPoints(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _descend(tree: CellTree, X: FloatArray, nodes: IntArray) -> IntArray:
    """Return the cells in which rows arrive that start at given nodes."""
    nodes = nodes.copy()
    rows = np.flatnonzero(nodes >= 0)
    while len(rows):
        at = nodes[rows]
        right = tree.beyond(X[rows], at) > 0
        nodes[rows] = tree.children[at, right.astype(np.intp)]
        rows = rows[nodes[rows] >= 0]
    return -1 - nodes


class GroupBorders(NamedTuple):
    """The border points of the cells of a group.

    Attributes
    ----------
    points : BorderPoints
        Cells are numbered from the first of the group; others lie outside 0, 1, ...
    numbers : array of shape (P,)
        Of these points among those of all groups, increasing.
    """

    points: BorderPoints
    numbers: IntArray


def borders_of_groups(borders: BorderPoints, firsts: IntArray) -> list[GroupBorders]:
    """Return the points of every group; `firsts` are its first cells, and their number.

    A point between two groups is in both.
    """
    found = []
    for first, end in itertools.pairwise(firsts.tolist()):
        ends = np.stack([borders.owner, borders.other])
        numbers = np.flatnonzero(((ends >= first) & (ends < end)).any(axis=0))
        owner, other = ends[:, numbers] - first
        points = BorderPoints(borders.points[numbers], owner, other)
        found.append(GroupBorders(points, numbers))
    return found
