"""Sums of trees as tables of nodes, whichever library grew them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

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
    """One tree: a row for each node, the root first.

    Attributes
    ----------
    feature : array of int
    threshold : array of float32
        x goes left where x <= threshold, with `strict` where x < threshold.
    left, right : array of int
        Rows of the children, -1 at a leaf.
    missing_left : bool array
        Whether NaN goes left.
    value : array of shape (n_nodes, t)
        What a leaf adds to the targets from `target` on.
    target : int
    strict : bool
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    target: int = 0
    strict: bool = False


class TreeSum(BaseEstimator):
    """A sum of trees and what is made of it.

        s(x) = base + sum_m h_m(x),    output = link(s)

    Parameters
    ----------
    trees : list of TreeTable
    base : array of shape (T,)
    link : {"identity", "sigmoid", "softmax"}
        The sigmoid is that of s for the second of two classes.
    n_features_in_ : int
    classes_ : array of shape (K,) or None
        None for regression.
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
    model: Any, trees: list[TreeTable], base: FloatArray, *, slope: float | None = None
) -> TreeSum:
    """Return the sum of these trees; `slope` is that of log odds, None for none."""
    n, base = int(model.n_features_in_), np.asarray(base, dtype=np.float64)
    if not is_classifier(model):
        return TreeSumRegressor(trees, base, "identity", n)
    link: Literal["identity", "sigmoid", "softmax"] = "identity"
    if slope is not None:
        link = "sigmoid" if len(base) == 1 else "softmax"
        base = slope * base
        trees = [replace(tree, value=slope * tree.value) for tree in trees]
    return TreeSumClassifier(trees, base, link, n, model.classes_)


def rounded_down(threshold: Any) -> FloatArray:
    """Return the largest float32 that is no larger: x <= t means the same for it."""
    t = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = t.astype(np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    down: FloatArray = np.where(single > t, below, single)
    return down
