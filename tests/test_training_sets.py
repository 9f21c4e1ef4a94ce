"""Noise, bias and variance over training sets, against closed forms and plain loops."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.tree import DecisionTreeRegressor

from committee import Bagging, CommitteeRegressor, ambiguity, bias_variance
from committee import member_predictions as predictions_of

X = np.linspace(-2.0, 2.0, 30)[:, None]
T = np.sin(2 * X[:, 0])
Y = T + 0.3 * np.random.default_rng(1).normal(size=30)


def draw(random):
    """Sixty rows of a noisy sine."""
    A = random.uniform(-2, 2, (60, 1))
    return A, np.sin(2 * A[:, 0]) + 0.3 * random.normal(size=60)


def test_the_mean_of_ten_rows_has_the_variance_of_the_textbook():
    """y ~ N(3, 4): the mean of 10 rows has bias 0, variance 0.4; the noise is 4."""

    def ten(random):
        return np.zeros((10, 1)), 3 + 2 * random.normal(size=10)

    n_sets, N = 1000, 500
    y = 3 + 2 * np.random.default_rng(0).normal(size=N)
    model = DummyRegressor()
    t = np.full(N, 3.0)
    found = bias_variance(
        model, ten, np.zeros((N, 1)), y, expected=t, n_sets=n_sets, random_state=0
    )
    error, noise, bias, variance = found.committee
    # Four standard errors: of a variance sqrt(2 / S), of a squared mean its variance.
    assert variance == pytest.approx(0.4, rel=4 * np.sqrt(2 / n_sets))
    assert abs(bias) < 4 * np.sqrt(2) * 0.4 / n_sets
    assert noise == pytest.approx(4.0, rel=4 * np.sqrt(2 / N))
    assert error == pytest.approx(noise + bias + variance, rel=1e-12)
    assert found.members is None


def test_terms_by_a_plain_loop_and_diversity_is_what_members_have_more():
    bag = CommitteeRegressor(DecisionTreeRegressor(), generator=Bagging(8))
    found = bias_variance(bag, draw, X, Y, expected=T, n_sets=6, random_state=3)
    f, diversity = [], []
    for seed in np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=6):
        random = np.random.RandomState(seed)
        model = clone(bag)
        for name in sorted(n for n in model.get_params() if n.endswith("random_state")):
            model.set_params(**{name: random.randint(np.iinfo(np.int32).max)})
        model.fit(*draw(random))
        f.append(model.predict(X))
        F = predictions_of(model, X)
        diversity.append(ambiguity(F, Y, by_row=True).diversity)
    variance = np.var(f, axis=0, ddof=1)
    by_row = found.committee_by_row
    np.testing.assert_allclose(by_row.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(by_row.noise, (Y - T) ** 2, rtol=1e-12)
    bias = (np.mean(f, axis=0) - T) ** 2 - variance / 6
    np.testing.assert_allclose(by_row.bias, bias, atol=1e-14)
    more = found.members_by_row.variance - by_row.variance
    np.testing.assert_allclose(more, np.mean(diversity, axis=0), atol=1e-14)
    np.testing.assert_allclose(found.members_by_row.bias, by_row.bias, atol=1e-14)
    errors = [np.mean((g - Y) ** 2) for g in f]
    assert found.error_se == pytest.approx(np.std(errors, ddof=1) / np.sqrt(6))


def test_the_same_numbers_for_any_n_jobs_and_nothing_is_fitted_in_place():
    model = Ridge()
    with parallel_config("threading"):
        one, two = (
            bias_variance(model, (X, Y), X, Y, n_sets=4, random_state=0, n_jobs=n)
            for n in (1, 2)
        )
    assert one.committee == two.committee
    assert not hasattr(model, "coef_")


def test_without_expected_targets_the_bias_holds_the_noise():
    found = bias_variance(Ridge(), (X, Y), X, Y, n_sets=3, random_state=0)
    assert found.committee.noise is None
    assert "bias and noise" in str(found)
    assert "members" not in str(found)


def test_a_class_that_a_training_set_lacks_has_probability_zero():
    y = np.repeat(["a", "b", "c"], [14, 14, 2])
    forest = RandomForestClassifier(5)
    found = bias_variance(forest, (X, y), X, y, n_sets=20, random_state=0)
    assert found.members.variance > found.committee.variance
    assert found.members.bias == pytest.approx(found.committee.bias, abs=1e-12)
    error, _, bias, variance = found.committee
    assert 0 < error == pytest.approx(bias + variance, rel=1e-12)


def test_classifiers_without_probabilities_and_boosters_have_no_member_column():
    y = np.where(X[:, 0] > 0, "up", "down")
    found = bias_variance(RidgeClassifier(), (X, y), X, y, n_sets=3, random_state=0)
    assert 0 <= found.committee.error < 0.5
    booster = GradientBoostingRegressor(n_estimators=3)
    assert bias_variance(booster, (X, Y), X, Y, n_sets=2).members is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_sets": 1}, "n_sets must be at least 2. Got 1"),
        ({"training": X}, "a pair \\(X, y\\)"),
        ({"expected": T[:5]}, "expected must have shape"),
        ({"y": np.full(30, np.nan)}, "y contains NaN"),
    ],
)
def test_wrong_calls_are_refused(change, sentence):
    given = {"training": (X, Y), "X": X, "y": Y, "n_sets": 2, **change}
    with pytest.raises(ValueError, match=sentence):
        bias_variance(Ridge(), **given)
