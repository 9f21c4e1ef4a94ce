"""Tables of nodes, and trees with other values or without subtrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from committee.ensembles import trees_of
from committee.ensembles.member_features import OnColumns
from committee.ensembles.trees import rounded_down, with_values
from tests.export.cases import BOOSTERS, TASKS, fitted, rows


def walk(table, node, x):
    """Return the leaf below a node that x reaches: the plain oracle."""
    while table.feature[node] >= 0:
        value = x[table.feature[node]]
        goes_left = value <= table.threshold[node]
        if np.isnan(value):
            goes_left = table.missing_left[node]
        node = node + 1 if goes_left else table.right[node]
    return int((table.feature[:node] < 0).sum())  # leaves above it


def output(trees, X):
    """Return link(base + sum_m h_m)."""
    s, table = np.tile(trees.base, (len(X), 1)), trees.trees
    for root, target in zip(table.start[:-1], table.target, strict=True):
        for n, x in enumerate(X):
            leaf = table.value[walk(table, root, x)]
            s[n, target : target + len(leaf)] += trees.unit * leaf
    z = trees.link.scale * s
    if trees.link.kind == "sigmoid":
        return np.column_stack([expit(-z), expit(z)])
    return softmax(z, axis=1) if trees.link.kind == "softmax" else s


def assert_same(model, X, tol):
    """The walk of the table, and the predictions of its own class."""
    trees = trees_of(model)
    found = output(trees, X.astype(np.float32))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found, model.predict_proba(X), atol=tol)
        np.testing.assert_allclose(trees.predict_proba(X), found, atol=1e-12)
        np.testing.assert_array_equal(trees.predict(X), np.ravel(model.predict(X)))
    else:
        np.testing.assert_allclose(found[:, 0], model.predict(X), atol=tol)
        np.testing.assert_allclose(trees.predict(X), found[:, 0], rtol=1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "extra trees", *BOOSTERS])
def test_tables_predict_what_the_model_predicts(name, task):
    model, _, _, X = fitted(name, task)
    assert_same(model, X, 1e-5 if name == "xgboost" else 1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "name", ["histogram", "lightgbm", "xgboost", "catboost", "forest"]
)
@pytest.mark.parametrize("trained", [False, True])
def test_missing_values_take_the_same_branches(name, task, trained):
    """Whether or not there were any in training."""
    model, X, y, X_test = fitted(name, task)
    if name == "lightgbm":
        model.set_params(use_missing=trained)
    if trained:
        X = X.copy()
        X[::3, 0] = np.nan
    model.fit(X, y)
    X_test = X_test.copy()
    X_test[::2, :3] = np.nan
    assert_same(model, X_test, 1e-5 if name == "xgboost" else 1e-12)


def test_exponential_loss_and_a_start_at_zero():
    X, y = rows("binary")
    for options in ({"loss": "exponential"}, {"init": "zero"}):
        model = GradientBoostingClassifier(n_estimators=5, **options).fit(X, y)
        assert_same(model, X, 1e-12)


def test_a_single_tree_is_a_forest_of_one():
    X, y = rows("multiclass")
    assert_same(DecisionTreeClassifier(max_depth=4).fit(X, y), X, 1e-15)


def test_other_models_are_left_to_others():
    assert trees_of(Ridge()) is None


def test_what_tables_cannot_hold_is_refused():
    X, y = rows("regression")
    model = GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="Got init=Ridge"):
        trees_of(model)
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, y**2)
    with pytest.raises(ValueError, match="loss='poisson'"):
        trees_of(model)
    X[:, 0] = X[:, 0] > 0
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    with pytest.raises(ValueError, match="no splits on categories"):
        trees_of(model.fit(X, y > 0))


FINITE = st.floats(-(2.0**100), 2.0**100)


@given(t=FINITE, x=st.floats(-(2.0**100), 2.0**100, width=32))
def test_single_x_takes_the_same_branch(t, x):
    assert (np.float32(x) <= rounded_down(t)) == (float(np.float32(x)) <= t)


@given(t=FINITE)
def test_the_nearest_values_take_the_same_branch(t):
    near = np.float32(t)
    x = np.array([np.nextafter(near, np.float32(s)) for s in (-np.inf, near, np.inf)])
    np.testing.assert_array_equal(x <= rounded_down(t), x.astype(np.float64) <= t)


def test_thresholds_beyond_single_precision():
    largest = np.finfo(np.float32).max
    t = np.array([1e300, np.inf, -1e300, -np.inf])
    assert rounded_down(t).tolist() == [largest, np.inf, -np.inf, -np.inf]
    assert rounded_down(t).dtype == np.float32


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
