"""What members predict, against the plain computation on the whole F."""

import pickle

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import ambiguity, error_correlation, member_predictions, prune
from committee.ensembles import roster_of
from committee.predictions import combined
from committee.reporting import evaluation as module
from committee.reporting.evaluation import constant, evaluate_members, own_answer


def test_errors_of_classes_are_those_of_the_whole_F(classifier):
    committee, X, y = classifier
    evaluated = evaluate_members(committee, X, y)
    F = committee.member_predictions(X)
    np.testing.assert_array_equal(evaluated.F, F)
    wrong = F.argmax(axis=2) != y[:, None]
    np.testing.assert_allclose(evaluated.errors, wrong.mean(axis=0))
    own, equal, best, constant = evaluated.comparisons.values()
    assert constant.error == np.mean(np.bincount(y).argmax() != y)
    assert own.error == np.mean(committee.predict(X) != y)
    assert equal.error == np.mean(F.mean(axis=1).argmax(axis=1) != y)
    assert best.error == wrong.mean(axis=0).min()
    assert own.gap == 0 == own.gap_se
    assert equal.gap == pytest.approx(equal.error - own.error)
    interval = binomtest(int(own.error * len(y) + 0.5), len(y)).proportion_ci(
        method="wilson"
    )
    assert (own.low, own.high) == pytest.approx((interval.low, interval.high))


def test_errors_of_numbers_are_roots_and_so_are_the_ends_of_a_normal_interval(
    regressor,
):
    committee, X, y = regressor
    evaluated = evaluate_members(committee, X, y)
    F = committee.member_predictions(X)
    np.testing.assert_allclose(evaluated.own.predicted, committee.predict(X))
    np.testing.assert_allclose(
        evaluated.errors, np.sqrt(((F - y[:, None]) ** 2).mean(axis=0))
    )
    assert evaluated.measure == "RMSE"
    own = evaluated.comparisons["committee"]
    losses = (committee.predict(X) - y) ** 2
    half = norm.ppf(0.975) * losses.std() / np.sqrt(len(y))
    assert (own.low, own.high) == pytest.approx(
        (np.sqrt(losses.mean() - half), np.sqrt(losses.mean() + half))
    )
    np.testing.assert_allclose(evaluated.correlation, error_correlation(F, y))


def test_of_very_many_members_the_largest_weights_are_compared(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(module, "_MOST_IN_PAIRS", 3)
    evaluated = evaluate_members(committee, X, y)
    largest = np.argsort(-committee.weights_, kind="stable")[:3]
    assert evaluated.leading.tolist() == sorted(largest)
    F = committee.member_predictions(X)[:, evaluated.leading]
    np.testing.assert_allclose(evaluated.correlation, error_correlation(F, y))


def test_a_row_of_weight_two_is_a_row_that_comes_twice(classifier):
    committee, X, y = classifier
    s = np.where(np.arange(len(y)) < 10, 2.0, 1.0)
    weighted = evaluate_members(committee, X, y, sample_weight=s)
    twice = evaluate_members(committee, np.vstack([X, X[:10]]), np.append(y, y[:10]))
    np.testing.assert_allclose(weighted.errors, twice.errors)
    np.testing.assert_allclose(weighted.correlation, twice.correlation)
    for a, b in zip(
        weighted.comparisons.values(), twice.comparisons.values(), strict=True
    ):
        assert (a.error, a.gap) == pytest.approx((b.error, b.gap))


def test_the_interval_of_weighted_rows_is_that_of_as_many_effective_ones(classifier):
    committee, X, y = classifier
    half = np.arange(len(y)) < len(y) // 2
    none = evaluate_members(
        committee, X, y, sample_weight=np.where(half, 1.0, 0.0)
    ).comparisons["committee"]
    part = evaluate_members(committee, X[half], y[half]).comparisons["committee"]
    assert (none.low, none.high) == pytest.approx((part.low, part.high))
    same = evaluate_members(
        committee, X, y, sample_weight=np.full(len(y), 3.0)
    ).comparisons["committee"]
    plain = evaluate_members(committee, X, y).comparisons["committee"]
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high))


def test_rows_that_are_all_right_leave_room_for_doubt(classifier):
    committee, X, _ = classifier
    s = np.linspace(1, 2, len(X))
    own = evaluate_members(
        committee, X, committee.predict(X), sample_weight=s
    ).comparisons["committee"]
    assert own.error == own.low == 0
    assert 0.02 < own.high < 0.2


def test_of_one_row_no_interval_is_known(regressor, classifier):
    for committee, X, y in (regressor, classifier):
        for rows, s in ((1, None), (2, [1.0, 0.0])):
            evaluated = evaluate_members(committee, X[:rows], y[:rows], sample_weight=s)
            assert all(
                np.isnan([x.low, x.high, x.gap_se]).all()
                for x in evaluated.comparisons.values()
            )


