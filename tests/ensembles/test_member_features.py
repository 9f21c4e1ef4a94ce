"""A member that looks at some of the columns only."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from committee.ensembles.member_features import OnColumns


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(30, 4))
    return X, (X[:, 2] > 0).astype(int)


def test_it_says_what_the_estimator_says_of_its_columns(rows):
    X, y = rows
    plain = LogisticRegression().fit(X[:, [3, 1]], y)
    member = OnColumns(plain, np.array([3, 1]))
    np.testing.assert_array_equal(member.predict(X), plain.predict(X[:, [3, 1]]))
    np.testing.assert_array_equal(
        member.predict_proba(X), plain.predict_proba(X[:, [3, 1]])
    )
    np.testing.assert_array_equal(member.classes_, plain.classes_)


def test_it_is_of_the_estimators_kind(rows):
    X, y = rows
    columns = np.array([0])
    assert is_classifier(OnColumns(SVC().fit(X[:, :1], y), columns))
    assert is_regressor(OnColumns(Ridge().fit(X[:, :1], y), columns))
    assert not hasattr(OnColumns(SVC().fit(X[:, :1], y), columns), "predict_proba")
    check_is_fitted(OnColumns(Ridge().fit(X[:, :1], y), columns))


def test_it_can_be_trained_again(rows):
    X, y = rows
    member = OnColumns(Ridge(), np.array([2])).fit(X, y)
    np.testing.assert_array_equal(
        member.predict(X), Ridge().fit(X[:, [2]], y).predict(X[:, [2]])
    )
