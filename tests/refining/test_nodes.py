"""Cut trees against a walk from the root, node by node."""

import numpy as np
import pytest

from committee.refining import shrunk_values
from committee.refining.nodes import Nodes, monotone_values, values_without
from tests.refining.forests import forest_of, nodes_of, problem_of


@pytest.fixture(scope="module")
def nodes():
    return nodes_of(forest_of(False)[0])


def test_sums_are_those_of_the_leaves_below(nodes):
    x = np.random.default_rng(0).normal(size=(len(nodes), 2))

    def total(t):
        if nodes.left[t] < 0:
            return x[t]
        return total(nodes.left[t]) + total(nodes.right[t])

    found = nodes.sums(x)
    expected = np.array([total(t) for t in range(len(nodes))])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_row_comes_to_the_first_cut_on_its_way(nodes):
    cut = np.random.default_rng(1).random(len(nodes)) < 0.3
    found = nodes.outermost(cut)
    for node in range(len(nodes)):
        way, t = [], node
        while t >= 0:
            way.append(t)
            t = nodes.parent[t]
        stops = [t for t in reversed(way) if cut[t] or nodes.left[t] < 0]
        assert found[node] == (stops[0] if stops else -1)


def test_no_cut_leaves_the_leaves(nodes):
    leaves, number = nodes.columns(nodes.leaf)
    assert np.array_equal(leaves, np.flatnonzero(nodes.left < 0))
    assert np.array_equal(number[leaves], np.arange(len(leaves)))
    assert np.all(number[~nodes.leaf] == -1)


def test_a_leaf_is_the_sum_of_shrunk_steps_on_its_path():
    nodes = nodes_of(forest_of(True)[0])
    found = shrunk_values(nodes, 7.0)
    for node in np.flatnonzero(nodes.leaf):
        expected, t = np.zeros(3), node
        while nodes.parent[t] >= 0:
            above = nodes.parent[t]
            step = nodes.value[t] - nodes.value[above]
            expected += step / (1 + 7.0 / nodes.n[above])
            t = above
        np.testing.assert_allclose(found[node], expected + nodes.value[t], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_no_strength_changes_nothing_and_much_leaves_the_root():
    nodes = nodes_of(forest_of(False)[0])
    np.testing.assert_allclose(shrunk_values(nodes, 0.0), nodes.value, rtol=1e-12)
    roots = np.repeat(nodes.value[nodes.start[:-1]], np.diff(nodes.start), axis=0)
    np.testing.assert_allclose(shrunk_values(nodes, 1e15), roots, rtol=1e-9)


def constrained(of_classes=False):
    """Return nodes with random signs, and random values whose nodes are means."""
    forest = forest_of(of_classes)[0]
    trees, rng = [tree.tree_ for tree in forest.estimators_], np.random.default_rng(0)
    signs = [rng.integers(-1, 2, size=tree.node_count) for tree in trees]
    values = [rng.normal(size=(tree.node_count, 2)) for tree in trees]
    return Nodes(trees, values, signs)


def leaves_below(nodes, t):
    if nodes.left[t] < 0:
        return [t]
    return leaves_below(nodes, nodes.left[t]) + leaves_below(nodes, nodes.right[t])


def test_monotone_values_are_ordered_at_every_constrained_split():
    """All pairs of leaves: the one side of a constrained split is not above the other."""
    nodes = constrained()
    found = monotone_values(nodes, nodes.value)
    v = found[:, 1]
    for t in np.flatnonzero(nodes.sign != 0):
        left, right = (
            v[leaves_below(nodes, side[t])] for side in (nodes.left, nodes.right)
        )
        first, second = (left, right) if nodes.sign[t] > 0 else (right, left)
        assert first.max() <= second.min()
    leaf = nodes.leaf
    np.testing.assert_allclose(
        found[leaf].sum(axis=1), nodes.value[leaf].sum(axis=1), atol=1e-14
    )
    again = monotone_values(nodes, found)  # nodes above the leaves may be anything
    np.testing.assert_array_equal(again[leaf], found[leaf])


def test_values_without_constraints_stay():
    nodes = constrained()
    nodes.sign[:] = 0
    assert np.array_equal(monotone_values(nodes, nodes.value), nodes.value)


def test_a_split_against_its_constraint_is_pooled_at_the_value_of_the_node():
    """Two leaves of one tree, 3 on the left and 1 on the right, weights 1 and 3: 1.5."""

    class Stump:
        node_count = 3
        children_left, children_right = np.array([1, -1, -1]), np.array([2, -1, -1])
        weighted_n_node_samples = np.array([4.0, 1.0, 3.0])
        n_node_samples = np.array([4, 1, 3])

    values = np.array([[1.5], [3.0], [1.0]])
    for sign, expected in ((1, [1.5, 1.5]), (-1, [3.0, 1.0]), (0, [3.0, 1.0])):
        nodes = Nodes([Stump], [values], [np.array([sign, 0, 0])])
        assert monotone_values(nodes, values)[1:, 0].tolist() == expected


@pytest.mark.parametrize("of_classes", [False, True])
def test_values_without_rows_are_those_of_the_other_rows(of_classes):
    """A plain loop: leaves are means of the rows that are left, nodes of their leaves."""
    problem = problem_of(of_classes)
    nodes, y, seen = problem.nodes, problem.y, ~problem.held_out
    left_out = np.arange(len(y)) % 3 == 0
    given = problem.rows, seen, y, problem.weight, left_out
    found = values_without(nodes, *given)

    def of_leaf(t):
        tree = np.searchsorted(nodes.start, t, side="right") - 1
        rows = np.flatnonzero((problem.rows[:, tree] == t) & seen[:, tree])
        rest = rows[~left_out[rows]]
        if len(rest) == len(rows):
            return nodes.value[t], nodes.n[t]
        n = nodes.n[t] * len(rest) / len(rows)
        return (y[rest].mean(axis=0) if len(rest) else 0.0), n

    for t in range(len(nodes)):
        parts = [of_leaf(leaf) for leaf in leaves_below(nodes, t)]
        n = sum(part[1] for part in parts)
        expected = sum(v * m for v, m in parts) / n if n else found[nodes.parent[t]]
        np.testing.assert_allclose(found[t], expected, atol=1e-10)


def test_values_without_nothing_are_those_of_the_nodes():
    problem = problem_of(True)
    nothing = np.zeros(len(problem.y), dtype=bool)
    given = problem.rows, ~problem.held_out, problem.y, problem.weight, nothing
    assert np.array_equal(values_without(problem.nodes, *given), problem.nodes.value)
