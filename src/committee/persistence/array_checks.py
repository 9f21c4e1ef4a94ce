"""Checks of fitted parts from a file, whose arrays compiled code indexes without checks.

Each function returns whether the arrays of one kind of object fit together: children and
features of trees, columns of sums, neighbours, support vectors, sparse matrices.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.neighbors import KDTree
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_array

from committee._typing import BoolArray, IntArray
from committee._validation import (
    gradient_start,
    histogram_parts,
    histogram_rounds,
    libsvm_parts,
    neighbour_points,
    transformed_columns,
)
from committee.ensembles.rounds import Round, are_alike
from committee.ensembles.tree_sum import preorder_children

#: Bit generators that make numbers in blocks: the key of the position in their state,
#: and the size of a block.
_PLACES = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}


def lie_within(index: IntArray, size: int) -> bool:
    """Return True if all indices point into an array of this size."""
    return bool(np.all((index >= 0) & (index < size)))


def is_tree(nodes: Any, width: int, n_nodes: int, max_depth: int) -> bool:
    """Return True if all nodes of a decision tree lead forward and stay inside it."""
    if nodes.shape != (n_nodes,) or not n_nodes:
        return False
    left, right = nodes["left_child"], nodes["right_child"]
    inner = left != -1
    return (
        _lead_forward(inner, left, right)
        and lie_within(nodes["feature"][inner], width)
        and not np.isnan(nodes["threshold"]).any()
        and _depth(inner, left, right) <= max_depth
    )


def share_features(forest: Any) -> bool:
    """Return True if the trees of a forest have its number of columns."""
    members = np.ravel(getattr(forest, "estimators_", []))
    return all(tree.n_features_in_ == forest.n_features_in_ for tree in members)


def share_parts_of_features(forest: Any) -> bool:
    """Return True if the trees of a forest have the columns selected for each of them.

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
    """Return True if GradientBoosting* has T trees of one number in each round."""
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
    """Return True if GradientBoosting* adds its trees to an array of shape (N, T).

    The array comes from `init_`, which may be any estimator. It predicts here, so all
    parts of the model must have passed the other checks.
    """
    if not hasattr(booster, "estimators_"):
        return True
    width, T = booster.n_features_in_, booster.n_trees_per_iteration_
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        starts = [gradient_start(booster, np.zeros((N, width), "f4")) for N in (1, 2)]
    return [start.shape for start in starts] == [(1, T), (2, T)]


def is_histogram(booster: Any) -> bool:
    """Return True if all indices of HistGradientBoosting* stay inside its arrays."""
    if not hasattr(booster, "n_trees_per_iteration_"):
        return True
    width, T = booster.n_features_in_, booster.n_trees_per_iteration_
    preprocessor, categorical, in_fit = histogram_parts(booster)
    rounds, start = histogram_rounds(booster)
    return (
        not in_fit  # otherwise rows would be used as bins, unchecked
        and _keeps_columns(preprocessor, width)
        and categorical.shape == (width,)
        and len(start) == T == _n_columns(booster)
        and all(len(one) == T for one in rounds)
        and all(_is_predictor(tree, categorical) for one in rounds for tree in one)
    )


def has_rounds_alike(members: Any) -> bool:
    """Return True if the rounds among the members of a committee are of one booster.

    The rebuilt booster gives the trees of all rounds rows of the first round's width.
    """
    parts = members.flat if isinstance(members, np.ndarray) else members
    rounds = [member for member in parts if isinstance(member, Round)]
    return are_alike(rounds)


def _n_columns(booster: Any) -> int:
    """Return T: one, or K for more than two classes."""
    K = len(booster.classes_) if is_classifier(booster) else 1
    return K if K > 2 else 1


def _is_predictor(tree: Any, categorical: BoolArray) -> bool:
    """Return True if a tree of histogram gradient boosting stays inside its arrays."""
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
    """Return True if the encoder of categories returns every column once."""
    if preprocessor is None:
        return True
    if not isinstance(preprocessor, ColumnTransformer):
        return False
    taken = np.zeros(width, dtype=np.int64)
    for part, columns, numbers in transformed_columns(preprocessor):
        if isinstance(part, str):
            continue  # columns that no part takes; the sum below refuses them
        # A mask, and nothing that would become one: slices select, but are not one.
        is_mask = isinstance(columns, np.ndarray) and columns.dtype == bool
        if not (is_mask and _keeps_width(part)):
            return False
        if list(numbers) != np.flatnonzero(columns).tolist():
            return False
        taken += columns
    return preprocessor.n_features_in_ == width and bool(np.all(taken == 1))


