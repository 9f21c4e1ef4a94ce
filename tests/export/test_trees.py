"""Tables of nodes, walked step by step, say what the models say."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

from committee.export.trees import read_trees
from tests.export.cases import BOOSTERS, TASKS, fitted, rows


def walk(tree, x):
    """Return the leaf that x reaches: the plain oracle."""
    node = 0
    while tree.left[node] >= 0:
        value, threshold = x[tree.feature[node]], tree.threshold[node]
        goes_left = value < threshold if tree.strict else value <= threshold
        if np.isnan(value):
            goes_left = tree.missing_left[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return node


def output(trees, X):
    """Return link(base + sum_m h_m)."""
    s = np.tile(trees.base, (len(X), 1))
    for tree in trees.trees:
        for n, x in enumerate(X):
            leaf = tree.value[walk(tree, x)]
            s[n, tree.target : tree.target + len(leaf)] += leaf
    if trees.link == "sigmoid":
        return np.column_stack([expit(-s), expit(s)])
    return softmax(s, axis=1) if trees.link == "softmax" else s


def assert_same(model, X, tol):
    told = output(read_trees(model), X.astype(np.float32))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(told, model.predict_proba(X), atol=tol)
    else:
        np.testing.assert_allclose(told[:, 0], model.predict(X), atol=tol)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["forest", "extra trees", *BOOSTERS])
def test_tables_say_what_the_model_says(name, task):
    model, _, _, X = fitted(name, task)
    assert_same(model, X, 1e-5 if name == "xgboost" else 1e-12)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["histogram", "lightgbm", "xgboost", "forest"])
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
    assert read_trees(Ridge()) is None


def test_what_tables_cannot_say_is_refused():
    X, y = rows("regression")
    model = GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="Got init=Ridge"):
        read_trees(model)
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, y**2)
    with pytest.raises(ValueError, match="Got loss='poisson'"):
        read_trees(model)
    X[:, 0] = X[:, 0] > 0
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    with pytest.raises(ValueError, match="no splits on categories"):
        read_trees(model.fit(X, y > 0))
