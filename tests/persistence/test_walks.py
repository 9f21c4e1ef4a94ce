"""Files whose structures lead back to themselves are refused, and never followed."""

import functools
import json

import numpy as np
import pytest

from committee import (
    CellKernelRegressor,
    ModelFileError,
    load,
    save,
)
from committee.mixtures.gate_tree import GateTree
from committee.persistence.array_checks import has_a_node_for_each_split
from committee.persistence.file_format import MEMBER
from tests.persistence.archives import (
    array_of,
    as_file,
    attribute,
    nodes_of,
    opened,
    schema_of,
    with_schema,
    written,
)
from tests.persistence.kinds import KINDS, NEW, NUMBERS, X

CELLS = r"tree has splits that do not lead to every cell once"


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Given a kind, the files in its archive, which is made once."""

    @functools.cache
    def members(kind):
        path = tmp_path_factory.mktemp("kinds") / "m.skops"
        save(KINDS[kind].make(), path)
        return opened(path)

    return members


@pytest.fixture(scope="module")
def cells():
    return CellKernelRegressor(20).fit(X, NUMBERS)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.__setitem__((0, 0), 0),
        lambda a: a.__setitem__((-1, 0), 0),
        lambda a: a.__setitem__((0, 1), a[0, 0]),
        lambda a: a.__setitem__((-1, 1), -99),
        lambda a: a.__setitem__((0, 0), 10**6),
    ],
    ids=["itself", "the first", "one twice", "no cell", "no split"],
)
def test_a_cycle_in_a_tree_of_cells_is_refused(cells, tmp_path, change):
    path = tmp_path / "m.skops"
    save(cells, path)
    members = opened(path)
    name = attribute(schema_of(members), "CellTree", "children")["file"]
    children = array_of(members[name])
    change(children)
    written({**members, name: as_file(children)}, path)
    with pytest.raises(ModelFileError, match=CELLS):
        load(path)


@pytest.mark.parametrize("change", [np.float64, np.ravel, lambda a: a[:-1]])
def test_children_of_cells_are_pairs_of_whole_numbers(cells, tmp_path, change):
    path = tmp_path / "m.skops"
    save(cells, path)
    members = opened(path)
    name = attribute(schema_of(members), "CellTree", "children")["file"]
    written({**members, name: as_file(change(array_of(members[name])))}, path)
    with pytest.raises(ModelFileError, match=CELLS):
        load(path)


def test_trees_of_cells_of_every_size_pass(tmp_path):
    for max_cell in (15, 40, 500):  # the last is a single cell
        model = CellKernelRegressor(max_cell).fit(X, NUMBERS)
        save(model, tmp_path / "m.skops")
        again = load(tmp_path / "m.skops")
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("branching", ["0", "-1", "3", "true", "1.5", '"two"'])
def test_a_gate_whose_nodes_make_no_tree_is_refused(archives, tmp_path, branching):
    path, members = tmp_path / "m.skops", archives("experts")
    schema = schema_of(members)
    node = attribute(schema, "GateTree", "branching")
    node.update(content=branching, __id__=-1)
    written(with_schema(members, schema), path)
    with pytest.raises(ModelFileError):
        load(path)


def test_nodes_of_gates_are_counted():
    for depth, branching, expected in [(1, 1, 1), (3, 1, 3), (2, 2, 3), (3, 3, 13)]:
        gate = GateTree.equal(depth, branching, np.zeros(2), np.ones(2))
        assert len(gate.nodes) == expected
        assert has_a_node_for_each_split(gate)
    gate.nodes.pop()
    assert not has_a_node_for_each_split(gate)


def test_an_object_that_holds_itself_is_refused(archives, tmp_path):
    """skops builds parts first, so it does not end; Python's limit ends it."""
    path, members = tmp_path / "m.skops", archives("experts")
    schema = schema_of(members)
    members_ = schema["content"]["content"]["experts_"]["content"]
    members_[0] = {**members_[0], "__id__": schema["__id__"]}
    written(with_schema(members, schema), path)
    with pytest.raises(ModelFileError, match="RecursionError"):
        load(path)


def test_a_model_that_no_longer_answers_is_refused(archives, tmp_path):
    """`save` lets the model that it read back predict made-up rows, and `load` too."""
    path, members = tmp_path / "m.skops", archives("experts")
    assert json.loads(members[MEMBER])["answers"] == {"predict": ["f"]}
    schema = schema_of(members)
    scale = attribute(schema, "GateTree", "scale")["file"]
    for changed in (np.full(4, np.nan), np.ones(3), np.array(["a"] * 4)):
        written({**members, scale: as_file(changed)}, path)
        with pytest.raises(ModelFileError):
            load(path)
    written({**members, scale: as_file(np.ones(4))}, path)
    assert load(path).predict(NEW).shape == (40,)


#: A kind of file, the class and the attribute that is changed, and what it then holds.
INSIDE_ITSELF = {
    "a member that is the committee": ("whole path", "Roster", "members", "root"),
    "members that are their own list": ("whole path", "Roster", "members", "itself"),
    "a member of the path that is all": ("whole path", "KeptPath", "members", "root"),
    "a step that is the path": ("whole path", "Path", "steps", "owner"),
    "a calibration that is the path": (
        *("whole path", "KeptPath"),
        *("calibrations", "owner"),
    ),
    "refined sizes that are their own list": (
        *("refined", "Refinement"),
        *("path", "itself"),
    ),
    "a refined size that is all sizes": ("refined", "Refinement", "path", "owner"),
    "a refined member that is all": ("refined", "Roster", "members", "root"),
}


@pytest.mark.parametrize("case", INSIDE_ITSELF)
def test_rosters_paths_and_refined_sizes_do_not_hold_themselves(
    archives, case, tmp_path
):
    kind, owner, name, inside = INSIDE_ITSELF[case]
    schema = schema_of(archives(kind))
    part = attribute(schema, owner, name)
    (holder,) = (n for n in nodes_of(schema) if n["__class__"] == owner)
    outer = {"root": schema, "owner": holder, "itself": part}[inside]
    part["content"] = [{**part, "content": [], "__id__": outer["__id__"]}]
    written(with_schema(archives(kind), schema), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="RecursionError"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize("side", ["left_child", "right_child"])
@pytest.mark.parametrize("to", [0, 1])
def test_a_cycle_in_a_refined_tree_is_refused(archives, tmp_path, side, to):
    """A child that is the root, or its own parent."""
    members = archives("refined")
    tree = next(n for n in nodes_of(schema_of(members)) if n["__class__"] == "Tree")
    name = tree["content"]["content"]["nodes"]["file"]
    nodes = array_of(members[name])
    nodes[side][nodes["left_child"][0]] = to
    written({**members, name: as_file(nodes)}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="nodes that point outside its tree"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize("to", [0, 1, -1, 10**6])
@pytest.mark.parametrize("kind", ["boosted", "boosted classes"])
def test_a_cycle_in_a_table_of_trees_is_refused(archives, tmp_path, kind, to):
    """The right child of a root is the root, its left child, or no row."""
    members = archives(kind)
    name = attribute(schema_of(members), "TreeTable", "right")["file"]
    right = array_of(members[name])
    assert right[0] > 1
    right[0] = to
    written({**members, name: as_file(right)}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="nodes that point outside its trees"):
        load(tmp_path / "m.skops")
