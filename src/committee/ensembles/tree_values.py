"""A tree of scikit-learn with other values, or with subtrees that became leaves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.ensembles.member_features import OnColumns, bare_tree

#: What scikit-learn writes as the feature and the threshold of a leaf.
_NO_SPLIT = -2


def class_values(member: Member, member_classes: Any, output: str) -> FloatArray:
    """Return each node's probabilities or vote, zero for classes never seen."""
    tree = bare_tree(member)
    p = np.zeros((tree.tree_.node_count, 1, len(member_classes)))
    p[:, :, np.searchsorted(member_classes, tree.classes_)] = tree.tree_.value
    return np.eye(len(member_classes))[p.argmax(axis=2)] if output == "hard" else p


def with_values(
    member: Member, values: FloatArray, n_features: int, cut: BoolArray | None = None
) -> Any:
    """Return a copy of the tree with other values, on all of the columns.

    Parameters
    ----------
    member : tree, on all of the columns or on some
    values : array of shape (n_nodes, 1, T)
    n_features : int
        Number of all columns.
    cut : bool array of shape (n_nodes,), optional
        True where a node becomes a leaf, and all below it goes.
    """
    other = copy.copy(bare_tree(member))
    # The pickle protocol is the public way into a tree.
    kind, (_, n_classes, _), state = other.tree_.__reduce__()
    nodes = state["nodes"].copy()
    if isinstance(member, OnColumns):
        splits = nodes["left_child"] >= 0
        columns = np.asarray(member.columns)
        nodes["feature"][splits] = columns[nodes["feature"][splits]]
    if cut is not None:
        nodes, kept, max_depth = _without_subtrees(nodes, cut)
        values = values[kept]
        state = {**state, "node_count": len(nodes), "max_depth": max_depth}
    n_values = np.full_like(n_classes, values.shape[2])
    other.tree_ = kind(n_features, n_values, 1)
    other.tree_.__setstate__(
        {**state, "nodes": nodes, "values": np.ascontiguousarray(values)}
    )
    other.n_features_in_ = n_features
    other.__dict__.pop("feature_names_in_", None)  # a forest hands on plain arrays
    return other


def _without_subtrees(nodes: Any, cut: BoolArray) -> tuple[Any, IntArray, int]:
    """Return the nodes that are left, their old numbers, and the depth."""
    left, right = nodes["left_child"], nodes["right_child"]
    inner = (left >= 0) & ~cut
    depth = np.full(len(nodes), -1)
    level, here = np.zeros(1, dtype=np.intp), 0
    while len(level):
        depth[level] = here
        splits = level[inner[level]]
        level, here = np.concatenate([left[splits], right[splits]]), here + 1
    kept = np.flatnonzero(depth >= 0)
    number = np.cumsum(depth >= 0) - 1
    found, splits = nodes[kept].copy(), inner[kept]
    for child in ("left_child", "right_child"):
        found[child] = np.where(splits, number[found[child]], -1)
    found["feature"][~splits] = _NO_SPLIT
    found["threshold"][~splits] = _NO_SPLIT
    found["missing_go_to_left"][~splits] = 0
    return found, kept, int(depth.max())
