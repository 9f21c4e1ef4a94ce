"""F from lists of fitted estimators and from committees, and what is made of it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_blobs, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    combine,
    member_predictions,
    prune,
)


@pytest.fixture
def blobs():
    X, y = make_blobs(40, centers=3, random_state=0)
    return X, np.array(["b", "c", "a"])[y]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_regressors(n_jobs):
    X, y = make_regression(30, 3, noise=1.0, random_state=0)
    members = [Ridge().fit(X, y), DecisionTreeRegressor().fit(X, y)]
    F = member_predictions(members, X, n_jobs=n_jobs)
    assert F.shape == (30, 2)
    for m, member in enumerate(members):
        np.testing.assert_array_equal(F[:, m], member.predict(X))


def test_a_tuple_is_a_list():
    X, y = make_regression(30, 3, random_state=0)
    member = Ridge().fit(X, y)
    np.testing.assert_array_equal(
        member_predictions((member,), X), member_predictions([member], X)
    )


def test_regressors_that_return_a_column_are_flattened():
    X, y = make_regression(30, 3, random_state=0)
    member = LinearRegression().fit(X, y[:, None])
    assert member.predict(X).shape == (30, 1)
    assert member_predictions([member], X).shape == (30, 1)


def test_classifiers_speak_by_probabilities(blobs):
    X, y = blobs
    members = [LogisticRegression(C=c).fit(X, y) for c in (0.1, 1.0)]
    F = member_predictions(members, X)
    assert F.shape == (40, 2, 3)
    for m, member in enumerate(members):
        np.testing.assert_array_equal(F[:, m], member.predict_proba(X))


def test_classifiers_without_probabilities_cast_one_vote(blobs):
    X, y = blobs
    member = SVC().fit(X, y)
    F = member_predictions([member], X)
    np.testing.assert_array_equal(
        F[:, 0], member.predict(X)[:, None] == ["a", "b", "c"]
    )


def test_a_class_that_a_member_never_saw_has_probability_zero(blobs):
    X, y = blobs
    members = [
        DecisionTreeClassifier().fit(X[rows], y[rows])
        for rows in (y != "a", y != "b", y == "c")
    ]
    F = member_predictions(members, X)
    assert F.shape == (40, 3, 3)
    assert np.all(F[:, 0, 0] == 0)
    assert np.all(F[:, 1, 1] == 0)
    np.testing.assert_array_equal(F[:, 2], np.tile([0.0, 0.0, 1.0], (40, 1)))
    np.testing.assert_array_equal(F[:, 0, 1:], members[0].predict_proba(X))
    np.testing.assert_array_equal(F[:, 1, [0, 2]], members[1].predict_proba(X))


@pytest.mark.parametrize("labels", [[-3, 7, 2], [2.0, 0.0, 1.0], [b"x", b"y", b"a"]])
def test_labels_of_any_type(blobs, labels):
    X, y = blobs
    y = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    two = y != labels[0]
    members = [
        DecisionTreeClassifier().fit(X, y),
        DecisionTreeClassifier().fit(X[two], y[two]),
    ]
    F = member_predictions(members, X)
    classes = np.unique(y)
    np.testing.assert_array_equal(classes[F[:, 0].argmax(axis=1)], y)
    np.testing.assert_array_equal(classes[F[two, 1].argmax(axis=1)], y[two])


class _Unsorted(ClassifierMixin, BaseEstimator):
    """Says "b" for sure, and lists its classes out of order."""

    classes_ = np.array(["b", "a"])

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


def test_columns_follow_the_sorted_classes_whatever_the_members_order():
    F = member_predictions([_Unsorted()], np.zeros((2, 1)))
    np.testing.assert_array_equal(F[:, 0], [[0.0, 1.0], [0.0, 1.0]])


def test_the_trees_of_a_forest(blobs):
    X, y = blobs
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    F = member_predictions(list(forest.estimators_), X)
    np.testing.assert_allclose(F.mean(axis=1), forest.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_committee_in_the_order_of_its_classes(blobs, n_jobs):
    X, y = blobs
    committee = CommitteeClassifier(generator=Bagging(4), calibration=None).fit(X, y)
    F = member_predictions(committee, X, n_jobs=n_jobs)
    np.testing.assert_array_equal(F, committee.member_predictions(X))
    np.testing.assert_allclose(
        combine(F, committee.weights_), committee.predict_proba(X), rtol=1e-12
    )


def test_a_regression_committee():
    X, y = make_regression(30, 3, random_state=0)
    committee = CommitteeRegressor(generator=Bagging(4), random_state=0).fit(X, y)
    F = member_predictions(committee, X)
    assert F.shape == (30, 4)
    np.testing.assert_allclose(
        combine(F, committee.weights_), committee.predict(X), rtol=1e-12
    )


def test_a_boosted_committee_votes(blobs):
    X, y = blobs
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=1), generator=AdaBoost(4), random_state=0
    ).fit(X, y)
    assert set(np.unique(member_predictions(committee, X))) == {0.0, 1.0}


def test_mixed_kinds_are_refused(blobs):
    X, y = blobs
    members = [DecisionTreeClassifier().fit(X, y), Ridge().fit(X, X[:, 0])]
    with pytest.raises(ValueError, match="Got both"):
        member_predictions(members, X)


@pytest.mark.parametrize(
    ("ensemble", "came"),
    [
        ([], "an empty list"),
        ("members", "str"),
        (None, "NoneType"),
        (DecisionTreeClassifier(), "DecisionTreeClassifier"),
        (np.array([1, 2]), "ndarray"),
    ],
)
def test_other_things_are_refused(ensemble, came):
    with pytest.raises(TypeError, match=rf"RandomForest\*, .* Got {came}"):
        member_predictions(ensemble, [[0.0]])


@pytest.mark.parametrize(
    "ensemble",
    [
        [DecisionTreeClassifier()],
        [DecisionTreeRegressor()],
        CommitteeClassifier(),
        RandomForestClassifier(),
    ],
    ids=repr,
)
def test_unfitted_members_are_refused(ensemble):
    with pytest.raises(NotFittedError):
        member_predictions(ensemble, [[0.0]])


class _Stray(ClassifierMixin, BaseEstimator):
    """Predicts a label that is not among its classes."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), 5)


