"""Committees, forests and lists as sources of numbers."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    CoupledKernelRegressor,
    EPPruner,
)
from committee.displays import sources


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def test_predictions_come_with_codes(labelled):
    X, y = labelled
    committee = CommitteeClassifier(generator=Bagging(4), random_state=0).fit(X, y)
    F, codes = sources.predictions_of(committee, X, y)
    assert np.array_equal(F, committee.member_predictions(X))
    assert np.array_equal(committee.classes_[codes], y)
    with pytest.raises(
        ValueError, match=r"label 'maybe', which is not a class of the ensemble"
    ):
        sources.predictions_of(committee, X[:1], ["maybe"])


def test_lists_and_forests_are_sources(labelled):
    X, y = labelled
    trees = [DecisionTreeClassifier(max_depth=d).fit(X, y) for d in (1, 2, 3)]
    F, codes = sources.predictions_of(trees, X, y)
    assert F.shape == (80, 3, 2)
    assert np.array_equal(codes, (y == "yes").astype(int))
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    assert np.array_equal(sources.weights_of(forest), np.full(5, 0.2))
    assert sources.predictions_of(forest, X, y)[0].shape == (80, 5, 2)


def test_several_targets_are_refused(labelled):
    X, _ = labelled
    model = CoupledKernelRegressor(2, random_state=0).fit(X, X[:, :2])
    with pytest.raises(ValueError, match=r"y should be a 1d array"):
        sources.predictions_of(model, X, X[:, :2])


def test_an_ensemble_has_its_own_weights(labelled):
    boosted = AdaBoostClassifier(n_estimators=5, random_state=0).fit(*labelled)
    w = sources.weights_of(boosted)
    assert len(np.unique(w)) > 1


def test_a_combiner_that_is_not_fitted():
    for estimator in (EPPruner(), CommitteeClassifier()):
        with pytest.raises(NotFittedError):
            sources.combiner_of(estimator)