def _keeps_width(part: Any) -> bool:
    """Return True if a part returns as many columns as it gets.

    Columns of numbers pass through a partial of `check_array`.
    """
    checks = isinstance(part, FunctionTransformer) and isinstance(
        part.func, functools.partial
    )
    return isinstance(part, OrdinalEncoder) or (
        checks and part.func.func is check_array and not part.func.args
    )


def _lead_forward(inner: BoolArray, left: IntArray, right: IntArray) -> bool:
    """Return True if the children of inner nodes exist, come later, and have one parent."""
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


def splits_into_cells(tree: Any) -> bool:
    """Return True if the S splits of a CellTree lead forward, and to each cell once.

    Rows go down the splits until they reach a cell: a cycle would never end.
    """
    S = len(tree.thresholds)
    children = np.asarray(tree.children)
    if children.shape != (S, 2) or children.dtype.kind != "i":
        return False
    forward = (children < 0) | (children > np.arange(S)[:, None])
    # Every split but the first, and every cell -1 - c.
    below = [*range(-1 - S, 0), *range(1, S)] if S else []
    return bool(forward.all()) and np.sort(children, axis=None).tolist() == below


def has_children_in_its_trees(table: Any) -> bool:
    """Return True if the nodes of a TreeTable have children further down their tree.

    The left child is the next row; rows that go down from a root end at a leaf.
    """
    n = len(table.feature)
    kinds = {"feature": "i", "right": "i", "start": "i", "target": "i"}
    kinds |= {"threshold": "f", "value": "f", "missing_left": "b"}
    if any(getattr(table, name).dtype.kind != kind for name, kind in kinds.items()):
        return False
    try:
        right, start = preorder_children(table.leaf, len(table.target))
    except ValueError:
        return False
    return (
        table.feature.shape == table.threshold.shape == table.missing_left.shape == (n,)
        and np.array_equal(table.right, right)
        and np.array_equal(table.start, start)
        and table.value.ndim == 2
        and len(table.value) == table.leaf.sum()
        and table.target.ndim == 1
    )


def adds_to_its_sums(model: Any) -> bool:
    """Return True if the trees of a TreeSum use its features, and add to its sums."""
    table, n_sums = model.trees, len(model.base)
    last = table.target + table.value.shape[1]
    return bool(
        np.max(table.feature, initial=-1) < model.n_features_in_
        and np.min(table.target) >= 0
        and np.max(last) <= n_sums
    )


def has_a_node_for_each_split(gate: Any) -> bool:
    """Return True if a GateTree has all nodes of a tree of some depth.

    1, b, b^2, ... nodes on its levels; `_leaves` divides widths by b until all are found.
    """
    b, n_nodes = gate.branching, len(gate.nodes)
    if not isinstance(b, int) or b < 1:
        return False
    level, found = 1, 0
    while found < n_nodes:
        level, found = level * b, found + level
    return found == n_nodes


def is_neighbour_tree(tree: Any) -> bool:
    """Return True if the nodes of a KDTree or BallTree split its points down to leaves.

    Node i has children 2i + 1 and 2i + 2; nodes of the last level have none.
    """
    points, order, nodes, bounds, _, n_levels, n_nodes, *_ = tree.__getstate__()
    metric, weight = tree.__getstate__()[11:]
    N = len(points)
    if not (0 < n_levels < 64 and n_nodes == len(nodes) == 2**n_levels - 1):
        return False
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    start, end = nodes["idx_start"], nodes["idx_end"]
    left, right = 2 * inner + 1, 2 * inner + 2
    return bool(
        metric is not None
        and (weight is None or _are_weights(np.asarray(weight), N))
        and bounds.shape
        == (2 if isinstance(tree, KDTree) else 1, n_nodes, points.shape[1])
        and np.array_equal(np.sort(order), np.arange(N))
        and lie_within(right, n_nodes)
        and (start[0], end[0]) == (0, N)
        and np.all(start[left] == start[inner])
        and np.all(end[left] == start[right])
        and np.all(end[right] == end[inner])
        and np.all(start <= end)
        and lie_within(start, N + 1)
        and lie_within(end, N + 1)
    )


