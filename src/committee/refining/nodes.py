"""The nodes of several trees in one table, and the leaves that are left of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee._typing import BoolArray, FloatArray, IntArray


class Nodes:
    """Nodes of k trees, one tree below the other; a child is below its parent.

    A *cut* is a mask over the nodes: True where a node becomes a leaf, so that all below
    it goes. Cutting changes no row of this table; it says which rows are leaves.

    Parameters
    ----------
    trees : sequence of `tree_` of scikit-learn
    values : sequence of arrays (n_nodes_m, T)
        What the nodes of each tree predict.
    signs : sequence of int arrays (n_nodes_m,), default=None
        1 where the last target must not fall from the left to the right of a split, -1
        where it must not rise, 0 where it is free. Defaults to 0.

    Attributes
    ----------
    start : int array of shape (k + 1,)
        Where each tree begins.
    left, right, parent : int arrays of shape (n_nodes,)
        Rows of this table, -1 where there is none.
    n : float array of shape (n_nodes,)
        Weight of the training rows in a node.
    n_rows : int array of shape (n_nodes,)
        How many they are.
    value : float array of shape (n_nodes, T)
    sign : int array of shape (n_nodes,)
    """

    def __init__(
        self,
        trees: Sequence[Any],
        values: Sequence[FloatArray],
        signs: Sequence[IntArray] | None = None,
    ) -> None:
        self.start = np.cumsum([0, *(tree.node_count for tree in trees)])
        self.left = self._joined(trees, lambda tree: tree.children_left)
        self.right = self._joined(trees, lambda tree: tree.children_right)
        self.n = np.concatenate([tree.weighted_n_node_samples for tree in trees])
        self.n_rows = np.concatenate([tree.n_node_samples for tree in trees])
        self.value = np.concatenate(values)
        self.sign = np.zeros(len(self.left), dtype=np.intp)
        if signs is not None:
            self.sign = np.where(self.left >= 0, np.concatenate(signs), 0)
        self.parent = np.full(len(self.left), -1)
        inner = np.flatnonzero(self.left >= 0)
        self.parent[self.left[inner]] = self.parent[self.right[inner]] = inner

    def _joined(
        self, trees: Sequence[Any], children: Callable[[Any], IntArray]
    ) -> IntArray:
        parts = [
            np.where(children(tree) < 0, -1, children(tree) + first)
            for tree, first in zip(trees, self.start, strict=False)
        ]
        return np.concatenate(parts)

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.left)

    @cached_property
    def levels(self) -> list[IntArray]:
        """The nodes by depth, the roots first."""
        return levels_of(self.start[:-1], self.left, self.right)

    @property
    def leaf(self) -> BoolArray:
        """The cut that changes nothing."""
        return np.asarray(self.left < 0)

    def sums(self, at_leaves: FloatArray) -> NDArray[np.float64]:
        """Return for every node the sum over the leaves below it.

        `at_leaves` has a row for each node; those of inner nodes are not looked at.
        """
        leaf = self.leaf
        total = np.where(leaf.reshape(-1, *[1] * (at_leaves.ndim - 1)), at_leaves, 0.0)
        for level in reversed(self.levels):
            inner = level[~leaf[level]]
            total[inner] = total[self.left[inner]] + total[self.right[inner]]
        return total

    def outermost(self, cut: BoolArray) -> IntArray:
        """Return for every node the first node on its path from the root that is cut.

        -1 above all cuts. A leaf of the trees is always one.
        """
        found = np.where(self.leaf | cut, np.arange(len(self)), -1)
        for level in self.levels[1:]:
            above = found[self.parent[level]]
            found[level] = np.where(above >= 0, above, found[level])
        return found

    def columns(self, cut: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the leaves that remain after a cut, (L,), and the new number of each node.

        The latter is -1 at nodes above the leaves.
        """
        outermost = self.outermost(cut)
        leaves = np.flatnonzero(outermost == np.arange(len(self)))
        number = np.full(len(self) + 1, -1)
        number[leaves] = np.arange(len(leaves))
        return leaves, number[outermost]


def levels_of(roots: IntArray, left: IntArray, right: IntArray) -> list[IntArray]:
    """Return the nodes of trees by depth, the roots first; leaves have children -1."""
    found, level = [], roots
    while len(level):
        found.append(level)
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    return found


