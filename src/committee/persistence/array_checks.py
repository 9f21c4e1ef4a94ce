"""Checks of arrays from a file that compiled code indexes without bounds checks.

Each function returns whether the arrays of one kind of object fit together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.neighbors import KDTree

from committee._typing import IntArray
from committee._validation import libsvm_parts, neighbour_points

#: Bit generators that make numbers in blocks: the key of the position in their state,
#: and the size of a block.
_PLACES = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}


def lie_within(index: IntArray, size: int) -> bool:
    """Whether all indices point into an array of this size."""
    return bool(np.all((index >= 0) & (index < size)))


def is_neighbour_tree(tree: Any) -> bool:
    """Whether the nodes of a KDTree or BallTree split its points down to leaves.

    Node i has children 2i + 1 and 2i + 2, and the nodes of the last level none.
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
    """Whether there is a finite number for each of N points, none negative."""
    return weight.shape == (N,) and bool(np.all(np.isfinite(weight) & (weight >= 0)))


def finds_its_neighbours(model: Any) -> bool:
    """Whether an estimator of neighbours has points of its width, and their targets."""
    points, tree, targets = neighbour_points(model)
    if points is None:
        return True
    if len(points.shape) != 2 or points.shape[1] != model.n_features_in_:
        return False
    if tree is not None and tree.__getstate__()[0].shape != points.shape:
        return False
    return targets is None or _are_targets(model, np.asarray(targets), points.shape[0])


def _are_targets(model: Any, targets: Any, N: int) -> bool:
    """Whether there is a target for each of N points; of a classifier, a class."""
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
    """Whether the arrays of libsvm have the sizes that it assumes.

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
    """Whether there are n vectors of the width of X.

    Of a precomputed kernel their numbers take their place.
    """
    width = model.n_features_in_
    if model.kernel == "precomputed":
        return lie_within(model.support_, width)
    shape: tuple[int, ...] = model.support_vectors_.shape
    return shape == (n, width)


def has_centres_of_its_width(model: Any) -> bool:
    """Whether the centres of KMeans have as many columns as it takes."""
    centres = getattr(model, "cluster_centers_", None)
    return centres is None or (
        centres.ndim == 2 and centres.shape[1] == model.n_features_in_
    )


def counts_its_words(vectoriser: Any) -> bool:
    """Whether words or keys have valid columns."""
    columns = list(getattr(vectoriser, "vocabulary_", {}).values())
    return sorted(columns) == list(range(len(columns)))


def is_random_state(state: Any) -> bool:
    """Whether a random state has a position inside its block of numbers."""
    if isinstance(state, np.random.RandomState):
        inside: Any = state.get_state(legacy=False)
    else:
        inside = getattr(state, "bit_generator", state).state
    key, count = _PLACES.get(inside["bit_generator"], ("", 0))
    place = (inside | inside["state"]).get(key, 0)
    return bool(0 <= place <= count)


def is_sparse(matrix: Any) -> bool:
    """Whether all indices of a sparse matrix are valid."""
    if matrix.format not in ("csr", "csc"):
        return False
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True
