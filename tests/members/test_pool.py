"""A pool of unlike learners, weighed on cross-fitted predictions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    MemberFitError,
    Pool,
    RandomInits,
    SimplexWeights,
)
from committee.members import TrainingData

REGRESSORS = [Ridge(), KNeighborsRegressor(3), Ridge(10.0)]
CLASSIFIERS = [LogisticRegression(), SVC(), KNeighborsClassifier(3)]


def test_cross_fitted_regression_is_cross_val_predict_on_the_same_folds():
    X, y = make_regression(50, 3, noise=5.0, random_state=0)
    # generate() draws one seed for each member, then shuffles the folds.
    rng = np.random.RandomState(0)
    rng.randint(np.iinfo(np.int32).max, size=len(REGRESSORS))
    folds = list(KFold(4, shuffle=True, random_state=rng).split(X))
    generation = Pool(REGRESSORS, n_splits=4).generate(
        None, TrainingData(X, y, None), random_state=0
    )
    for m, estimator in enumerate(REGRESSORS):
        expected = cross_val_predict(estimator, X, y, cv=folds)
        np.testing.assert_array_equal(generation.F[:, m], expected)
    assert generation.held_out is None


def test_cross_fitted_classification_is_stratified_cross_val_predict():
    X, y = make_classification(60, 8, n_informative=5, n_classes=3, random_state=0)
    rng = np.random.RandomState(0)
    rng.randint(np.iinfo(np.int32).max, size=len(CLASSIFIERS))
    folds = list(StratifiedKFold(5, shuffle=True, random_state=rng).split(X, y))
    generation = Pool(CLASSIFIERS).generate(None, TrainingData(X, y, 3), random_state=0)
    for m, method in enumerate(["predict_proba", "predict", "predict_proba"]):
        expected = cross_val_predict(CLASSIFIERS[m], X, y, cv=folds, method=method)
        if method == "predict":
            expected = np.eye(3)[expected]
        np.testing.assert_array_equal(generation.F[:, m], expected)


def test_a_row_has_no_say_in_its_own_entries_of_F():
    """Full-grown trees repeat the targets they saw; cross-fitted ones cannot."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    data = TrainingData(X, y, None)
    generation = Pool([DecisionTreeRegressor()]).generate(None, data, random_state=0)
    np.testing.assert_array_equal(generation.members[0].predict(X), y)
    assert np.all(generation.F[:, 0] != y)


def test_members_are_refitted_on_all_rows():
    X, y = make_regression(40, 3, noise=5.0, random_state=0)
    committee = CommitteeRegressor(generator=Pool(REGRESSORS), random_state=0)
    committee.fit(X, y)
    for member, estimator in zip(committee.members_, REGRESSORS, strict=True):
        np.testing.assert_array_equal(
            member.predict(X), clone(estimator).fit(X, y).predict(X)
        )


def test_the_weights_are_those_of_the_cross_fitted_predictions():
    X, y = make_regression(40, 3, noise=5.0, random_state=0)
    pool = Pool(REGRESSORS)
    F = pool.generate(None, TrainingData(X, y, None), random_state=0).F
    committee = CommitteeRegressor(
        generator=pool, combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(
        committee.combiner_.weights_, SimplexWeights().fit(F, y).weights_
    )


def test_a_class_with_fewer_rows_than_folds_still_has_its_column():
    X, y = make_classification(40, 5, random_state=0)
    y[:2] = 2
    committee = CommitteeClassifier(
        generator=Pool([DecisionTreeClassifier(), LogisticRegression()]),
        combiner=SimplexWeights(),
        random_state=0,
    ).fit(X, y)
    assert committee.predict_proba(X).shape == (40, 3)


def test_names():
    tree, ridge = DecisionTreeRegressor(), Ridge()
    assert Pool([tree, ridge]).names == ["DecisionTreeRegressor", "Ridge"]
    assert Pool([ridge, tree, ridge]).names == [
        "Ridge-1",
        "DecisionTreeRegressor",
        "Ridge-2",
    ]
    assert Pool([("a", ridge), ("b", ridge)]).names == ["a", "b"]
    assert Pool([("a", ridge), ("b", ridge)]).n_members == 2


def test_named_and_plain_members_give_the_same_committee():
    X, y = make_regression(40, 3, random_state=0)
    named = [(f"member {i}", e) for i, e in enumerate(REGRESSORS)]
    predictions = [
        CommitteeRegressor(generator=Pool(members), random_state=0).fit(X, y).predict(X)
        for members in (REGRESSORS, named, tuple(named))
    ]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])


