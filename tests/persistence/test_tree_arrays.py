"""The arrays of a decision tree are checked before scikit-learn builds the tree."""

import copy

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from committee import ModelFileError, load, save
from tests.persistence.archives import (
    array_of,
    as_file,
    nodes_of,
    opened,
    schema_of,
    with_schema,
    written,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
REFUSED = "tree_ has nodes that point outside its tree"


@pytest.fixture
def path(tmp_path):
    save(DecisionTreeClassifier(random_state=0).fit(X, Y), tmp_path / "m.skops")
    return tmp_path / "m.skops"


def the_tree(schema):
    """The node of the tree, its arguments and its attributes."""
    (node,) = (n for n in nodes_of(schema) if n["__loader__"] == "TreeNode")
    return node, node["__reduce__"]["args"]["content"], node["content"]["content"]


#: Instead of an array of the tree: what scikit-learn would read beyond its end.
ARRAYS = {
    "a plain number": lambda a: np.array(2.0),
    "no dimension": lambda a: a.ravel()[:1].reshape(()),
    "nothing": lambda a: a[:0],
    "less": lambda a: a[:-1],
    "more": lambda a: np.concatenate([a, a]),
    "a table": lambda a: a[None],
    "a column": lambda a: a[..., None],
    "text": lambda a: np.array(["a"] * len(a)),
    "plain numbers": lambda a: np.ones(len(a)),
    "truth": lambda a: np.ones(a.shape, dtype=bool),
}


@pytest.mark.parametrize("what", ARRAYS)
@pytest.mark.parametrize("part", ["nodes", "values", "n_classes"])
def test_an_array_of_a_tree_is_refused_before_it_is_built(path, part, what):
    members = opened(path)
    _, arguments, state = the_tree(schema_of(members))
    node = arguments[1] if part == "n_classes" else state[part]
    changed = ARRAYS[what](array_of(members[node["file"]]))
    written({**members, node["file"]: as_file(changed)}, path)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("values", np.nan),
        ("values", np.inf),
        ("values", -1e300),
        ("threshold", np.nan),
        ("left_child", 2**40),
        ("feature", -1),
    ],
)
def test_a_number_of_a_tree_that_leads_nowhere_is_refused(path, part, value):
    members = opened(path)
    _, _, state = the_tree(schema_of(members))
    name = state["values" if part == "values" else "nodes"]["file"]
    array = array_of(members[name])
    (array if part == "values" else array[part])[0] = value
    written({**members, name: as_file(array)}, path)
    with pytest.raises(ModelFileError, match=f"Classifier.{REFUSED}"):
        load(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "0"),
        (0, "-1"),
        (0, "1.5"),
        (2, "0"),
        (2, "-1"),
        (2, "1000000000000000"),
        ("node_count", "0"),
        ("node_count", "1000000"),
        ("max_depth", "0"),
        ("max_depth", '"deep"'),
    ],
)
def test_sizes_of_a_tree_fit_its_arrays(path, place, value):
    members = opened(path)
    schema = schema_of(members)
    _, arguments, state = the_tree(schema)
    node = state[place] if isinstance(place, str) else arguments[place]
    node.update(content=value, __id__=-1)  # not the number of an earlier node
    written(with_schema(members, schema), path)
    with pytest.raises(ModelFileError):
        load(path)


def test_a_tree_inside_the_arrays_of_a_tree_is_refused(path):
    """To check the outer tree, the inner one would be built unchecked."""
    members = opened(path)
    schema = schema_of(members)
    outer, _, state = the_tree(schema)
    state["more"] = copy.deepcopy(outer)
    for i, node in enumerate(nodes_of(state["more"])):
        node["__id__"] = -1 - i
    outer["content"]["key_types"]["content"].append(
        outer["content"]["key_types"]["content"][0]
    )
    written(with_schema(members, schema), path)
    with pytest.raises(ModelFileError, match=REFUSED):
        load(path)


def test_a_tree_that_holds_itself_is_refused(path):
    members = opened(path)
    schema = schema_of(members)
    outer, arguments, _ = the_tree(schema)
    arguments[1] = {**copy.deepcopy(outer), "content": None}
    written(with_schema(members, schema), path)
    with pytest.raises(ModelFileError):
        load(path)


def test_sound_trees_pass(tmp_path):
    """Also those of other machines, with the bytes of their numbers reversed."""
    forest = RandomForestRegressor(3, random_state=0).fit(X, np.c_[Y, X[:, 1]])
    save(forest, tmp_path / "m.skops")
    assert np.array_equal(load(tmp_path / "m.skops").predict(X), forest.predict(X))
    skops.io.dump(forest, tmp_path / "m.skops")
    members = opened(tmp_path / "m.skops")
    for name in members:
        if name.endswith(".npy"):
            array = array_of(members[name])
            members[name] = as_file(array.astype(array.dtype.newbyteorder()))
    written(members, tmp_path / "m.skops")
    assert np.array_equal(load(tmp_path / "m.skops").predict(X), forest.predict(X))
