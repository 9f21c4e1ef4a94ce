"""Sums of trees as tables of nodes, whichever library grew them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    is_classifier,
)

from committee._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class TreeTable:
    """One tree: a row for each node, the root first."""

    feature: IntArray
    #: In single precision: x goes left where x <= threshold, if `strict` where x < it.
    threshold: FloatArray
    #: Rows of the children, -1 at a leaf.
    left: IntArray
    right: IntArray
    #: Whether NaN goes left.
    missing_left: BoolArray
    #: What a leaf adds to the t targets from `target` on, (n_nodes, t).
    value: FloatArray
    target: int = 0
    strict: bool = False


class TreeSum(BaseEstimator):
    """A sum of trees and its link.

        s(x) = base + sum_m h_m(x),    output = link(s)

    with base of shape (T,). The sigmoid is that of s for the second of two classes.
    """

    def __init__(
        self,
        trees: list[TreeTable],
        base: FloatArray,
        link: Literal["identity", "sigmoid", "softmax"],
        n_features_in_: int,
        classes_: Any = None,
    ) -> None:
        self.trees = trees
        self.base = base
        self.link = link
        self.n_features_in_ = n_features_in_
        self.classes_ = classes_


class TreeSumClassifier(ClassifierMixin, TreeSum):
    """A sum of trees with labels and probabilities."""


class TreeSumRegressor(RegressorMixin, TreeSum):
    """A sum of trees with one number."""


def make_sum(
    model: Any,
    trees: list[TreeTable],
    base: FloatArray,
    *,
    slope: float | None = None,
    n_features: int | None = None,
) -> TreeSum:
    """Return the sum of these trees; `slope` is that of log odds, None for none."""
    n = int(model.n_features_in_ if n_features is None else n_features)
    base = np.asarray(base, dtype=np.float64)
    if not is_classifier(model):
        return TreeSumRegressor(trees, base, "identity", n)
    link: Literal["identity", "sigmoid", "softmax"] = "identity"
    if slope is not None:
        link = "sigmoid" if len(base) == 1 else "softmax"
        base = slope * base
        trees = [replace(tree, value=slope * tree.value) for tree in trees]
    return TreeSumClassifier(trees, base, link, n, model.classes_)


class Node(NamedTuple):
    """A node as a library describes it; leaves have no children."""

    value: Sequence[float] = ()
    children: tuple[Any, ...] = ()
    feature: int = 0
    threshold: float = 0.0
    missing_left: bool = False


def nested_table(
    root: Any, read: Callable[[Any], Node], n_values: int = 1, target: int = 0
) -> TreeTable:
    """Return the table of a tree whose nodes hold their children.

    `read` makes a Node of what the library has for one; leaves have `n_values` numbers.
    """
    waiting, nodes, left = [root], [], []
    for found in waiting:  # grows on the way
        node = read(found)
        nodes.append(node)
        left.append(len(waiting) if node.children else -1)
        waiting.extend(node.children)
    first = np.array(left, dtype=np.intp)
    return TreeTable(
        np.array([node.feature for node in nodes], dtype=np.intp),
        rounded_down([node.threshold for node in nodes]),
        first,
        np.where(first < 0, -1, first + 1),
        np.array([node.missing_left for node in nodes], dtype=bool),
        np.array([node.value or (0.0,) * n_values for node in nodes], dtype=np.float64),
        target,
    )


def rounded_down(threshold: Any) -> FloatArray:
    """Return the largest float32 that is no larger: x <= t means the same for it."""
    t = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = t.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
    down: FloatArray = np.where(single > t, below, single)
    return down


def refuse_bare(booster: Any, prefix: str) -> ValueError:
    """Return the error about a library's own booster, which has no labels."""
    return ValueError(
        f"ONNX needs a booster inside an {prefix}Classifier or {prefix}Regressor, which "
        f"knows its classes. Got a bare {type(booster).__name__}."
    )


def refuse_categories(model: Any) -> ValueError:
    """Return the error about splits that tables do not have."""
    return ValueError(
        f"ONNX has no splits on categories. Got a {type(model).__name__} with "
        "categorical features; encode them in a pipeline instead."
    )
