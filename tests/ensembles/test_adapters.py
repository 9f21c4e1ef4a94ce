"""Fitted ensembles of all kinds: their members, or why there are none."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_regression
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import Bagging, CommitteeClassifier, member_predictions
from committee.ensembles import roster_of
from committee.ensembles.adapters import adapter_of
from tests.reference.boosters import LIBRARIES, fit_booster

TWO = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]
TWO_NUMBERS = [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]


@pytest.fixture
def blobs():
    X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)
    return X, np.array(["b", "c", "a"])[y]


@pytest.fixture
def line():
    return make_regression(90, 4, noise=10.0, random_state=0)


AVERAGING_CLASSIFIERS = [
    RandomForestClassifier(7, random_state=0),
    ExtraTreesClassifier(7, random_state=0),
    BaggingClassifier(n_estimators=7, random_state=0),
    BaggingClassifier(n_estimators=7, max_features=0.5, random_state=0),
    BaggingClassifier(n_estimators=7, max_samples=4, random_state=0),
    BaggingClassifier(LinearSVC(), n_estimators=7, random_state=0),
    VotingClassifier(TWO, voting="soft", weights=[1, 3]),
    VotingClassifier([*TWO, ("gone", "drop")], voting="soft", weights=[1, 3, 5]),
    make_pipeline(StandardScaler(), RandomForestClassifier(7, random_state=0)),
    make_pipeline(
        StandardScaler(),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(7, random_state=0)),
    ),
    GridSearchCV(ExtraTreesClassifier(7, random_state=0), {"max_depth": [2, 3]}),
    make_pipeline(
        StandardScaler(),
        GridSearchCV(ExtraTreesClassifier(7, random_state=0), {"max_depth": [2]}),
    ),
    CommitteeClassifier(generator=Bagging(7), calibration=None, random_state=0),
]


@pytest.mark.parametrize("ensemble", AVERAGING_CLASSIFIERS, ids=repr)
def test_the_weighted_members_are_the_ensemble(ensemble, blobs):
    X, y = blobs
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    F = member_predictions(ensemble, X)
    np.testing.assert_array_equal(roster.classes, ["a", "b", "c"])
    np.testing.assert_allclose(F.sum(axis=2), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        np.tensordot(F, roster.weights, axes=(1, 0)),
        ensemble.predict_proba(X),
        rtol=1e-12,
        atol=1e-15,
    )


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestRegressor(7, random_state=0),
        ExtraTreesRegressor(7, random_state=0),
        BaggingRegressor(n_estimators=7, max_features=0.5, random_state=0),
        VotingRegressor(TWO_NUMBERS, weights=[1, 3]),
        make_pipeline(StandardScaler(), RandomForestRegressor(7, random_state=0)),
    ],
    ids=repr,
)
def test_the_weighted_regressors_are_the_ensemble(ensemble, line):
    X, y = line
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    assert roster.classes is None
    F = member_predictions(ensemble, X)
    np.testing.assert_allclose(F @ roster.weights, ensemble.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "ensemble",
    [
        AdaBoostClassifier(random_state=0),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), random_state=0),
        VotingClassifier(TWO, voting="hard"),
    ],
    ids=repr,
)
def test_votes_decide_as_the_ensemble_does(ensemble, blobs):
    X, y = blobs
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    F = member_predictions(ensemble, X)
    assert set(np.unique(F)) <= {0.0, 1.0}
    S = np.tensordot(F, roster.weights, axes=(1, 0))
    clear = np.ptp(np.sort(S, axis=1)[:, -2:], axis=1) > 1e-9
    np.testing.assert_array_equal(
        roster.classes[S.argmax(axis=1)][clear], ensemble.predict(X)[clear]
    )


def test_adaboost_of_regressors_takes_a_median_so_has_no_weights(line):
    X, y = line
    ensemble = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert roster_of(ensemble).weights is None
    assert member_predictions(ensemble, X).shape == (90, 5)


def test_several_targets_are_refused(blobs):
    X, y = blobs
    forest = RandomForestClassifier(5).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="several targets"):
        roster_of(forest)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(),
        GradientBoostingRegressor(),
        make_pipeline(HistGradientBoostingRegressor()),
        [Ridge()],
    ],
    ids=repr,
)
def test_unfitted_ensembles_are_refused(ensemble):
    with pytest.raises(NotFittedError):
        roster_of(ensemble)


def test_a_search_without_a_best_estimator_is_refused(blobs):
    X, y = blobs
    forest = RandomForestClassifier(2)
    search = GridSearchCV(forest, {"max_depth": [1]}, refit=False)
    with pytest.raises(ValueError, match="refit=False"):
        roster_of(search.fit(X, y))
    with pytest.raises(NotFittedError):
        roster_of(GridSearchCV(forest, {"max_depth": [1]}))


@pytest.mark.parametrize("other", [IsolationForest(), Ridge(), "lightgbm"], ids=repr)
def test_what_is_no_ensemble_of_predictors_is_refused(other):
    with pytest.raises(TypeError, match=f"Got {type(other).__name__} instead"):
        roster_of(other)


@pytest.mark.parametrize("library", LIBRARIES)
def test_boosters_are_recognised_also_behind_a_pipeline(library):
    model, _ = fit_booster(library, "binary")
    assert adapter_of(model).trees is not None
    if hasattr(model, "fit"):
        assert len(roster_of(make_pipeline(model))) == len(roster_of(model))