def _are_weights(weight: Any, N: int) -> bool:
    """Return True if each of N points has a finite weight that is not negative."""
    return weight.shape == (N,) and bool(np.all(np.isfinite(weight) & (weight >= 0)))


def finds_its_neighbours(model: Any) -> bool:
    """Return True if an estimator of neighbours has points of its width, and their targets."""
    points, tree, targets = neighbour_points(model)
    if points is None:
        return True
    if len(points.shape) != 2 or points.shape[1] != model.n_features_in_:
        return False
    if tree is not None and tree.__getstate__()[0].shape != points.shape:
        return False
    return targets is None or _are_targets(model, np.asarray(targets), points.shape[0])


def _are_targets(model: Any, targets: Any, N: int) -> bool:
    """Return True if each of N points has a target; for a classifier, a class code."""
    if len(targets) != N or not is_classifier(model):
        return len(targets) == N
    several = isinstance(model.classes_, list)
    sizes = [len(c) for c in (model.classes_ if several else [model.classes_])]
    codes = targets.reshape(N, -1)
    return (
        codes.dtype.kind in "iu"
        and codes.shape[1] == len(sizes)
        and all(lie_within(*pair) for pair in zip(codes.T, sizes, strict=True))
    )


def are_support_vectors(model: Any) -> bool:
    """Return True if the arrays of libsvm have the sizes that it assumes.

    With n vectors and K classes (2 in a regression) these are coefficients (K - 1, n)
    and K (K - 1) / 2 intercepts, and for probabilities as many slopes.
    """
    if not hasattr(model, "support_vectors_"):
        return True
    counts, coefficients, intercepts, slopes = libsvm_parts(model)
    n, K, classify = len(model.support_), len(counts), is_classifier(model)
    pairs = K * (K - 1) // 2
    return bool(
        (len(model.classes_) if classify else 2) == K
        and np.all(counts >= 0)
        and (counts.sum() == n or not classify)
        and _are_vectors(model, n)
        and coefficients.shape == (K - 1, n)
        and (not issparse(coefficients) or coefficients.nnz == (K - 1) * n)
        and len(intercepts) == pairs
        and all(len(slope) in (0, pairs) for slope in slopes)
    )


def _are_vectors(model: Any, n: int) -> bool:
    """Return True if the model has n vectors of the width of X.

    With a precomputed kernel it has the numbers of rows instead of vectors.
    """
    width = model.n_features_in_
    if model.kernel == "precomputed":
        return lie_within(model.support_, width)
    shape: tuple[int, ...] = model.support_vectors_.shape
    return shape == (n, width)


def has_centres_of_its_width(model: Any) -> bool:
    """Return True if the centres of KMeans have as many columns as it takes."""
    centres = getattr(model, "cluster_centers_", None)
    return centres is None or (
        centres.ndim == 2 and centres.shape[1] == model.n_features_in_
    )


def counts_its_words(vectoriser: Any) -> bool:
    """Return True if words or keys have valid columns."""
    columns = list(getattr(vectoriser, "vocabulary_", {}).values())
    return sorted(columns) == list(range(len(columns)))


def is_random_state(state: Any) -> bool:
    """Return True if a random state has a position inside its block of numbers."""
    if isinstance(state, np.random.RandomState):
        inside: Any = state.get_state(legacy=False)
    else:
        inside = getattr(state, "bit_generator", state).state
    key, count = _PLACES.get(inside["bit_generator"], ("", 0))
    place = (inside | inside["state"]).get(key, 0)
    return bool(0 <= place <= count)


def is_sparse(matrix: Any) -> bool:
    """Return True if all indices of a sparse matrix are valid."""
    if matrix.format not in ("csr", "csc"):
        return False
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True