def test_where_F_is_too_large_rows_are_drawn_for_it_alone(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(module, "_KEPT_NUMBERS", committee.n_members_ * 3 * 40)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 1)
    evaluated, whole = evaluate_members(committee, X, y), None
    assert evaluated.F.shape == (40, committee.n_members_, 3)
    assert len(set(evaluated.drawn)) == 40
    np.testing.assert_array_equal(
        evaluated.F, committee.member_predictions(X)[evaluated.drawn]
    )
    monkeypatch.undo()
    whole = evaluate_members(committee, X, y)
    np.testing.assert_array_equal(evaluated.errors, whole.errors)
    assert evaluated.comparisons == whole.comparisons


def test_the_ambiguity_is_that_of_the_diagnostics(classifier):
    committee, X, y = classifier
    C = evaluate_members(committee, X, y).correlation
    w = committee.weights_ / committee.weights_.sum()
    terms = ambiguity(committee.member_predictions(X), y, w)
    assert w @ C @ w == pytest.approx(terms.ensemble_error)
    assert w @ np.diag(C) == pytest.approx(terms.member_error)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        StackingClassifier(
            [
                ("near", KNeighborsClassifier()),
                ("line", LogisticRegression(max_iter=999)),
            ],
            cv=2,
        ),
        make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_ensembles_are_evaluated_too(ensemble):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    ensemble.fit(X, labels)
    evaluated = evaluate_members(ensemble, X, labels)
    assert evaluated.comparisons["committee"].error == np.mean(
        ensemble.predict(X) != labels
    )
    assert evaluated.F.shape == member_predictions(ensemble, X).shape


def test_a_median_predicts_itself(regressor):
    _, X, y = regressor
    boosted = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    evaluated = evaluate_members(boosted, X, y)
    np.testing.assert_array_equal(evaluated.own.predicted, boosted.predict(X))


def test_labels_that_nobody_knows_are_named(classifier):
    committee, X, _ = classifier
    with pytest.raises(ValueError, match="contains the label 7"):
        evaluate_members(committee, X, np.full(len(X), 7))


@pytest.mark.parametrize("as_list", [False, True])
def test_the_ensemble_before_pruning_is_evaluated_on_these_rows(as_list, rng):
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0, "yes", "no")
    forest = RandomForestClassifier(20, random_state=0).fit(X[:100], y[:100])
    whole = list(forest.estimators_) if as_list else forest
    codes = (y == "yes").astype(float) if as_list else y
    small = prune(whole, X[100:200], codes[100:200])
    evaluated = evaluate_members(small, X[200:], codes[200:])
    p = forest.predict_proba(X[200:])
    np.testing.assert_allclose(evaluated.answers["before"].p, p)
    assert evaluated.comparisons["before"].error == np.mean(
        forest.predict(X[200:]) != y[200:]
    )
    assert evaluated.numbers.tolist() == list(range(20))
    own = evaluated.answers["committee"].p
    np.testing.assert_allclose(own, small.predict_proba(X[200:]))
    # A copy does not know it, and says nothing.
    copied = evaluate_members(pickle.loads(pickle.dumps(small)), X[200:], codes[200:])
    assert "before" not in copied.answers
    assert len(copied.numbers) == small.n_members_
    assert copied.comparisons["committee"] == evaluated.comparisons["committee"]


def test_training_rows_are_recognised(rng):
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:100], y[:100])
    small = prune(forest, X[:100], y[:100], oob=True)
    for model in (forest, small):
        assert evaluate_members(model, X[:100], y[:100]).is_training
        assert not evaluate_members(model, X[100:], y[100:]).is_training


def test_an_ensemble_keeps_its_own_rule_for_probabilities():
    X, y = load_iris(return_X_y=True)
    boosted = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    output = combined(roster_of(boosted), X)
    found = own_answer(boosted, roster_of(boosted), X, output)
    np.testing.assert_allclose(found.p, boosted.predict_proba(X))
    np.testing.assert_array_equal(found.predicted, boosted.predict(X))


def test_a_second_layer_predicts_itself(rng):
    X = rng.normal(size=(40, 2))
    stack = StackingRegressor([("a", Ridge()), ("b", LinearRegression())], cv=2)
    stack.fit(X, X[:, 0])
    found = own_answer(stack, roster_of(stack), X, np.zeros(40))
    np.testing.assert_allclose(found.predicted, stack.predict(X))


def test_the_constant_is_the_weighted_share_or_mean():
    s = np.array([3.0, 1.0, 1.0])
    classes = constant(np.array([0, 1, 1]), s, ["a", "b"])
    assert classes.predicted.tolist() == [0, 0, 0]
    np.testing.assert_allclose(classes.p[0], [0.6, 0.4])
    mean = constant(np.array([0.0, 1.0, 4.0]), s, None)
    assert mean.predicted.tolist() == [1.0] * 3
