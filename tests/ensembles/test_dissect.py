"""Fitted ensembles of all kinds, taken apart."""

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
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
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

from committee import Bagging, CommitteeClassifier, SimplexWeights, member_predictions
from committee.ensembles import roster_of
from committee.predictions import ask

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
    CommitteeClassifier(generator=Bagging(7), random_state=0),
]


@pytest.mark.parametrize("ensemble", AVERAGING_CLASSIFIERS, ids=repr)
def test_the_weighted_members_are_the_ensemble(ensemble, blobs):
    X, y = blobs
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    F = ask(roster, roster.prepared(X))
    np.testing.assert_array_equal(roster.classes, ["a", "b", "c"])
    np.testing.assert_allclose(F.sum(axis=2), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        np.tensordot(F, roster.weights, axes=(1, 0)),
        ensemble.predict_proba(X),
        rtol=1e-12,
        atol=1e-15,
    )
    np.testing.assert_array_equal(F, member_predictions(ensemble, X))


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
    F = ask(roster, roster.prepared(X))
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
    F = ask(roster, roster.prepared(X))
    assert set(np.unique(F)) <= {0.0, 1.0}
    S = np.tensordot(F, roster.weights, axes=(1, 0))
    clear = np.ptp(np.sort(S, axis=1)[:, -2:], axis=1) > 1e-9
    np.testing.assert_array_equal(
        roster.classes[S.argmax(axis=1)][clear], ensemble.predict(X)[clear]
    )


@pytest.mark.parametrize("prefit", [False, True])
def test_stacking_gives_its_first_layer(prefit, blobs):
    X, y = blobs
    if prefit:
        layer = [(name, model.fit(X, y)) for name, model in TWO]
        stacking = StackingClassifier(layer, cv="prefit").fit(X, y)
    else:
        stacking = StackingClassifier(TWO).fit(X, y)
    roster = roster_of(stacking)
    assert roster.weights is None
    F = ask(roster, X)
    for m, (_, model) in enumerate(TWO):
        np.testing.assert_allclose(F[:, m], model.fit(X, y).predict_proba(X))


def test_stacking_of_regressors(line):
    X, y = line
    roster = roster_of(StackingRegressor(TWO_NUMBERS).fit(X, y))
    np.testing.assert_allclose(ask(roster, X)[:, 0], Ridge().fit(X, y).predict(X))


def test_adaboost_of_regressors_takes_a_median_so_has_no_weights(line):
    X, y = line
    roster = roster_of(AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y))
    assert roster.weights is None
    assert ask(roster, X).shape == (90, 5)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, bootstrap=True, max_samples=0.5, random_state=0),
        BaggingClassifier(n_estimators=5, random_state=0),
        BaggingClassifier(
            n_estimators=5, bootstrap=False, max_samples=0.5, random_state=0
        ),
    ],
    ids=repr,
)
def test_members_know_the_rows_that_they_were_trained_on(ensemble, blobs):
    """A fully grown tree is right on all rows it saw, and wrong on some others."""
    X, y = blobs
    ensemble.fit(X, y)
    roster = roster_of(ensemble)
    unseen = roster.held_out(len(X))
    assert unseen.shape == (90, 5)
    codes = np.searchsorted(roster.classes, y)
    right = ask(roster, X).argmax(axis=2) == codes[:, None]
    assert np.all(right[~unseen])
    assert not np.all(right[unseen])


def test_held_out_rows_of_a_committee_are_its_own(blobs):
    X, y = blobs
    committee = CommitteeClassifier(
        generator=Bagging(5), combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(
        roster_of(committee).held_out(len(X)), committee.held_out_
    )


def test_another_number_of_rows_cannot_be_the_training_rows(blobs):
    X, y = blobs
    forest = RandomForestClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match=r"the 90 rows .* Got 89 rows"):
        roster_of(forest).held_out(89)


def test_several_targets_are_refused(blobs):
    X, y = blobs
    forest = RandomForestClassifier(5).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="several targets"):
        roster_of(forest)


@pytest.mark.parametrize(
    "ensemble",
    [RandomForestClassifier(), make_pipeline(RandomForestClassifier()), [Ridge()]],
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


def test_what_is_no_ensemble_of_predictors_is_refused(blobs):
    with pytest.raises(TypeError, match="Got IsolationForest instead"):
        roster_of(IsolationForest(n_estimators=5).fit(blobs[0]))


def test_a_list_of_something_else_is_refused():
    with pytest.raises(TypeError, match="A list must hold fitted scikit-learn"):
        roster_of([object()])
