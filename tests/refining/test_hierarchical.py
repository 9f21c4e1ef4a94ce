"""Shrinkage against the sum over a leaf's path."""

import numpy as np

from committee.refining import shrunk_values
from tests.refining.forests import forest_of, nodes_of


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
