"""From a table to a committee of unlike learners: weights, probabilities, the file."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from committee import CommitteeClassifier, EPPruner, Pool
from committee.shell.pool_training import calibrate, shares_of


@pytest.fixture
def classes(rng):
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])


def fitted(X, y, combiner, *estimators):
    committee = CommitteeClassifier(
        generator=Pool(list(estimators)), combiner=combiner, random_state=0
    )
    committee._keeps_weighing = True
    return committee.fit(X, y)


def test_members_that_are_too_sure_get_a_slope(classes, rng):
    X, y = classes
    committee = fitted(X, y, EPPruner(), KNeighborsClassifier(1))
    fresh = rng.normal(size=(500, 3))
    labels = np.digitize(fresh[:, 0] + 0.5 * rng.normal(size=500), [-0.5, 0.5])
    before, said = committee.predict_proba(fresh), committee.predict(fresh)
    calibrate(committee)
    assert log_loss(labels, committee.predict_proba(fresh)) < log_loss(labels, before)
    np.testing.assert_array_equal(committee.predict(fresh), said)


def test_probabilities_that_are_good_stay(classes):
    X, y = classes
    committee = fitted(X, y, EPPruner(), LogisticRegression())
    before = committee.predict_proba(X)
    calibrate(committee)
    np.testing.assert_array_equal(committee.predict_proba(X), before)


def test_shares_are_of_all_learners_and_sum_to_one(classes):
    X, y = classes
    learners = [
        ("boost", HistGradientBoostingClassifier(max_iter=5)),
        ("line", LogisticRegression()),
    ]
    shares = shares_of(fitted(X, y, EPPruner(), *learners))
    assert list(shares) == ["boost", "line"]
    assert sum(shares.values()) == pytest.approx(1)
