"""What members said, against the plain computation on the whole F."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import ambiguity, combine, error_correlation, member_predictions
from committee.reporting import evaluation as module
from committee.reporting.evaluation import hear


def test_errors_of_classes_are_those_of_the_whole_F(classifier):
    committee, X, y = classifier
    heard = hear(committee, X, y)
    F = committee.member_predictions(X)
    np.testing.assert_array_equal(heard.F, F)
    wrong = F.argmax(axis=2) != y[:, None]
    np.testing.assert_allclose(heard.errors, wrong.mean(axis=0))
    own, equal, best = heard.scores()
    assert own.error == np.mean(committee.predict(X) != y)
    assert equal.error == np.mean(F.mean(axis=1).argmax(axis=1) != y)
    assert best.error == wrong.mean(axis=0).min()
    assert own.gap == 0 == own.gap_se
    assert equal.gap == pytest.approx(equal.error - own.error)
    interval = binomtest(int(own.error * len(y) + 0.5), len(y)).proportion_ci(
        method="wilson"
    )
    assert (own.low, own.high) == pytest.approx((interval.low, interval.high))


def test_errors_of_numbers_are_squared_and_their_interval_is_normal(regressor):
    committee, X, y = regressor
    heard = hear(committee, X, y)
    F = committee.member_predictions(X)
    np.testing.assert_allclose(heard.together, committee.predict(X))
    np.testing.assert_allclose(heard.errors, ((F - y[:, None]) ** 2).mean(axis=0))
    own = heard.scores()[0]
    losses = (committee.predict(X) - y) ** 2
    half = norm.ppf(0.975) * losses.std() / np.sqrt(len(y))
    assert (own.low, own.high) == pytest.approx(
        (losses.mean() - half, losses.mean() + half)
    )
    np.testing.assert_allclose(heard.correlation, error_correlation(F, y))


def test_the_errors_of_many_committees_are_those_of_each(classifier, regressor, rng):
    for committee, X, y in (classifier, regressor):
        heard = hear(committee, X, y)
        F = committee.member_predictions(X)
        W = rng.dirichlet(np.ones(F.shape[1]), size=3)
        for w, error in zip(W, heard.step_errors(W), strict=True):
            said = combine(F, w)
            plain = said.argmax(axis=1) != y if F.ndim == 3 else (said - y) ** 2
            assert error == pytest.approx(plain.mean())


def test_squared_errors_of_many_committees(classifier, rng):
    committee, X, y = classifier
    F = committee.member_predictions(X)
    W = rng.dirichlet(np.ones(F.shape[1]), size=2)
    errors = hear(committee, X, y).step_errors(W, squared=True)
    plain = [ambiguity(F, y, w).ensemble_error for w in W]
    np.testing.assert_allclose(errors, plain)


def test_of_very_many_members_the_largest_weights_are_compared(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(module, "_MOST_IN_PAIRS", 5)
    heard = hear(committee, X, y)
    largest = np.argsort(-committee.weights_, kind="stable")[:5]
    assert heard.leading.tolist() == sorted(largest)
    F = committee.member_predictions(X)[:, heard.leading]
    np.testing.assert_allclose(heard.correlation, error_correlation(F, y))


def test_a_row_of_weight_two_is_a_row_that_comes_twice(classifier):
    committee, X, y = classifier
    s = np.where(np.arange(len(y)) < 10, 2.0, 1.0)
    weighted = hear(committee, X, y, sample_weight=s)
    twice = hear(committee, np.vstack([X, X[:10]]), np.append(y, y[:10]))
    np.testing.assert_allclose(weighted.errors, twice.errors)
    np.testing.assert_allclose(weighted.correlation, twice.correlation)
    W = committee.weights_[None]
    np.testing.assert_allclose(weighted.step_errors(W), twice.step_errors(W))
    for a, b in zip(weighted.scores(), twice.scores(), strict=True):
        assert (a.error, a.gap) == pytest.approx((b.error, b.gap))


def test_the_interval_of_weighted_rows_is_that_of_as_many_effective_ones(classifier):
    committee, X, y = classifier
    half = np.arange(len(y)) < len(y) // 2
    none = hear(committee, X, y, sample_weight=np.where(half, 1.0, 0.0)).scores()[0]
    part = hear(committee, X[half], y[half]).scores()[0]
    assert (none.low, none.high) == pytest.approx((part.low, part.high))
    same = hear(committee, X, y, sample_weight=np.full(len(y), 3.0)).scores()[0]
    plain = hear(committee, X, y).scores()[0]
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high))


def test_rows_that_are_all_right_leave_room_for_doubt(classifier):
    committee, X, _ = classifier
    s = np.linspace(1, 2, len(X))
    own = hear(committee, X, committee.predict(X), sample_weight=s).scores()[0]
    assert own.error == own.low == 0
    assert 0.02 < own.high < 0.2


def test_of_one_row_no_interval_is_known(regressor, classifier):
    for committee, X, y in (regressor, classifier):
        for rows, s in ((1, None), (2, [1.0, 0.0])):
            heard = hear(committee, X[:rows], y[:rows], sample_weight=s)
            assert all(
                np.isnan([x.low, x.high, x.gap_se]).all() for x in heard.scores()
            )


def test_minus_scores_of_many_committees(classifier):
    committee, X, y = classifier
    heard = hear(committee, X, y)
    W = committee.weights_[None]
    error = heard.step_errors(W, scoring="accuracy")
    assert error == pytest.approx(-np.mean(committee.predict(X) == y))
    one = hear(committee, X[y == 0], y[y == 0])
    assert np.isnan(one.step_errors(W, scoring="roc_auc_ovr")).all()


def test_where_F_is_too_large_rows_are_drawn_for_it_alone(classifier, monkeypatch):
    committee, X, y = classifier
    monkeypatch.setattr(module, "_KEPT_NUMBERS", 20 * 3 * 40)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 1)
    heard, whole = hear(committee, X, y), None
    assert heard.F.shape == (40, 20, 3)
    assert len(set(heard.drawn)) == 40
    np.testing.assert_array_equal(heard.F, committee.member_predictions(X)[heard.drawn])
    monkeypatch.undo()
    whole = hear(committee, X, y)
    np.testing.assert_array_equal(heard.errors, whole.errors)
    assert heard.scores() == whole.scores()


def test_the_ambiguity_is_that_of_the_diagnostics(classifier):
    committee, X, y = classifier
    C = hear(committee, X, y).correlation
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
def test_other_ensembles_are_heard_too(ensemble):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    ensemble.fit(X, labels)
    heard = hear(ensemble, X, labels)
    assert heard.scores()[0].error == np.mean(ensemble.predict(X) != labels)
    assert heard.F.shape == member_predictions(ensemble, X).shape


def test_a_median_is_asked_for_its_own_answer(regressor):
    _, X, y = regressor
    boosted = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    heard = hear(boosted, X, y)
    np.testing.assert_array_equal(heard.together, boosted.predict(X))


def test_labels_that_nobody_knows_are_named(classifier):
    committee, X, _ = classifier
    with pytest.raises(ValueError, match="holds the label 7"):
        hear(committee, X, np.full(len(X), 7))
