"""Hierarchical shrinkage: leaves move towards the nodes above them."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray
from committee.refining.nodes import Nodes


def shrunk_values(nodes: Nodes, strength: float) -> FloatArray:
    """Return the values of all nodes after hierarchical shrinkage (Agarwal et al. 2022).

        v'_root = v_root,   v'_t = v'_parent + (v_t - v_parent) / (1 + strength / n_parent)

    n is the weight of the training rows in a node. Strength 0 changes nothing, infinity
    makes every tree its root.

    Parameters
    ----------
    nodes : Nodes
    strength : float
        In rows.

    Returns
    -------
    values : array of shape (n_nodes, T)
    """
    v, found = nodes.value, nodes.value.copy()
    for level in nodes.levels[1:]:
        above = nodes.parent[level]
        share = 1 / (1 + strength / nodes.n[above])
        found[level] = found[above] + share[:, None] * (v[level] - v[above])
    return np.asarray(found)
