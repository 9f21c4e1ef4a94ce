"""Cut trees predict what the node that became a leaf holds."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from committee.ensembles.member_features import OnColumns
from committee.ensembles.tree_values import with_values

X, Y = load_iris(return_X_y=True)


def test_rows_get_the_value_of_the_first_cut_on_their_way():
    tree = DecisionTreeClassifier(max_features=1, random_state=0).fit(X, Y)
    values = np.random.default_rng(0).random(tree.tree_.value.shape)
    cut = np.random.default_rng(1).random(tree.tree_.node_count) < 0.2
    other = with_values(tree, values, 4, cut)
    path = tree.decision_path(X).toarray().astype(bool)
    for row, way in zip(X, path, strict=True):
        nodes = np.flatnonzero(way)  # children have larger numbers
        stops = nodes[cut[nodes]]
        node = stops[0] if len(stops) else nodes[-1]
        assert np.array_equal(other.predict_proba(row[None])[0], values[node, 0])
    assert other.tree_.node_count < tree.tree_.node_count
    assert other.get_depth() == other.decision_path(X).sum(axis=1).max() - 1
    assert tree.tree_.node_count == len(cut)  # the first is left alone


def test_a_tree_on_some_columns_finds_them_among_all():
    columns = np.array([2, 0])
    tree = DecisionTreeClassifier(random_state=0).fit(X[:, columns], Y)
    cut = np.zeros(tree.tree_.node_count, dtype=bool)
    other = with_values(OnColumns(tree, columns), tree.tree_.value, 4, cut)
    assert np.array_equal(other.predict_proba(X), tree.predict_proba(X[:, columns]))
