"""Checks of a model from a file, part by part, before `load` returns it.

Compiled code reads trees, neighbour trees and random states without bounds checks. Models
that scikit-learn fits are correct; a damaged or hostile file can hold any index.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from numbers import Integral
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy.sparse import sparray, spmatrix
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree import BaseDecisionTree

from committee.persistence.array_checks import (
    add_to_their_columns,
    adds_to_its_sums,
    are_support_vectors,
    counts_its_words,
    finds_its_neighbours,
    has_a_node_for_each_split,
    has_centres_of_its_width,
    has_children_in_its_trees,
    has_rounds_alike,
    is_histogram,
    is_neighbour_tree,
    is_random_state,
    is_sparse,
    share_features,
    share_parts_of_features,
    splits_into_cells,
    starts_in_its_columns,
)
from committee.persistence.file_format import ModelFileError

#: Types that a file holds by name only, without contents from the file.
NAMED = (type, FunctionType, ModuleType, type(np.mean))

#: The largest `n_jobs` of a model.
_MOST_JOBS = 10_000

_BOOSTERS = (GradientBoostingClassifier, GradientBoostingRegressor)

#: Checks of instances of some classes, and the text of the error.
_CHECKS: tuple[tuple[Any, Callable[[Any], bool], str], ...] = (
    ((KDTree, BallTree), is_neighbour_tree, "has nodes that point outside its points"),
    (
        (np.random.RandomState, np.random.Generator, np.random.BitGenerator),
        is_random_state,
        "has a position outside its block of numbers",
    ),
    ((spmatrix, sparray), is_sparse, "has indices outside its shape"),
    (
        (list, tuple, np.ndarray),
        has_rounds_alike,
        "has rounds of more than one booster",
    ),
)

_NO_FIT = "has trees that do not fit its features"
#: Checks by names of classes of scikit-learn and of ours, so that none is imported
#: needlessly. * is any ending. Forests and boosters pass rows to their trees without the
#: trees' checks.
_CHECKS_BY_NAME: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    (
        "RandomForest* ExtraTrees* RandomTreesEmbedding GradientBoosting*",
        share_features,
        _NO_FIT,
    ),
    ("IsolationForest", share_parts_of_features, _NO_FIT),
    (
        "GradientBoosting*",
        add_to_their_columns,
        "has trees in a round that do not fit its columns",
    ),
    (
        "HistGradientBoosting*",
        is_histogram,
        "has nodes that point outside its trees or its features",
    ),
    (
        "KNeighbors* RadiusNeighbors* NearestNeighbors LocalOutlierFactor",
        finds_its_neighbours,
        "has points, targets and features that do not match",
    ),
    (
        "SVC SVR NuSVC NuSVR OneClassSVM",
        are_support_vectors,
        "has arrays that do not fit its support vectors",
    ),
    (
        "KMeans MiniBatchKMeans BisectingKMeans",
        has_centres_of_its_width,
        "has centres that do not fit its features",
    ),
    (
        "CountVectorizer DictVectorizer",
        counts_its_words,
        "has words with invalid columns",
    ),
    ("CellTree", splits_into_cells, "has splits that do not lead to every cell once"),
    ("TreeTable", has_children_in_its_trees, "has nodes that point outside its trees"),
    ("TreeSum", adds_to_its_sums, "has trees that do not fit its features and sums"),
    ("GateTree", has_a_node_for_each_split, "has nodes that do not make a tree"),
)


def attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an instance; an empty dict if it has none."""
    found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else {}


def walk(
    model: Any, attributes: Callable[[Any], dict[str, Any]] = attributes
) -> Iterator[tuple[str, Any]]:
    """Yield each part of a model once, with its place in the model."""
    seen: dict[int, Any] = {}
    waiting = [(type(model).__name__, model)]
    while waiting:
        place, value = waiting.pop()
        if id(value) not in seen:
            seen[id(value)] = value  # stored, so that no other object gets its id
            yield place, value
            waiting.extend(_parts(place, value, attributes))


def check_sound(model: Any) -> None:
    """Raise ModelFileError if compiled code would read outside the model's arrays."""
    for place, value in walk(model):
        problem = _problem(value)
        if problem:
            raise _refusal(place, problem)
    _check_starts(model, set())


def _check_starts(model: Any, checked: set[int]) -> None:
    """Raise ModelFileError for boosters that add trees to missing columns.

    The `init_` of a booster predicts here, so boosters inside it are checked first.
    """
    for place, value in walk(model):
        if isinstance(value, _BOOSTERS) and id(value) not in checked:
            checked.add(id(value))
            _check_starts(getattr(value, "init_", None), checked)
            if not starts_in_its_columns(value):
                raise _refusal(place, "has an init_ without a column for each tree")


def _refusal(place: str, problem: str) -> ModelFileError:
    """Return the error for a problem at a place of the model."""
    return ModelFileError(f"{place} {problem}: the file is damaged or malicious.")


def _parts(
    place: str, value: Any, attributes: Callable[[Any], dict[str, Any]] = attributes
) -> Iterable[tuple[str, Any]]:
    """Return the direct parts of a value, with their places."""
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
    """Return True if a value is of a class of scikit-learn that has no public name."""
    return f"{type(value).__module__}.{type(value).__name__}" == name


def _problem(value: Any) -> str | None:
    """Describe the problem of a value; None if there is none."""
    if isinstance(value, BaseDecisionTree):
        if hasattr(value, "tree_") and value.tree_.n_features != value.n_features_in_:
            return "has a tree for another number of features"
        return None
    if not _is_number_of_jobs(attributes(value).get("n_jobs")):
        return "has an n_jobs that is not a number of processes"
    if any(_is_a("sklearn.tree._tree.Tree", part) for _, part in _parts("", value)):
        return "holds the nodes of a decision tree without the tree"
    for is_sound, wrong in _checks_of(value):
        if not is_sound(value):
            return wrong
    return None


def _is_number_of_jobs(n_jobs: Any) -> bool:
    """Return True for None, and for whole numbers up to as many as processes can be."""
    return n_jobs is None or (
        isinstance(n_jobs, Integral) and 0 < abs(int(n_jobs)) <= _MOST_JOBS
    )


def _checks_of(value: Any) -> Iterator[tuple[Callable[[Any], bool], str]]:
    """Yield the checks that apply to a value, each with the text of its error."""
    for kinds, is_sound, wrong in _CHECKS:
        if isinstance(value, kinds):
            yield is_sound, wrong
    for kind in type(value).__mro__:
        if kind.__module__.startswith(("sklearn.", "committee.")):
            yield from _checks_of_name(kind.__name__)


@functools.cache
def _checks_of_name(name: str) -> list[tuple[Callable[[Any], bool], str]]:
    """Return the checks of a class by its name, each with the text of its error."""
    return [
        (is_sound, wrong)
        for names, is_sound, wrong in _CHECKS_BY_NAME
        if any(fnmatchcase(name, pattern) for pattern in names.split())
    ]
