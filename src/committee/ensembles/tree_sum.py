"""A sum of trees in one table of nodes: the form of ONNX, C and compact files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import check_columns, single_rows, tree_of_nodes
from committee.calibration import Calibration
from committee.probabilities import as_probabilities, slope_probabilities
from committee.refining.nodes import levels_of


class Tree(NamedTuple):
    """One tree, its root first."""

    feature: IntArray
    #: In single precision: x goes left where x <= threshold.
    threshold: FloatArray
    #: Rows of the children, -1 at a leaf.
    left: IntArray
    right: IntArray
    #: Whether NaN goes left.
    missing_left: BoolArray
    #: Values that a leaf adds to the t targets from `target` on, (n_nodes, t).
    value: FloatArray
    target: int = 0


@dataclass(frozen=True, eq=False)
class TreeTable:
    """M trees, one below the other, each in preorder: a left child is the next row.

    Attributes
    ----------
    feature : int array of shape (n_nodes,)
        -1 at a leaf.
    threshold : float32 array of shape (n_nodes,)
        x goes left where x <= threshold.
    right : int array of shape (n_nodes,)
        Row of the right child, -1 at a leaf.
    missing_left : bool array of shape (n_nodes,)
        Whether NaN goes left.
    value : array of shape (n_leaves, t)
        What a leaf adds to the t targets from `target` on, in the order of the leaves.
    start : int array of shape (M + 1,)
        Where each tree begins.
    target : int array of shape (M,)
    """

    feature: IntArray
    threshold: FloatArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    start: IntArray
    target: IntArray

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """Return the table of some trees, whose nodes may have any order."""
        first = np.cumsum([0, *(len(tree.left) for tree in trees)])
        parts = list(zip(trees, first, strict=False))
        left, right = (
            np.concatenate([np.where(c < 0, -1, c + n) for c, n in children])
            for children in (
                [(tree.left, n) for tree, n in parts],
                [(tree.right, n) for tree, n in parts],
            )
        )
        rows, start = _preorder(first[:-1], left, right)
        leaf = left[rows] < 0
        place = np.zeros(len(left), dtype=np.intp)
        place[rows] = np.arange(len(rows))

        def sorted_of(name: str) -> Any:
            return np.concatenate([getattr(tree, name) for tree in trees])[rows]

        return cls(
            np.where(leaf, -1, sorted_of("feature")).astype(np.intp),
            np.where(leaf, np.float32(0), sorted_of("threshold")),
            np.where(leaf, -1, place[right[rows]]),
            ~leaf & sorted_of("missing_left"),
            sorted_of("value")[leaf],
            start,
            np.array([tree.target for tree in trees]),
        )

    @classmethod
    def joined(cls, tables: Sequence[TreeTable]) -> Self:
        """Return the table of the trees of several."""
        first = np.cumsum([0, *(table.start[-1] for table in tables)])
        parts = list(zip(tables, first, strict=False))
        return cls(
            np.concatenate([table.feature for table in tables]),
            np.concatenate([table.threshold for table in tables]),
            np.concatenate([np.where(t.leaf, -1, t.right + n) for t, n in parts]),
            np.concatenate([table.missing_left for table in tables]),
            np.concatenate([table.value for table in tables]),
            np.concatenate([*(t.start[:-1] + n for t, n in parts), first[-1:]]),
            np.concatenate([table.target for table in tables]),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays, without what is computed from them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __len__(self) -> int:
        """M."""
        return len(self.target)

    @property
    def leaf(self) -> BoolArray:
        """Which rows are leaves."""
        return np.asarray(self.feature < 0)

    @cached_property
    def leaf_number(self) -> IntArray:
        """Row of `value` of each leaf, (n_nodes,); those of other nodes have no meaning."""
        return np.cumsum(self.leaf) - 1

    def with_values(self, value: FloatArray) -> TreeTable:
        """Return the same trees with other values in their leaves."""
        return replace(self, value=value)

    @cached_property
    def _compiled(self) -> list[Any]:
        """The trees as scikit-learn's compiled code walks them."""
        width = int(self.feature.max(initial=0)) + 1
        found = []
        for a, b in zip(self.start[:-1], self.start[1:], strict=True):
            leaf = self.leaf[a:b]
            found.append(
                tree_of_nodes(
                    width,
                    np.where(leaf, -1, np.arange(1, b - a + 1)),
                    np.where(leaf, -1, self.right[a:b] - a),
                    np.where(leaf, -2, self.feature[a:b]),
                    self.threshold[a:b],
                    self.missing_left[a:b],
                )
            )
        return found

    def sums(self, X: Any, n_targets: int) -> FloatArray:
        """Return sum_m h_m(x), (N, T), for float32 rows."""
        total = np.zeros((len(X), n_targets))
        t = self.value.shape[1]
        for tree, first, k in zip(
            self._compiled, self.start[:-1], self.target, strict=True
        ):
            total[:, k : k + t] += self.value[self.leaf_number[first + tree.apply(X)]]
        return total


