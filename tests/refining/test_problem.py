"""Values of the leaves that a cut leaves, at all nodes, and their sums."""

import numpy as np
import pytest

from committee.refining.problem import Cut, Settings
from tests.refining.forests import problem_of


@pytest.mark.parametrize("least", [1, 20])
def test_values_are_those_of_leaves_and_means_above_them(least):
    """Node by node from below: means by the training rows of both children."""
    problem = problem_of(False)
    nodes = problem.nodes
    cut = Cut(problem, nodes.n_rows < least, 0.0)
    leaves, number = nodes.columns(nodes.n_rows < least)
    c = np.random.default_rng(0).normal(size=(len(leaves), 2))
    expected = np.empty((len(nodes), 2))
    for node in reversed(range(len(nodes))):  # children are below their parents
        if number[node] >= 0:
            expected[node] = c[number[node]]
        else:
            both = [nodes.left[node], nodes.right[node]]
            expected[node] = np.average(expected[both], axis=0, weights=nodes.n[both])
    np.testing.assert_allclose(cut.at_nodes(c), expected, rtol=1e-12)


def test_classes_keep_the_sums_that_leaves_start_with():
    problem = problem_of(True)
    cut = Cut(problem, problem.nodes.n_rows < 10, 5.0)
    for fold in (None, 0):
        (c,) = cut.values(Settings(10, 2.0), [fold])
        start = cut.start(fold)
        assert c.shape == start.shape == (len(cut.leaves), 3)
        assert not np.allclose(c, start)
        np.testing.assert_allclose(c.sum(axis=1), start.sum(axis=1), rtol=1e-12)
