"""Trees of all libraries as tables of nodes; copies of trees with other values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.tree_sum import (
    Link,
    Tree,
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
    TreeTable,
)


def make_sum(
    model: Any,
    trees: Sequence[Tree],
    base: FloatArray,
    *,
    unit: float = 1.0,
    slope: float | None = None,
    n_features: int | None = None,
) -> TreeSum:
    """Return base + unit * sum_m h_m(x); `slope` makes log odds of sums of classes."""
    base = np.asarray(base, dtype=np.float64)
    parts: dict[str, Any] = {
        "trees": TreeTable.of(trees),
        "base": base,
        "unit": unit,
        "n_features_in_": int(
            model.n_features_in_ if n_features is None else n_features
        ),
    }
    if not is_classifier(model):
        return TreeSumRegressor.made(**parts)
    if slope is not None:
        parts["link"] = Link("sigmoid" if len(base) == 1 else "softmax", slope)
    return TreeSumClassifier.made(**parts, classes_=model.classes_)


class Node(NamedTuple):
    """A node of a library's tree; leaves have no children."""

    value: Sequence[float] = ()
    children: tuple[Any, ...] = ()
    feature: int = 0
    threshold: float = 0.0
    missing_left: bool = False


def nested_table(
    root: Any, read: Callable[[Any], Node], n_values: int = 1, target: int = 0
) -> Tree:
    """Return a tree whose nodes hold their children.

    `read` converts a node of the library into a Node; leaves have `n_values` numbers.
    """
    waiting, nodes, left = [root], [], []
    for found in waiting:  # grows during the loop
        node = read(found)
        nodes.append(node)
        left.append(len(waiting) if node.children else -1)
        waiting.extend(node.children)
    first = np.array(left, dtype=np.intp)
    return Tree(
        np.array([node.feature for node in nodes], dtype=np.intp),
        rounded_down([node.threshold for node in nodes]),
        first,
        np.where(first < 0, -1, first + 1),
        np.array([node.missing_left for node in nodes], dtype=bool),
        np.array([node.value or (0.0,) * n_values for node in nodes], dtype=np.float64),
        target,
    )


def rounded_down(threshold: Any) -> FloatArray:
    """Return the largest float32 <= t; x <= t is equivalent for x in float32."""
    t = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = t.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
    down: FloatArray = np.where(single > t, below, single)
    return down


def refuse_categories(model: Any) -> ValueError:
    """Return the error for splits on categories, which a table cannot hold."""
    return ValueError(
        f"ONNX has no splits on categories. Got a {type(model).__name__} with "
        "categorical features; encode them in a pipeline instead."
    )


#: Feature and threshold of a leaf in scikit-learn.
_NO_SPLIT = -2


def class_values(member: Member, member_classes: Any, output: str) -> FloatArray:
    """Return each node's probabilities or vote; unseen classes get zero."""
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
    cut : bool array of shape (n_nodes,), default=None
        True where a node becomes a leaf.
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
    other.__dict__.pop(
        "feature_names_in_", None
    )  # a forest passes arrays without names
    return other


def _without_subtrees(nodes: Any, cut: BoolArray) -> tuple[Any, IntArray, int]:
    """Return the remaining nodes, their old numbers, and the depth."""
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
