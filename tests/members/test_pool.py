"""Pool and RandomInits, and the folds of the cross-fit."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    LeastSquares,
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
    committee = CommitteeRegressor(
        generator=Pool(REGRESSORS), combiner=None, random_state=0
    )
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


MODELS = [LinearRegression(), Ridge(30.0)]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.standard_normal(60)


def _fit(data, cv, combiner=None, **options):
    pool = Pool(MODELS, cv=cv)
    combiner = LeastSquares() if combiner is None else combiner
    return CommitteeRegressor(generator=pool, combiner=combiner).fit(*data, **options)


def _weights(F, y):
    return LeastSquares().fit(F, y).weights_


def test_a_splitter_is_a_cross_fit_by_its_folds(data):
    X, y = data
    cv = KFold(4)
    F = np.column_stack([cross_val_predict(m, X, y, cv=cv) for m in MODELS])
    expected = _weights(F, y)
    for given in (cv, list(cv.split(X))):
        np.testing.assert_allclose(_fit(data, given).weights_, expected, rtol=1e-10)


def test_a_number_is_a_number_of_folds(data):
    one, two = (
        CommitteeRegressor(generator=pool, combiner=LeastSquares(), random_state=0)
        for pool in (Pool(MODELS, n_splits=3), Pool(MODELS, cv=3))
    )
    np.testing.assert_array_equal(one.fit(*data).weights_, two.fit(*data).weights_)


def test_rows_of_the_past_that_nobody_predicts_have_no_say(data):
    X, y = data
    cv = TimeSeriesSplit(3)
    F = np.zeros((60, 2))
    for train, test in cv.split(X):
        for m, model in enumerate(MODELS):
            F[test, m] = clone(model).fit(X[train], y[train]).predict(X[test])
    first = next(iter(cv.split(X)))[0]
    F, rest = np.delete(F, first, axis=0), np.delete(y, first)
    fitted = _fit(data, cv)
    np.testing.assert_allclose(fitted.weights_, _weights(F, rest), rtol=1e-10)
    # Members themselves have seen all rows: nothing is out of bag.
    assert fitted.held_out_ is None
    whole = LinearRegression().fit(X, y)
    np.testing.assert_allclose(fitted.members_[0].coef_, whole.coef_)


def test_rows_that_are_tested_twice_have_the_mean(data):
    X, y = data
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    F = np.zeros((60, 2))
    for train, test in cv.split(X):
        for m, model in enumerate(MODELS):
            F[test, m] += clone(model).fit(X[train], y[train]).predict(X[test]) / 2
    np.testing.assert_allclose(_fit(data, cv).weights_, _weights(F, y), rtol=1e-10)


def test_groups_stay_together(rng):
    """A neighbour that knows the group's twin looks perfect, unless it is left out."""
    X = np.repeat(rng.standard_normal((30, 2)), 2, axis=0)
    y = np.repeat(rng.standard_normal(30), 2)
    groups = np.repeat(np.arange(30), 2)
    models = [KNeighborsRegressor(1), Ridge(1e6)]

    def weights(cv, **options):
        pool = Pool(models, cv=cv)
        committee = CommitteeRegressor(generator=pool, combiner=SimplexWeights())
        return committee.fit(X, y, **options).combiner_.weights_

    assert weights(KFold(30, shuffle=True, random_state=0))[0] > 0.9
    apart = weights(GroupKFold(5), groups=groups)
    assert apart[0] < 0.5
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(weights(GroupKFold(5), groups=groups), apart)
        renamed = GroupKFold(5).set_split_request(groups="patient")
        np.testing.assert_array_equal(weights(renamed, patient=groups), apart)
        with pytest.raises(TypeError, match="groups"):
            weights(KFold(5), groups=groups)
    with pytest.raises(TypeError, match="no splitter that takes them"):
        weights(KFold(5), groups=groups)


def test_folds_that_would_flatter_are_refused(data):
    rows = np.arange(60)
    for cv, message in (
        ([(rows, rows[:5])], "tests on rows that it trains on"),
        ([(rows[:0], rows)], "no rows to train on"),
        ([(rows, rows[:0])], "no rows to weigh"),
        ([(rows, rows + 60)], "row numbers from 0 to 59"),
    ):
        with pytest.raises(ValueError, match=message):
            _fit(data, cv)
