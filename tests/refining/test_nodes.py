"""Cut trees against a walk from the root, node by node."""

import numpy as np
import pytest

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
