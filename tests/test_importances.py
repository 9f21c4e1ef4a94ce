"""Importances of columns, from those of the members."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import Average, CommitteeClassifier, Pool, SimplexWeights, prune

X, y = load_iris(return_X_y=True)


def test_those_of_all_trees_are_the_forests_own():
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    whole = prune(forest, X, y, oob=True, combiner=Average())
    np.testing.assert_allclose(
        whole.feature_importances_, forest.feature_importances_, rtol=1e-12
    )


def test_members_count_by_their_weight_and_columns():
    bagging = BaggingClassifier(
        DecisionTreeClassifier(), 10, max_features=2, random_state=0
    ).fit(X, y)
    small = prune(bagging, X, y, oob=True, combiner=SimplexWeights())
    expected = np.zeros(4)
    for m, w in zip(small.support_, small.weights_, strict=True):
        columns = bagging.estimators_features_[m]
        expected[columns] += w * bagging.estimators_[m].feature_importances_
    np.testing.assert_allclose(small.feature_importances_, expected / expected.sum())


def test_members_without_them_are_named():
    pool = CommitteeClassifier(generator=Pool([GaussianNB(), DecisionTreeClassifier()]))
    assert not hasattr(pool, "feature_importances_")
    assert not hasattr(pool.fit(X, y), "feature_importances_")
    with pytest.raises(AttributeError, match=r"GaussianNB.*permutation_importance"):
        _ = pool.feature_importances_
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5)).fit(X, y)
    with pytest.raises(AttributeError, match="transformer"):
        _ = prune(forest, X, y, oob=True).feature_importances_
