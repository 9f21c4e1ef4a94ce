"""Priced cuts against an enumeration of all subtrees."""

from itertools import product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from committee.refining import Nodes, cut_to, priced_cut
from tests.refining.forests import forest_of, nodes_of


def small_tree():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    tree = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, y).tree_
    return Nodes([tree], [tree.value[:, 0, :]])


def cost(nodes, cut, price):
    """Loss of replacing leaves by the mean of their cut, plus the price."""
    leaf, outermost = np.flatnonzero(nodes.leaf), nodes.outermost(cut)
    total = 0.0
    for node in np.unique(outermost[leaf]):
        below = leaf[outermost[leaf] == node]
        v, n = nodes.value[below, 0], nodes.n[below]
        total += (n * (v - np.average(v, weights=n)) ** 2).sum() + price
    return total


@pytest.mark.parametrize("price", [0.05, 0.5, 2.0, 20.0])
def test_no_subtree_costs_less(price):
    nodes = small_tree()
    inner = np.flatnonzero(~nodes.leaf)
    costs = []
    for some in product([False, True], repeat=len(inner)):
        cut = nodes.leaf.copy()
        cut[inner] = some
        costs.append(cost(nodes, cut, price))
    found = cost(nodes, priced_cut(nodes, nodes.value, price), price)
    assert found == pytest.approx(min(costs), rel=1e-10)


@pytest.mark.parametrize("n_leaves", [6, 40, 200])
def test_leaves_are_no_more_than_asked_for(n_leaves):
    nodes = nodes_of(forest_of(False)[0])
    cut = cut_to(nodes, nodes.value, n_leaves)
    left = len(nodes.columns(cut)[0])
    assert left <= n_leaves
    assert left > 0.8 * n_leaves  # the next subtree would be too much


def test_enough_leaves_are_left_alone():
    nodes = small_tree()
    assert np.array_equal(cut_to(nodes, nodes.value, 9), nodes.leaf)
