"""Cut trees against a walk from the root, node by node."""

import numpy as np
import pytest

from committee.refining import shrunk_values
from tests.refining.forests import forest_of, nodes_of


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
