"""Rows that trees have not seen; weights folded into the leaves of a forest."""

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
)

from committee import Bagging, CommitteeClassifier, SimplexWeights, member_predictions
from committee.ensembles import roster_of
from committee.ensembles.forests import (
    classification_forest,
    is_tree,
    regression_forest,
)
from committee.ensembles.member_features import OnColumns
from tests.export.cases import rows

WEIGHTS = np.array([0.6, 0.3, 0.1])


def _codes():
    X, y = rows("multiclass")
    return X, np.unique(y, return_inverse=True)[1]


def _how(K, output="soft"):
    return {
        "classes": np.arange(K) + 7,
        "member_classes": np.arange(K),
        "output": output,
    }


def _weighted_forest(task):
    """A forest of three trees, its members' weighted mean, and the folded forest."""
    X, y = rows(task)
    if task == "regression":
        trees = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
        trees = trees.estimators_
        f = sum(w * t.predict(X) for w, t in zip(WEIGHTS, trees, strict=True))
        return X, f, regression_forest(trees, WEIGHTS, X.shape[1])
    codes = np.unique(y, return_inverse=True)[1]
    trees = RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, codes)
    trees = trees.estimators_
    p = sum(w * t.predict_proba(X) for w, t in zip(WEIGHTS, trees, strict=True))
    how = _how(p.shape[1])
    return X, p, classification_forest(trees, WEIGHTS, X.shape[1], **how)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_leaves_have_sum_one_whatever_the_weights(task):
    """Tools that scale leaves to sum one must find nothing to do."""
    X, p, forest = _weighted_forest(task)
    np.testing.assert_allclose(forest.predict_proba(X), p, rtol=0, atol=1e-14)
    for tree in forest.estimators_:
        np.testing.assert_allclose(tree.tree_.value.sum(axis=2), 1.0, atol=1e-14)
        assert tree.tree_.value[:, :, 1:].min() >= 0


def test_equal_weights_leave_a_forest_as_it_is():
    X, y = _codes()
    forest = RandomForestClassifier(7, random_state=0).fit(X, y)
    same = classification_forest(forest.estimators_, np.full(7, 1 / 7), 6, **_how(3))
    np.testing.assert_array_equal(same.predict_proba(X), forest.predict_proba(X))


def test_votes_are_one_at_the_largest_class():
    X, y = _codes()
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    forest = classification_forest([tree], [1.0], 6, **_how(3, "hard"))
    votes = np.eye(3)[tree.predict(X)]
    np.testing.assert_array_equal(forest.predict_proba(X), votes)


def test_classes_that_a_tree_never_saw_have_probability_zero():
    X, y = _codes()
    seen = y != 1
    partial = DecisionTreeClassifier(max_depth=3).fit(X[seen], y[seen])
    forest = classification_forest([partial], [1.0], 6, **_how(3))
    p = forest.predict_proba(X)
    np.testing.assert_array_equal(p[:, [0, 2]], partial.predict_proba(X))
    np.testing.assert_array_equal(p[:, 1], 0.0)


def test_columns_are_renumbered():
    """Also in an order of their own, and drawn twice."""
    X, y = rows("regression")
    columns = np.array([4, 0, 2, 0])
    tree = DecisionTreeRegressor(max_depth=5).fit(X[:, columns], y)
    forest = regression_forest([OnColumns(tree, columns)], [1.0], 6)
    np.testing.assert_array_equal(forest.predict(X), tree.predict(X[:, columns]))
    assert forest.feature_importances_[[1, 3, 5]].tolist() == [0, 0, 0]


def test_missing_values_go_where_they_went():
    X, y = _codes()
    X[::5, 0] = np.nan
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    forest = classification_forest([tree], [1.0], 6, **_how(3))
    np.testing.assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_it_is_a_forest_in_every_respect(task):
    X, _, forest = _weighted_forest(task)
    assert forest.apply(X).shape == (len(X), 3)
    assert forest.decision_path(X)[0].shape[0] == len(X)
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    assert forest.n_features_in_ == 6
    assert forest.n_outputs_ == 1
    assert type(forest.estimator_) is type(forest.estimators_[0])
    assert forest.get_params()["max_depth"] == 4


def test_a_refit_grows_as_many_trees():
    X, _, forest = _weighted_forest("binary")
    y = np.arange(len(X)) % 2
    assert len(forest.fit(X, y).estimators_) == 3


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_shap_explains_the_weighted_sum(task):
    shap = pytest.importorskip("shap")
    X, output, forest = _weighted_forest(task)
    explained = shap.TreeExplainer(forest)(X[:5])
    total = (
        explained.values.sum(axis=1) + explained.base_values.reshape(5, -1).squeeze()
    )
    np.testing.assert_allclose(total, output[:5], atol=1e-10)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_treelite_predicts_the_weighted_sum(task):
    treelite = pytest.importorskip("treelite")
    X, output, forest = _weighted_forest(task)
    model = treelite.sklearn.import_model(forest)
    predicted = treelite.gtil.predict(model, X)
    np.testing.assert_allclose(predicted.reshape(output.shape), output, atol=1e-10)


def test_trees_are_explained_from_estimators_that_hold_one():
    tree = ExtraTreeClassifier()
    assert is_tree(tree)
    assert is_tree(OnColumns(tree, np.arange(2)))
    assert not is_tree(RandomForestClassifier())


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, bootstrap=True, max_samples=0.5, random_state=0),
        BaggingClassifier(n_estimators=5, random_state=0),
        BaggingClassifier(
            n_estimators=5, bootstrap=False, max_samples=0.5, random_state=0
        ),
    ],
    ids=repr,
)
def test_members_know_the_rows_that_they_were_trained_on(ensemble):
    """A fully grown tree is right on all rows it saw, and wrong on some others."""
    X, y = rows("multiclass")
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    unseen = roster.held_out(len(X))
    assert unseen.shape == (180, 5)
    codes = np.searchsorted(roster.classes, y)
    right = member_predictions(ensemble, X).argmax(axis=2) == codes[:, None]
    assert np.all(right[~unseen])
    assert not np.all(right[unseen])


def test_held_out_rows_of_a_committee_are_its_own():
    X, y = rows("multiclass")
    committee = CommitteeClassifier(
        generator=Bagging(5), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(
        roster_of(committee).held_out(len(X)), committee.held_out_
    )


def test_another_number_of_rows_cannot_be_the_training_rows():
    X, y = rows("multiclass")
    forest = RandomForestClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match=r"the 180 rows .* Got 89 rows"):
        roster_of(forest).held_out(89)
