"""From a table to a committee of unlike learners: weights, the file."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from committee import CommitteeClassifier, EPPruner, Pool
from committee.shell.pool_training import shares_of


@pytest.fixture
def classes(rng):
    X = rng.normal(size=(300, 3))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])


def fitted(X, y, combiner, *estimators):
    committee = CommitteeClassifier(
        generator=Pool(list(estimators)), combiner=combiner, random_state=0
    )
    return committee.fit(X, y)


def test_shares_are_of_all_learners_and_sum_to_one(classes):
    X, y = classes
    learners = [
        ("boost", HistGradientBoostingClassifier(max_iter=5)),
        ("line", LogisticRegression()),
    ]
    shares = shares_of(fitted(X, y, EPPruner(), *learners))
    assert list(shares) == ["boost", "line"]
    assert sum(shares.values()) == pytest.approx(1)