def values_without(
    nodes: Nodes,
    rows: IntArray,
    seen: BoolArray,
    y: FloatArray,
    weight: FloatArray,
    left_out: BoolArray,
) -> FloatArray:
    """Return the values of all nodes without some of the rows.

        v_l = sum_i s_i y_i / sum_i s_i over rows i in leaf l, seen by the tree, not left out

    in leaves that have seen a row that is left out, the mean of their leaves for nodes
    above them, and the value of the node above where no row is left.

    Parameters
    ----------
    nodes : Nodes
    rows : int array of shape (N, k)
        The leaf of each row in each tree.
    seen : bool array of shape (N, k)
    y : array of shape (N, T)
    weight : array of shape (N,)
        s.
    left_out : bool array of shape (N,)

    Returns
    -------
    values : array of shape (n_nodes, T)
    """
    size = len(nodes)
    row, tree = np.nonzero(seen)
    leaf, s = rows[row, tree], weight[row]
    stays = ~left_out[row]
    total = np.bincount(leaf, s, minlength=size)
    leaf, row, s = leaf[stays], row[stays], s[stays]
    rest = np.bincount(leaf, s, minlength=size)
    share = np.divide(rest, total, out=np.ones(size), where=total > 0)
    value = nodes.value.copy()
    for t in range(y.shape[1]):
        mean = np.bincount(leaf, s * y[row, t], minlength=size) / np.maximum(
            rest, 1e-300
        )
        value[:, t] = np.where(share < 1, mean, value[:, t])
    n = (nodes.n * share)[:, None]
    found = nodes.sums(np.hstack([n, n * value, (share < 1)[:, None]]))
    means = found[:, 1:-1] / np.maximum(found[:, :1], 1e-300)
    value = np.where(found[:, -1:] > 0, means, nodes.value)
    empty = found[:, 0] <= 0
    for level in nodes.levels[1:]:
        gone = level[empty[level]]
        value[gone] = value[nodes.parent[gone]]
    return np.asarray(value)


def shrunk_values(
    nodes: Nodes, strength: float, values: FloatArray | None = None
) -> FloatArray:
    """Return the values of all nodes after hierarchical shrinkage (Agarwal et al. 2022).

        v'_root = v_root,   v'_t = v'_parent + (v_t - v_parent) / (1 + strength / n_parent)

    n is the weight of the training rows in a node. Strength 0 changes nothing; infinity
    reduces every tree to its root.

    Parameters
    ----------
    nodes : Nodes
    strength : float
        In rows.
    values : array of shape (n_nodes, T), default=None
        v. None means the values of the nodes.

    Returns
    -------
    values : array of shape (n_nodes, T)
    """
    v = nodes.value if values is None else values
    found = v.copy()
    for level in nodes.levels[1:]:
        above = nodes.parent[level]
        share = 1 / (1 + strength / nodes.n[above])
        found[level] = found[above] + share[:, None] * (v[level] - v[above])
    return np.asarray(found)


def monotone_values(nodes: Nodes, values: FloatArray) -> FloatArray:
    """Return values that keep the constraints of the splits, nearest by a clip at each.

    At a split of sign 1, every leaf on the left is at most b and every leaf on the right
    at least b; sign -1 the other way round. From the root down,

        b = the value of the node, cut to the interval between the largest leaf on the
            one side and the smallest on the other

    so that values that keep the constraints stay as they are. The constrained target is the
    last one; of two classes the first changes with it, so that their sum stays.

    Parameters
    ----------
    nodes : Nodes
    values : array of shape (n_nodes, T)
        Values of the leaves, and of nodes above them some mean.

    Returns
    -------
    values : array of shape (n_nodes, T)
        Only rows of leaves keep the constraints.
    """
    v, leaf = values[:, -1], nodes.leaf
    low, high = v.copy(), v.copy()  # of the leaves below
    for level in reversed(nodes.levels):
        inner = level[~leaf[level]]
        left, right = nodes.left[inner], nodes.right[inner]
        low[inner] = np.minimum(low[left], low[right])
        high[inner] = np.maximum(high[left], high[right])
    least, most = np.full(len(v), -np.inf), np.full(len(v), np.inf)
    for level in nodes.levels:
        inner = level[~leaf[level]]
        for child in (nodes.left[inner], nodes.right[inner]):
            least[child], most[child] = least[inner], most[inner]
        split = inner[nodes.sign[inner] != 0]
        rising = nodes.sign[split] > 0
        below = np.where(rising, nodes.left[split], nodes.right[split])
        above = np.where(rising, nodes.right[split], nodes.left[split])
        ends = np.sort([high[below], low[above]], axis=0)
        b = np.clip(np.clip(v[split], *ends), least[split], most[split])
        most[below], least[above] = b, b
    found = values.copy()
    found[:, -1] = np.clip(v, least, most)
    if values.shape[1] == 2:
        found[:, 0] += v - found[:, -1]
    return found