def test_a_label_from_nowhere_is_named():
    with pytest.raises(ValueError, match=r"label 5, .* the classes \[0, 1\]"):
        member_predictions([_Stray()], np.zeros((2, 1)))


def test_combine_is_the_weighted_sum(rng):
    w = rng.normal(size=4)
    F = rng.normal(size=(6, 4))
    np.testing.assert_allclose(combine(F, w), F @ w, rtol=1e-12)
    F = rng.normal(size=(6, 4, 3))
    expected = sum(w[m] * F[:, m] for m in range(4))
    np.testing.assert_allclose(combine(F, w), expected, rtol=1e-12, atol=1e-14)


def test_combine_with_the_wrong_number_of_weights():
    with pytest.raises(ValueError, match="one weight for each of the 2 members"):
        combine(np.zeros((3, 2)), np.ones(3))


def test_rows_of_numbers_are_checked_once_and_by_hand(monkeypatch):
    """scikit-learn's checks take longer than 20 trees on a row."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True)
    small.predict_proba(X[:1])
    expected = {
        name: getattr(small, name)(X.tolist()) for name in ("predict", "predict_proba")
    }
    for module in (
        "committee._validation.validate_data",
        "committee.predictions.check_array",
    ):
        monkeypatch.setattr(module, None)
    for rows in (X, np.asfortranarray(X), X.astype(">f8")):
        for name, found in expected.items():
            np.testing.assert_array_equal(getattr(small, name)(rows), found)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="5 features"):
        small.predict(np.ones((1, 5)))
    with pytest.raises(ValueError, match="infinity"):
        small.predict(np.full((1, 4), np.inf))
