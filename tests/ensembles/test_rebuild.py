"""Weighted rounds come back as a booster of their own library."""

import pickle

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from committee.ensembles.boosters import booster_roster
from committee.ensembles.rebuild import rebuild
from tests.reference.boosters import (
    LIBRARIES,
    TASKS,
    M,
    combined,
    fit_booster,
    make_rows,
    member_values,
    output,
    tolerance,
)


def weights_on(*kept, total):
    """Positive weights of unequal size on some rounds."""
    w = np.zeros(M)
    w[list(kept)] = np.arange(1, len(kept) + 1)
    return total * w / w.sum()


WEIGHTS = {
    "with the first round": weights_on(0, 3, 7, total=1.3),
    "without the first round": weights_on(2, 5, 6, 11, total=0.8),
    "one round": weights_on(4, total=1.0),
}


@pytest.mark.parametrize("which", WEIGHTS)
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rebuilt_booster_says_what_the_rounds_say(library, task, frame, which):
    """predict = sum_m w_m f_m, predict_proba = softmax(K sum_m w_m F_m)."""
    model, X = fit_booster(library, task, frame=frame)
    members, w = booster_roster(model).members, WEIGHTS[which]
    small = rebuild(members, w)
    assert type(small) is type(model)
    expected = combined(member_values(members, X, task), w)
    np.testing.assert_allclose(output(small, X, task), expected, **tolerance(library))


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_can_be_taken_apart_again(library):
    model, X = fit_booster(library, "multiclass")
    w = WEIGHTS["without the first round"]
    again = booster_roster(rebuild(booster_roster(model).members, w))
    assert len(again) == np.count_nonzero(w)
    F = member_values(again.members, X, "multiclass")
    expected = combined(
        member_values(booster_roster(model).members, X, "multiclass"), w
    )
    np.testing.assert_allclose(
        combined(F, again.weights), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_is_small_and_survives_pickling(library):
    model, X = fit_booster(library, "binary")
    small = rebuild(booster_roster(model).members, WEIGHTS["one round"])
    text = pickle.dumps(small)
    assert len(text) < len(pickle.dumps(model))
    np.testing.assert_array_equal(
        output(pickle.loads(text), X, "binary"), output(small, X, "binary")
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_original_and_its_rounds_stay_as_they_are(library):
    model, X = fit_booster(library, "regression")
    members = booster_roster(model).members
    own = output(model, X, "regression")
    F = member_values(members, X, "regression")
    rebuild(members, WEIGHTS["with the first round"])
    np.testing.assert_array_equal(output(model, X, "regression"), own)
    np.testing.assert_array_equal(member_values(members, X, "regression"), F)


@pytest.mark.parametrize("library", ["gradient", "histogram", "lightgbm"])
def test_labels_come_back(library):
    model, X = fit_booster(library, "multiclass")
    small = rebuild(booster_roster(model).members, np.full(M, 1.0 / M))
    np.testing.assert_array_equal(small.classes_, model.classes_)
    np.testing.assert_array_equal(small.predict(X), model.predict(X))


def test_a_booster_with_its_own_start_needs_weights_with_sum_one():
    X, y = make_rows("regression", missing=False)
    model = GradientBoostingRegressor(n_estimators=M, init=LinearRegression())
    members = booster_roster(model.fit(X, y)).members
    w = weights_on(1, 4, total=1.0)
    np.testing.assert_allclose(
        rebuild(members, w).predict(X),
        combined(member_values(members, X, "regression"), w),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match=r"sum one\. Got 0\.8"):
        rebuild(members, 0.8 * w)


def test_exponential_loss():
    X, y = make_rows("binary", missing=False)
    model = GradientBoostingClassifier(loss="exponential", n_estimators=M).fit(X, y)
    members, w = booster_roster(model).members, WEIGHTS["with the first round"]
    np.testing.assert_allclose(
        rebuild(members, w).predict_proba(X),
        combined(member_values(members, X, "binary"), w),
        rtol=1e-12,
        atol=1e-13,
    )


def test_early_stopping_is_forgotten():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("regression")
    model = xgb.XGBRegressor(n_estimators=100, early_stopping_rounds=3)
    model.fit(X[:80], y[:80], eval_set=[(X[80:], y[80:])], verbose=False)
    members = booster_roster(model).members
    w = np.full(len(members), 1.0 / len(members))
    np.testing.assert_allclose(
        rebuild(members, w).predict(X), model.predict(X), rtol=1e-5
    )


def test_several_trees_for_each_round_of_xgboost():
    xgb = pytest.importorskip("xgboost")
    X, y = make_rows("regression")
    model = xgb.XGBRegressor(n_estimators=M, num_parallel_tree=3, subsample=0.5)
    members = booster_roster(model.fit(X, y)).members
    w = WEIGHTS["with the first round"]
    np.testing.assert_allclose(
        rebuild(members, w).predict(X),
        combined(member_values(members, X, "regression"), w),
        rtol=1e-5,
    )


def test_no_round_is_no_booster():
    members = booster_roster(fit_booster("gradient", "regression")[0]).members
    with pytest.raises(ValueError, match="nonzero weight"):
        rebuild(members, np.zeros(M))
