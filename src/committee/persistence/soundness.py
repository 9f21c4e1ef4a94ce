"""What is inside a model: where everything is, and whether it may be used.

Trees, neighbour trees and random states are read by compiled code that does not look
where an index leads. scikit-learn never writes a wrong one; a file can hold any. So
whatever comes out of a file is checked here before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree import BaseDecisionTree

from committee.persistence.archive import ModelFileError
from committee.persistence.tree_checks import (
    add_to_their_columns,
    is_histogram,
    is_tree,
    lie_within,
    share_features,
    share_parts_of_features,
    starts_in_its_columns,
)

#: What a file holds by name alone: there is nothing inside that came from the file.
NAMED = (type, FunctionType, ModuleType, type(np.mean))

#: These hand rows straight to the trees of their members, past every check of these.
_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
_BOOSTERS = (GradientBoostingClassifier, GradientBoostingRegressor)
_HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

#: Numbers that a Mersenne twister makes at a time; it stands at one of them.
_TWISTER = 624


def attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance, if it has any."""
    found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else {}


def walk(
    model: Any, attributes: Callable[[Any], dict[str, Any]] = attributes
) -> Iterator[tuple[str, Any]]:
    """Yield everything a model is made of, once, with its place in the model."""
    seen: dict[int, Any] = {}
    waiting = [(type(model).__name__, model)]
    while waiting:
        place, value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value  # kept, so that no other gets its id
            yield place, value
            waiting.extend(_parts(place, value, attributes))


def check_sound(model: Any) -> None:
    """Refuse a model in which compiled code would leave its arrays."""
    for place, value in walk(model):
        problem = _problem(value)
        if problem:
            raise _refusal(place, problem)
    _check_starts(model, set())


def _check_starts(model: Any, checked: set[int]) -> None:
    """Refuse boosters that add trees to columns they do not have.

    The `init_` of a booster predicts here, so boosters inside it are checked first.
    """
    for place, value in walk(model):
        if isinstance(value, _BOOSTERS) and id(value) not in checked:
            checked.add(id(value))
            _check_starts(getattr(value, "init_", None), checked)
            if not starts_in_its_columns(value):
                raise _refusal(place, "has an init_ without a column for each tree")


def _refusal(place: str, problem: str) -> ModelFileError:
    """Return the error with what is wrong, and where."""
    return ModelFileError(
        f"{place} {problem}: the file is damaged, or was made to do harm."
    )


def _parts(
    place: str, value: Any, attributes: Callable[[Any], dict[str, Any]] = attributes
) -> Iterable[tuple[str, Any]]:
    """Return what a value holds directly."""
    if isinstance(value, NAMED):
        return []
    parts = [(f"{place}.{key}", part) for key, part in attributes(value).items()]
    if isinstance(value, dict):
        parts += [(f"{place}[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts += [(f"{place}[{i}]", part) for i, part in enumerate(value)]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        parts += [(f"{place}[{i}]", part) for i, part in enumerate(value.flat)]
    return parts


def _is_a(name: str, value: Any) -> bool:
    """Whether a value is of a class of scikit-learn that has no public name."""
    return f"{type(value).__module__}.{type(value).__name__}" == name


def _problem(value: Any) -> str | None:
    """Return what is wrong with a value, None where nothing is."""
    sound, wrong = True, ""
    if isinstance(value, BaseDecisionTree):
        sound = not hasattr(value, "tree_") or is_tree(
            value.tree_, value.n_features_in_
        )
        wrong = "has nodes that point out of its tree or its features"
    elif any(_is_a("sklearn.tree._tree.Tree", part) for _, part in _parts("", value)):
        sound, wrong = False, "holds the nodes of a decision tree without the tree"
    elif isinstance(value, (*_FORESTS, IsolationForest)):
        return _forest_problem(value)
    elif isinstance(value, _HISTOGRAMS):
        sound = is_histogram(value)
        wrong = "has nodes that point out of its trees or its features"
    elif isinstance(value, (KDTree, BallTree)):
        sound, wrong = _is_neighbour_tree(value), "points out of its points"
    elif isinstance(value, np.random.RandomState):
        sound, wrong = _is_random_state(value), "stands outside its numbers"
    elif issparse(value):
        sound, wrong = _is_sparse(value), "has indices that point out of it"
    return None if sound else wrong


def _forest_problem(forest: Any) -> str | None:
    """Return what is wrong with trees that predict past every check of theirs."""
    whole = not isinstance(forest, IsolationForest)
    if not (share_features if whole else share_parts_of_features)(forest):
        return "has trees for another number of features than its own"
    if isinstance(forest, _BOOSTERS) and not add_to_their_columns(forest):
        return "has another number of trees in a round than it has columns for"
    return None


def _is_neighbour_tree(tree: Any) -> bool:
    """Whether all nodes of a KDTree or BallTree hold points that there are."""
    points, order, nodes, bounds, _, n_levels, n_nodes = tree.__getstate__()[:7]
    n = len(points)
    return bool(
        0 < n_levels < 64
        and n_nodes == len(nodes) == 2**n_levels - 1
        and len(order) == n
        and bounds.shape[1:] == (n_nodes, points.shape[1])
        and len(bounds) == (2 if isinstance(tree, KDTree) else 1)
        and lie_within(order, n)
        and lie_within(nodes["idx_start"], n + 1)
        and lie_within(nodes["idx_end"], n + 1)
    )


def _is_random_state(state: Any) -> bool:
    """Whether a Mersenne twister stands at one of its numbers."""
    inside = state.get_state(legacy=False)
    if inside["bit_generator"] != "MT19937":
        return True
    return bool(0 <= inside["state"]["pos"] <= _TWISTER)


def _is_sparse(matrix: Any) -> bool:
    """Whether all indices of a sparse matrix lie in it."""
    if matrix.format not in ("csr", "csc"):
        return False
    try:
        matrix.check_format(full_check=True)
    except ValueError:
        return False
    return True
