"""Folds of a Pool: any splitter, groups, and rows in the order of time."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.neighbors import KNeighborsRegressor

from committee import CommitteeRegressor, LeastSquares, Pool, SimplexWeights

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
    with pytest.raises(TypeError, match="nothing that splits by them"):
        weights(KFold(5), groups=groups)


def test_folds_that_would_flatter_are_refused(data):
    rows = np.arange(60)
    for cv, message in (
        ([(rows, rows[:5])], "tests on rows that it trains on"),
        ([(rows[:0], rows)], "no rows to train on"),
        ([(rows, rows[:0])], "no rows to weigh"),
        ([(rows, rows + 60)], "must number the 60 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            _fit(data, cv)
