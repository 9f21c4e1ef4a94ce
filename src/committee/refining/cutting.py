"""Which subtrees become leaves."""

from __future__ import annotations

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.refining.nodes import Nodes

_BISECTIONS = 60


def priced_cut(nodes: Nodes, value: FloatArray, price: float) -> BoolArray:
    """Return the subtrees with the smallest loss plus a price for each leaf.

        R(t) = sum over leaves l below t of n_l |v_l - vbar_t|^2,
        cost(t) = min( R(t) + price, cost(left) + cost(right) )

    vbar_t is the mean of the leaves below t, n_l the weight of their training rows. A node
    becomes a leaf where the first is no larger; the minimum over all subtrees is exact.

    Parameters
    ----------
    nodes : Nodes
    value : array of shape (n_nodes, T)
        v; only the values of leaves are used.
    price : float

    Returns
    -------
    cut : bool array of shape (n_nodes,)
    """
    return _cut_at(nodes, losses(nodes, value), price)


def _cut_at(nodes: Nodes, loss: FloatArray, price: float) -> BoolArray:
    """Return the cut of a price, R(t) being known."""
    leaf = nodes.leaf
    cost, cut = loss + price, leaf.copy()
    for level in reversed(nodes.levels):
        inner = level[~leaf[level]]
        split = cost[nodes.left[inner]] + cost[nodes.right[inner]]
        cut[inner] = cost[inner] <= split
        cost[inner] = np.minimum(cost[inner], split)
    return cut


def losses(nodes: Nodes, value: FloatArray) -> FloatArray:
    """Return R(t), what it costs to replace all leaves below a node by their mean."""
    n = nodes.n[:, None]
    total = nodes.sums(np.hstack([n, n * value, n * (value**2).sum(axis=1)[:, None]]))
    means = total[:, 1:-1] / total[:, :1]
    loss = total[:, -1] - total[:, 0] * (means**2).sum(axis=1)
    return np.maximum(np.where(nodes.leaf, 0.0, loss), 0.0)


def cut_to(nodes: Nodes, value: FloatArray, n_leaves: int) -> BoolArray:
    """Return the cut of the lowest price with at most so many leaves in all trees."""
    cut, loss = nodes.leaf, losses(nodes, value)
    if int(cut.sum()) <= n_leaves:
        return cut
    low, high = 0.0, float(loss[nodes.start[:-1]].sum()) + 1e-300
    for _ in range(_BISECTIONS):
        price = (low + high) / 2 if low == 0 else np.sqrt(low * high)
        cut = _cut_at(nodes, loss, price)
        left = len(nodes.columns(cut)[0])
        if left == n_leaves:  # cuts are nested: that of a lower price is the same
            return cut
        low, high = (price, high) if left > n_leaves else (low, price)
    return _cut_at(nodes, loss, high)
