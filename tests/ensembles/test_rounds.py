"""Rounds of boosters as members: their mean is the booster."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.validation import check_is_fitted

from committee.ensembles.boosters import booster_roster
from tests.reference.boosters import (
    LABELS,
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

EQUAL = np.full(M, 1.0 / M)


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_equal_weights_are_the_booster_itself(library, task, frame):
    """mean_m f_m = raw, and softmax(K mean_m F_m) = predict_proba."""
    model, X = fit_booster(library, task, frame=frame)
    F = member_values(booster_roster(model).members, X, task)
    np.testing.assert_allclose(
        combined(F, EQUAL), output(model, X, task), **tolerance(library)
    )


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_scores_of_a_row_sum_to_one(library, task):
    model, X = fit_booster(library, task)
    for member in booster_roster(model).members:
        scores = member.scores(X)
        np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(
            member.predict(X), member.classes_[scores.argmax(axis=1)]
        )


@pytest.mark.parametrize("library", ["gradient", "histogram", "lightgbm"])
def test_rounds_speak_the_labels(library):
    model, X = fit_booster(library, "multiclass")
    for member in booster_roster(model).members:
        assert set(member.predict(X)) <= set(LABELS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_round_differs_from_the_start_by_its_trees_times_m(library):
    """Removing round m from the sum: M (raw - mean of the others') = f_m - start."""
    model, X = fit_booster(library, "regression")
    roster = booster_roster(model)
    F = member_values(roster.members, X, "regression")
    start = roster.members[0].shared.start
    h = (F - start) / M
    np.testing.assert_allclose(
        start + h.sum(axis=1), output(model, X, "regression"), **tolerance(library)
    )
    # A start near the mean of y: no round has to carry it alone.
    assert np.abs(h[:, 0]).max() < 50 < start[0]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_survive_pickling(library, task):
    model, X = fit_booster(library, task)
    members = booster_roster(model).members[:2]
    again = pickle.loads(pickle.dumps(members))
    np.testing.assert_array_equal(
        member_values(again, X, task), member_values(members, X, task)
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_round_does_not_carry_the_others(library):
    model, _ = fit_booster(library, "multiclass")
    members = booster_roster(model).members
    one, all_of_them = (len(pickle.dumps(part)) for part in (members[3], members))
    assert one < all_of_them / 3


@pytest.mark.parametrize("library", LIBRARIES)
def test_rounds_are_fitted_estimators_of_their_task(library):
    regressor = booster_roster(fit_booster(library, "regression")[0]).members[0]
    classifier = booster_roster(fit_booster(library, "binary")[0]).members[0]
    check_is_fitted(regressor)
    check_is_fitted(classifier)
    assert is_regressor(regressor)
    assert is_classifier(classifier)
    assert not hasattr(regressor, "classes_")


def test_exponential_loss_has_twice_the_slope():
    X, y = make_rows("binary", missing=False)
    model = GradientBoostingClassifier(loss="exponential", n_estimators=M).fit(X, y)
    F = member_values(booster_roster(model).members, X, "binary")
    np.testing.assert_allclose(
        combined(F, EQUAL), model.predict_proba(X), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("init", ["zero", "estimator"])
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_boosting_on_top_of_something_else(task, init):
    X, y = make_rows(task, missing=False)
    kind, below = GradientBoostingRegressor, LinearRegression()
    if task == "binary":
        kind, below = GradientBoostingClassifier, LogisticRegression()
    model = kind(n_estimators=M, init="zero" if init == "zero" else below).fit(X, y)
    roster = booster_roster(model)
    F = member_values(roster.members, X, task)
    np.testing.assert_allclose(
        combined(F, EQUAL), output(model, X, task), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        np.stack(list(roster.staged_predictions(X)), 1), F, rtol=1e-9
    )


def test_inputs_are_left_alone():
    model, X = fit_booster("lightgbm", "regression")
    before, own = X.copy(), model.predict(X)
    members = booster_roster(model).members
    member_values(members, X, "regression")
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.predict(X), own)
