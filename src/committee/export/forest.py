"""A committee of trees as a forest, its weights folded into the leaves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import BaseDecisionTree, ExtraTreeClassifier, ExtraTreeRegressor

from committee._typing import FloatArray, Member
from committee.ensembles.columns import OnColumns

#: Settings that trees and forests share, and that mean the same in both.
_SHARED = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
)


def is_tree(member: Member) -> bool:
    """Whether the member is a tree, on all of the columns or on some."""
    return isinstance(_bare(member), BaseDecisionTree)


def regression_forest(
    members: Sequence[Member], weights: FloatArray, n_features: int
) -> Any:
    """Return the forest of regression trees with sum_m w_m f_m.

        v_m <- k w_m v_m,   as a forest divides by its k trees

    Parameters
    ----------
    members : list of k fitted trees
        Each may look at some of the columns only.
    weights : array of shape (k,)
    n_features : int

    Returns
    -------
    forest : RandomForestRegressor or ExtraTreesRegressor

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee.export.forest import regression_forest
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> regression_forest([tree, tree], [0.5, 1.0], 1).predict([[1.0]]).tolist()
    [1.5]
    """
    k = len(members)
    trees = [
        _planted(member, k * w * _values(member), n_features)
        for member, w in zip(members, weights, strict=True)
    ]
    extra = all(isinstance(tree, ExtraTreeRegressor) for tree in trees)
    return _forest(ExtraTreesRegressor if extra else RandomForestRegressor, trees)


def classification_forest(
    members: Sequence[Member],
    weights: FloatArray,
    n_features: int,
    *,
    classes: Any,
    spoken: Any,
    votes: str,
) -> Any:
    """Return the forest of classification trees with sum_m w_m p_m / sum w.

        v_m <- a_m p_m + (1 - a_m) e_0,    a_m = k w_m / sum w

    p_m is a node's class probabilities, or its one vote. As the a_m have mean one,
    the terms in e_0, the first class, cancel in the forest's mean. They are there
    because many tools (SHAP, treelite, skl2onnx) scale the leaves of a classifier
    to sum one, which would undo weights that are merely multiplied in; to e_0 and no
    other, because onnxruntime wants the other class of two not to be negative.

    Parameters
    ----------
    members : list of k fitted trees
        Each may look at some of the columns only, and know some of the classes only.
    weights : array of shape (k,)
        Not negative.
    n_features : int
    classes, spoken : array of shape (K,)
        The labels, and what the members call them.
    votes : {"soft", "hard"}

    Returns
    -------
    forest : RandomForestClassifier or ExtraTreesClassifier

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee.export.forest import classification_forest
    >>> X = [[0.0], [1.0]]
    >>> trees = [DecisionTreeClassifier().fit(X, y) for y in ([0, 1], [1, 0])]
    >>> how = {"classes": ["no", "yes"], "spoken": [0, 1], "votes": "soft"}
    >>> forest = classification_forest(trees, [0.25, 0.75], 1, **how)
    >>> forest.predict_proba(X).tolist(), forest.predict(X).tolist()
    ([[0.25, 0.75], [0.75, 0.25]], ['yes', 'no'])
    """
    K = len(classes)
    trees = []
    for member, a in zip(members, _shares(weights), strict=True):
        v = a * _class_values(member, spoken, votes)
        v[:, 0, 0] += 1 - a
        tree = _planted(member, v, n_features)
        tree.classes_, tree.n_classes_ = np.arange(K, dtype=np.float64), K
        trees.append(tree)
    extra = all(isinstance(tree, ExtraTreeClassifier) for tree in trees)
    forest = _forest(ExtraTreesClassifier if extra else RandomForestClassifier, trees)
    forest.classes_, forest.n_classes_ = np.asarray(classes), K
    return forest


def _shares(weights: FloatArray) -> FloatArray:
    """Return weights of mean one: exactly one where all are equal, so ties stay."""
    w = np.asarray(weights, dtype=np.float64)
    return np.ones_like(w) if np.all(w == w[0]) else w / w.mean()


def _values(member: Member) -> FloatArray:
    """Return the values of all nodes, (n_nodes, 1, 1) or (n_nodes, 1, K)."""
    values: FloatArray = _bare(member).tree_.value
    return values


def _class_values(member: Member, spoken: Any, votes: str) -> FloatArray:
    """Return each node's probabilities or vote, zero for classes never seen."""
    own = _values(member)
    p = np.zeros((len(own), 1, len(spoken)))
    p[:, :, np.searchsorted(spoken, _bare(member).classes_)] = own
    if votes == "hard":
        p = np.eye(len(spoken))[p.argmax(axis=2)]
    return p


def _planted(member: Member, values: FloatArray, n_features: int) -> Any:
    """Return a copy of the tree with other values, on all of the columns."""
    grown = copy.copy(_bare(member))
    # The pickle protocol is the public way into a tree.
    kind, (_, n_classes, _), state = grown.tree_.__reduce__()
    nodes = state["nodes"].copy()
    if isinstance(member, OnColumns):
        splits = nodes["left_child"] >= 0
        columns = np.asarray(member.columns)
        nodes["feature"][splits] = columns[nodes["feature"][splits]]
    n_values = np.full_like(n_classes, values.shape[2])
    grown.tree_ = kind(n_features, n_values, 1)
    grown.tree_.__setstate__(
        {**state, "nodes": nodes, "values": np.ascontiguousarray(values)}
    )
    grown.n_features_in_ = n_features
    grown.__dict__.pop("feature_names_in_", None)  # a forest hands on plain arrays
    return grown


def _forest(kind: type, trees: list[Any]) -> Any:
    """Return a fitted forest of these trees, set up as they are."""
    params = trees[0].get_params(deep=False)
    forest = kind(len(trees), **{name: params[name] for name in _SHARED})
    forest.estimators_ = trees
    forest.estimator_ = type(trees[0])()
    forest.n_features_in_ = trees[0].n_features_in_
    forest.n_outputs_ = 1
    return forest


def _bare(member: Member) -> Any:
    """Return the tree itself, without its choice of columns."""
    return member.estimator if isinstance(member, OnColumns) else member
