"""Checks of trees from a file: children, features and columns of sums.

Compiled code follows children and adds leaf values to columns of an array without bounds
checks.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_array

from committee._typing import BoolArray, IntArray
from committee._validation import (
    gradient_start,
    histogram_parts,
    histogram_rounds,
    transformed_columns,
)
from committee.ensembles.rounds import Round, are_alike
from committee.persistence.array_checks import lie_within


def is_tree(tree: Any, width: int) -> bool:
    """Whether all nodes of a decision tree lead forward and stay inside it."""
    # A tree's arrays have the length of its node_count, whatever it holds: check first.
    if tree.n_features != width or not 0 < tree.node_count <= tree.capacity:
        return False
    inner = tree.children_left != -1
    return (
        _lead_forward(inner, tree.children_left, tree.children_right)
        and lie_within(tree.feature[inner], width)
        and _depth(inner, tree.children_left, tree.children_right) <= tree.max_depth
    )


def share_features(forest: Any) -> bool:
    """Whether the trees of a forest have its number of columns."""
    members = np.ravel(getattr(forest, "estimators_", []))
    return all(tree.n_features_in_ == forest.n_features_in_ for tree in members)


def share_parts_of_features(forest: Any) -> bool:
    """Whether the trees of a forest have the columns selected for each of them.

    Columns must be numbers: a mask could select fewer columns than it has entries.
    """
    parts = map(np.asarray, getattr(forest, "estimators_features_", []))
    trees = getattr(forest, "estimators_", [])
    return all(
        part.ndim == 1
        and part.dtype.kind in "iu"
        and tree.n_features_in_ == len(part) <= forest.n_features_in_
        for tree, part in zip(trees, parts, strict=True)
    )


def add_to_their_columns(booster: Any) -> bool:
    """Whether GradientBoosting* has T trees of one number in each round."""
    trees = np.asarray(getattr(booster, "estimators_", np.empty((0, 0))))
    if trees.size == 0:
        return not hasattr(booster, "estimators_")
    T = booster.n_trees_per_iteration_
    return (
        trees.shape[1:] == (T,) == (_n_columns(booster),)
        and all(isinstance(tree, BaseDecisionTree) for tree in trees.flat)
        and all(tree.tree_.value.shape[1:] == (1, 1) for tree in trees.flat)
    )


def starts_in_its_columns(booster: Any) -> bool:
    """Whether GradientBoosting* adds its trees to an array of shape (N, T).

    The array comes from `init_`, which may be any estimator. It predicts here, so this is
    for models whose parts have all been found sound.
    """
    if not hasattr(booster, "estimators_"):
        return True
    width, T = booster.n_features_in_, booster.n_trees_per_iteration_
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        starts = [gradient_start(booster, np.zeros((N, width), "f4")) for N in (1, 2)]
    return [start.shape for start in starts] == [(1, T), (2, T)]


def is_histogram(booster: Any) -> bool:
    """Whether all indices of HistGradientBoosting* stay inside its arrays."""
    if not hasattr(booster, "n_trees_per_iteration_"):
        return True
    width, T = booster.n_features_in_, booster.n_trees_per_iteration_
    preprocessor, categorical, in_fit = histogram_parts(booster)
    rounds, start = histogram_rounds(booster)
    return (
        not in_fit  # or rows would be taken for bins, unchecked
        and _keeps_columns(preprocessor, width)
        and categorical.shape == (width,)
        and len(start) == T == _n_columns(booster)
        and all(len(one) == T for one in rounds)
        and all(_is_predictor(tree, categorical) for one in rounds for tree in one)
    )


def has_rounds_alike(members: Any) -> bool:
    """Whether the rounds among the members of a committee make up one booster.

    Each may be sound by itself; the trees of all are given the rows of the first.
    """
    parts = members.flat if isinstance(members, np.ndarray) else members
    rounds = [member for member in parts if isinstance(member, Round)]
    return are_alike(rounds)


def _n_columns(booster: Any) -> int:
    """Return T: one, or K for more than two classes."""
    K = len(booster.classes_) if is_classifier(booster) else 1
    return K if K > 2 else 1


def _is_predictor(tree: Any, categorical: BoolArray) -> bool:
    """Whether a tree of histogram gradient boosting stays inside its arrays."""
    nodes = tree.nodes
    inner = nodes["is_leaf"] == 0
    by_set = nodes[inner & (nodes["is_categorical"] != 0)]
    sets = tree.raw_left_cat_bitsets
    return bool(
        len(nodes)
        and _lead_forward(inner, nodes["left"], nodes["right"])
        and lie_within(nodes["feature_idx"][inner], len(categorical))
        and lie_within(by_set["bitset_idx"], len(sets))
        # Known categories are kept for categorical features only.
        and np.all(categorical[by_set["feature_idx"]])
        and (not len(by_set) or sets.shape[1:] == (8,))
    )


def _keeps_columns(preprocessor: Any, width: int) -> bool:
    """Whether the encoder of categories returns every column once."""
    if preprocessor is None:
        return True
    if not isinstance(preprocessor, ColumnTransformer):
        return False
    taken = np.zeros(width, dtype=np.int64)
    for part, columns, numbers in transformed_columns(preprocessor):
        if isinstance(part, str):
            continue  # the columns that nobody takes: there must be none
        # A mask, and nothing that would become one: slices select, but are not one.
        is_mask = isinstance(columns, np.ndarray) and columns.dtype == bool
        if not (is_mask and _keeps_width(part)):
            return False
        if list(numbers) != np.flatnonzero(columns).tolist():
            return False
        taken += columns
    return preprocessor.n_features_in_ == width and bool(np.all(taken == 1))


def _keeps_width(part: Any) -> bool:
    """Whether a part returns as many columns as it is given.

    Numbers are taken along through a partial of `check_array`.
    """
    checks = isinstance(part, FunctionTransformer) and isinstance(
        part.func, functools.partial
    )
    return isinstance(part, OrdinalEncoder) or (
        checks and part.func.func is check_array and not part.func.args
    )


def _lead_forward(inner: BoolArray, left: IntArray, right: IntArray) -> bool:
    """Whether the children of inner nodes exist, come later, and have one parent."""
    here = np.flatnonzero(inner)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)
    return bool(
        np.all(children > here)
        and np.all(children < len(inner))
        and len(np.unique(children)) == children.size
    )


def _depth(inner: BoolArray, left: IntArray, right: IntArray) -> int:
    """Return the depth of a tree whose children lead forward."""
    level, depth = np.flatnonzero(inner[:1]), 0
    while len(level):
        level = np.concatenate([left[level], right[level]])
        level, depth = level[inner[level]], depth + 1
    return depth