def _preorder(
    roots: IntArray, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the nodes below the roots in preorder, and where each tree begins."""
    levels = levels_of(roots, left, right)
    size, place = np.ones(len(left), dtype=np.intp), np.full(len(left), -1)
    inner = [level[left[level] >= 0] for level in levels]
    for level in reversed(inner):
        size[level] += size[left[level]] + size[right[level]]
    start = np.cumsum([0, *size[roots]])
    place[roots] = start[:-1]
    for level in inner:
        place[left[level]] = place[level] + 1
        place[right[level]] = place[level] + 1 + size[left[level]]
    reached = np.flatnonzero(place >= 0)
    return reached[np.argsort(place[reached])], start


def preorder_children(leaf: BoolArray, n_trees: int) -> tuple[IntArray, IntArray]:
    """Return the right child of each node in preorder, and where each tree begins.

    h, the number of subtrees that are still to come, rises by one at a split and falls
    by one at a leaf; each tree ends at a new minimum. A right child is the next node
    that finds the h of its parent, because in the left subtree it is larger.
    """
    h = np.cumsum(np.where(leaf, -1, 1))
    lowest = np.minimum(np.minimum.accumulate(h), 0)
    if not n_trees or not lowest[-1] == h[-1] == -n_trees:
        raise ValueError(f"The nodes are not those of {n_trees} trees.")
    ends = np.flatnonzero(np.diff(lowest, prepend=0)) + 1
    order = np.argsort(np.concatenate([[0], h[:-1]]), kind="stable")
    right = np.full(len(leaf), -1)
    right[order[:-1]] = order[1:]
    return np.where(leaf, -1, right), np.concatenate([[0], ends])


@dataclass(frozen=True, eq=False)
class Link:
    """How sums of a committee become class probabilities.

    Attributes
    ----------
    kind : {"shares", "softmax", "sigmoid"}
        Shares of the sums, cut at zero; softmax(c s); for a single sum, the log odds of
        the second class, sigmoid(c s).
    scale : float
        c.
    calibration : Calibration or None
        Applied to these probabilities or to the sums.
    """

    kind: Literal["shares", "softmax", "sigmoid"] = "shares"
    scale: float = 1.0
    calibration: Calibration | None = None

    def __call__(self, s: FloatArray) -> FloatArray:
        """Return the probabilities (N, K) of sums (N, T)."""
        if self.kind == "sigmoid":
            z = self.scale * s
            return np.column_stack([expit(-z), expit(z)])
        if self.kind == "softmax":
            p = slope_probabilities(s, self.scale)
        else:
            p = as_probabilities(s)
        return p if self.calibration is None else self.calibration(p, s)

    @property
    def keeps_order(self) -> bool:
        """Whether the class of the largest sum has the largest probability."""
        return self.calibration is None or self.calibration.keeps_order


class TreeSum(BaseEstimator):
    """A sum of trees, and for classes its link.

        s(x) = base + unit * sum_m h_m(x),    f(x) = s(x),   p(x) = link(s(x))

    Attributes
    ----------
    trees : TreeTable
    base : array of shape (T,)
    unit : float
    link : Link
        Not used for regression.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the model had them.
    classes_ : array of shape (K,)
        Only for classes.
    held_out_error_, held_out_error_se_, held_out_error_name_
        Error on held-out rows of the committee that these trees come from, its standard
        error, and its name; None where they are not known.
    """

    trees: TreeTable
    base: FloatArray
    unit: float = 1.0
    link: Link = Link()
    n_features_in_: int
    classes_: Any
    held_out_error_: float | None = None
    held_out_error_se_: float | None = None
    held_out_error_name_: str | None = None

    @classmethod
    def made(cls, **parts: Any) -> Self:
        """Return a sum of trees with these attributes."""
        found = cls()
        found.__dict__.update(parts)
        return found

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: the trees were trained elsewhere."""
        return self

    def sums(self, X: Any) -> FloatArray:
        """Return s(x), of shape (N, T)."""
        X = check_columns(self, X, reset=False)
        rows = single_rows(X)
        if rows is None:
            rows = check_array(X, dtype=np.float32, ensure_all_finite="allow-nan")
        return self.base + self.unit * self.trees.sums(rows, len(self.base))

    @property
    def n_members_(self) -> int:
        """Number of trees."""
        return len(self.trees)

    def __sklearn_is_fitted__(self) -> bool:
        """Return True."""
        return True


class TreeSumRegressor(RegressorMixin, TreeSum):
    """A sum of trees for numbers: see `TreeSum`."""

    def predict(self, X: Any) -> FloatArray:
        """Return f(x), (N,)."""
        return self.sums(X)[:, 0]


class TreeSumClassifier(ClassifierMixin, TreeSum):
    """A sum of trees for classes: see `TreeSum`."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities (N, K), in the order of `classes_`."""
        return self.link(self.sums(X))

    def predict(self, X: Any) -> Any:
        """Return the labels (N,)."""
        s = self.sums(X)
        if s.shape[1] == 1:
            return self.classes_[(s[:, 0] > 0).astype(np.intp)]
        decides = s if self.link.keeps_order else self.link(s)
        return self.classes_[decides.argmax(axis=1)]