def test_cloning_a_pool_leaves_its_members_unfitted():
    X, y = make_regression(40, 3, random_state=0)
    pool = Pool(REGRESSORS)
    CommitteeRegressor(generator=pool).fit(X, y)
    assert all(not hasattr(e, "n_features_in_") for e in pool.estimators)
    assert clone(pool).names == pool.names


def test_an_estimator_beside_a_pool_is_refused():
    X, y = make_regression(40, 3, random_state=0)
    committee = CommitteeRegressor(Ridge(), generator=Pool(REGRESSORS))
    with pytest.raises(ValueError, match=r"leave .estimator. at None\. Got Ridge"):
        committee.fit(X, y)


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (Pool([]), "'estimators' of a Pool must not be empty"),
        (Pool(Ridge()), "'estimators' parameter of Pool must be .* Got Ridge"),
        (Pool([Ridge(), "knn"]), "must be estimators, or .* Got 'knn' instead"),
        (Pool(REGRESSORS, n_splits=1), "'n_splits' parameter of Pool must be .* Got 1"),
    ],
)
def test_bad_pools(pool, message):
    X, y = make_regression(40, 3, random_state=0)
    with pytest.raises(ValueError, match=message):
        CommitteeRegressor(generator=pool).fit(X, y)


def test_more_folds_than_rows():
    X, y = make_regression(4, 3, random_state=0)
    committee = CommitteeRegressor(
        generator=Pool(REGRESSORS), combiner=SimplexWeights()
    )
    with pytest.raises(ValueError, match="Cannot cross-fit 5 folds on 4 rows"):
        committee.fit(X, y)


def test_the_failing_learner_is_named_by_its_place():
    X, y = make_regression(40, 3, random_state=0)
    committee = CommitteeRegressor(generator=Pool([Ridge(), Ridge(alpha=-1.0)]))
    with pytest.raises(
        MemberFitError, match=r"Member 1 of 2 \(Ridge\) failed"
    ) as caught:
        committee.fit(X, y)
    assert caught.value.index == 1
    assert [type(m) for m in caught.value.members] == [Ridge]


def test_noise_makes_members_of_a_learner_without_chance_differ():
    X, y = make_regression(60, 4, noise=1.0, random_state=0)
    kwargs = {"combiner": SimplexWeights(), "random_state": 0}
    plain = CommitteeRegressor(Ridge(), generator=RandomInits(3), **kwargs)
    noisy = CommitteeRegressor(Ridge(), generator=RandomInits(3, noise=0.3), **kwargs)
    assert np.ptp(plain.fit(X, y).member_predictions(X), axis=1).max() == 0.0
    noisy.fit(X, y)
    assert all(type(member) is Ridge for member in noisy.members_)
    F = noisy.member_predictions(X)
    assert np.ptp(F, axis=1).min() > 0.0 or F.shape[1] == 1
    # Noise of variance v in every column shrinks like a ridge of N v (Bishop 1995).
    many = CommitteeRegressor(
        Ridge(1e-8), generator=RandomInits(300, noise=0.5), random_state=0
    ).fit(X, y)
    Z = X - X.mean(axis=0)
    G = Z.T @ Z + 60 * 0.25 * np.diag(X.var(axis=0))
    coef = np.linalg.solve(G, Z.T @ (y - y.mean()))
    mean = np.mean([member.coef_ for member in many.members_], axis=0)
    np.testing.assert_allclose(mean, coef, rtol=0.1)
