"""Least squares with an intercept, shrunk towards the simplex weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeRegressor,
    LeastSquares,
    Pool,
    RidgeWeights,
    SimplexWeights,
    load,
    prune,
    save,
)
from tests.reference.hostile import fit_or_refuse, hostile_regression
from tests.reference.problems import make_held_out


def make_pool(N=60, M=7, seed=0):
    """Return members of different scales and offsets that share some errors."""
    rng = np.random.default_rng(seed)
    y = 2.0 * rng.normal(size=N) + 5.0
    shared = rng.normal(size=(N, 1))
    F = rng.uniform(0.6, 1.1, M) * y[:, None] + rng.uniform(0, 1, M) * shared
    return F + rng.uniform(0.3, 1.5, M) * rng.normal(size=(N, M)) + 1.0, y


def row_weights(N, weighted, seed=1):
    return np.random.default_rng(seed).exponential(size=N) if weighted else np.ones(N)


def dense(F, y, s, v, rho, c):
    """Return w and b from the normal equations of the definition."""
    m, y_mean = np.average(F, axis=0, weights=s), np.average(y, weights=s)
    R = F - m
    A = (R.T * s) @ R + rho * c * s.sum() * np.eye(F.shape[1])
    w = v + np.linalg.solve(A, (R.T * s) @ (y - y_mean - R @ v))
    return w, y_mean - w @ m


def error_variance(F, y, s):
    v = SimplexWeights().fit(F, y, sample_weight=s).weights_
    return np.cov(F @ v - y, aweights=s, ddof=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_against_the_normal_equations(rho, weighted):
    F, y = make_pool()
    s = row_weights(60, weighted)
    v = SimplexWeights().fit(F, y, sample_weight=s).weights_
    ridge = RidgeWeights(shrinkage=rho).fit(F, y, sample_weight=s)
    w, b = dense(F, y, s, v, rho, error_variance(F, y, s))
    np.testing.assert_allclose(ridge.weights_, w, rtol=0, atol=1e-11)
    assert ridge.intercept_ == pytest.approx(b, abs=1e-10)
    np.testing.assert_allclose(ridge.combine(F), F @ w + b, rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.1, 10.0, np.inf])
def test_left_out_errors_against_fits_without_each_row(rho, weighted):
    """Exact where no row changes the face of v; c is that of all rows."""
    F, y = make_pool(N=40, M=4, seed=2)
    s, total = row_weights(40, weighted), 0.0
    c = error_variance(F, y, s)
    face = SimplexWeights().fit(F, y, sample_weight=s).support_
    for n in range(40):
        k = np.arange(40) != n
        simplex = SimplexWeights().fit(F[k], y[k], sample_weight=s[k])
        assert simplex.support_.tolist() == face.tolist()
        # The penalty is rho c S of all rows.
        raised = rho * s.sum() / s[k].sum()
        w, b = dense(F[k], y[k], s[k], simplex.weights_, min(raised, 1e9), c)
        total += s[n] * (y[n] - b - F[n] @ w) ** 2
    ridge = RidgeWeights(shrinkage=rho).fit(F, y, sample_weight=s)
    assert ridge.loo_error_ == pytest.approx(total / s.sum(), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_over_shrinkages_by_their_left_out_errors(weighted):
    F, y = make_pool()
    s = row_weights(60, weighted)
    tried = np.logspace(-4, 4, 33)
    each = [RidgeWeights(shrinkage=r).fit(F, y, sample_weight=s) for r in tried]
    error = np.array([ridge.loo_error_ for ridge in each])
    p = error ** (-(s.sum() ** 2) / (s @ s) / 8)
    p /= p.sum()
    ridge = RidgeWeights().fit(F, y, sample_weight=s)
    expected = p @ [other.weights_ for other in each]
    np.testing.assert_allclose(ridge.weights_, expected, rtol=0, atol=1e-11)
    assert ridge.intercept_ == pytest.approx(p @ [o.intercept_ for o in each])
    assert ridge.shrinkage_ == pytest.approx(np.exp(p @ np.log(tried)))
    # The squared error is convex.
    assert error.min() / 1.1 < ridge.loo_error_ < p @ error


@pytest.mark.parametrize("masked", [False, True])
def test_infinite_shrinkage_gives_the_simplex_weights(masked):
    F, y = make_pool(40)
    held_out = make_held_out() if masked else None
    v = SimplexWeights().fit(F, y, held_out=held_out).weights_
    ridge = RidgeWeights(shrinkage=np.inf).fit(F, y, held_out=held_out)
    np.testing.assert_array_equal(ridge.weights_, v)
    if not masked:
        assert ridge.intercept_ == pytest.approx(np.mean(y - F @ v))


def test_no_shrinkage_gives_least_squares_with_an_intercept():
    F, y = make_pool()
    ridge = RidgeWeights(shrinkage=0).fit(F, y)
    # A constant member is an intercept.
    w = LeastSquares().fit(np.c_[F, np.ones(60)], y).weights_
    np.testing.assert_allclose(np.r_[ridge.weights_, ridge.intercept_], w, atol=1e-9)


def test_without_shrinkage_and_with_too_few_rows_the_nearest_to_the_simplex_weights():
    F, y = make_pool(N=5, M=9)
    v = SimplexWeights().fit(F, y).weights_
    ridge = RidgeWeights(shrinkage=0).fit(F, y)
    R = F - F.mean(axis=0)
    nearest = v + np.linalg.pinv(R, rcond=1e-10) @ (y - y.mean() - R @ v)
    np.testing.assert_allclose(ridge.weights_, nearest, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ridge.combine(F), y, rtol=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_shift_and_unit_do_not_matter(masked):
    F, y = make_pool(40)
    known = {"held_out": make_held_out() if masked else None}
    plain = RidgeWeights().fit(F, y, **known)
    for unit, shift in ((1.0, 1e4), (1e-3, 0.0), (1e150, 0.0), (-1e-150, 0.0)):
        moved = RidgeWeights().fit(unit * F + shift, unit * y + shift, **known)
        np.testing.assert_allclose(moved.weights_, plain.weights_, rtol=0, atol=1e-8)
        expected = unit * plain.combine(F) + shift
        np.testing.assert_allclose(moved.combine(unit * F + shift), expected, rtol=1e-8)


def test_members_that_are_all_too_low_are_raised():
    """The mean of y is met, which no convex combination can do."""
    F, y = make_pool()
    low = RidgeWeights(shrinkage=np.inf).fit(F - 30.0, y)
    assert low.combine(F - 30.0).mean() == pytest.approx(y.mean())


def test_a_perfect_member_takes_all():
    F, y = make_pool()
    F[:, 3] = y
    ridge = RidgeWeights().fit(F, y)
    np.testing.assert_allclose(ridge.weights_, np.eye(7)[3], rtol=0, atol=1e-7)
    assert ridge.intercept_ == pytest.approx(0.0, abs=1e-6)


def test_members_without_error_share_equally():
    y = np.arange(5.0)
    ridge = RidgeWeights().fit(np.repeat(y[:, None], 3, axis=1), y)
    np.testing.assert_allclose(ridge.weights_, 1 / 3, rtol=1e-12)
    assert (ridge.intercept_, ridge.loo_error_) == (0.0, 0.0)


def test_nearly_identical_members_weigh_nearly_the_same():
    F, y = make_pool(200)
    rng = np.random.default_rng(0)
    F = F[:, :1] + 1e-4 * rng.normal(size=(200, 10))
    # Differences that carry nothing: 1e-4 of them cost nothing either.
    ridge = RidgeWeights().fit(F, y)
    assert np.abs(ridge.weights_).sum() < 3.0
    assert ridge.loo_error_ <= 1.02 * np.var(y - F[:, 0])


def test_a_mask_that_is_nearly_full_changes_little():
    F, y = make_pool(500, 20)
    full = RidgeWeights(shrinkage=1.0).fit(F, y).weights_
    mask = np.random.default_rng(0).random(F.shape) < 0.999
    w = RidgeWeights(shrinkage=1.0).fit(F, y, held_out=mask).weights_
    np.testing.assert_allclose(w, full, rtol=0, atol=0.02)


def test_classes_are_refused():
    F = np.full((6, 2, 2), 0.5)
    with pytest.raises(ValueError, match="for classification use LogPool"):
        RidgeWeights().fit(F, [0, 1] * 3)


@pytest.mark.parametrize("shrinkage", [-1.0, "cv"])
def test_shrinkage_is_not_negative(shrinkage):
    with pytest.raises(ValueError, match="'shrinkage' parameter of RidgeWeights"):
        RidgeWeights(shrinkage=shrinkage).fit(*make_pool())


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    fit_or_refuse(RidgeWeights(), *case)


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[:300], y[:300], X[300:], y[300:]


def test_a_pool_keeps_the_intercept_everywhere(numbers, tmp_path):
    X, y, X_new, y_new = numbers
    pool = Pool([Ridge(0.1), DecisionTreeRegressor(max_depth=3), Ridge(9.0)])
    model = CommitteeRegressor(
        generator=pool, combiner=RidgeWeights(), uncertainty=True, random_state=0
    ).fit(X, y)
    assert model.intercept_ != 0.0
    F = model.member_predictions(X_new)
    expected = F @ model.combiner_.weights_ + model.combiner_.intercept_
    np.testing.assert_allclose(model.predict(X_new), expected)
    np.testing.assert_allclose(model.to_sklearn().predict(X_new), expected)
    save(model, tmp_path / "m.skops")
    np.testing.assert_allclose(load(tmp_path / "m.skops").predict(X_new), expected)
    low, high = model.predict_interval(X_new, method="constant").T
    np.testing.assert_allclose((low + high) / 2, expected)
    assert 0.8 < np.mean((low <= y_new) & (y_new <= high)) < 0.98


def test_bags_are_weighed_on_the_rows_that_they_left_out(numbers):
    X, y, X_new, y_new = numbers
    bags = [
        CommitteeRegressor(generator=Bagging(30), combiner=by, random_state=0).fit(X, y)
        for by in (RidgeWeights(), SimplexWeights())
    ]
    found, simplex = (np.mean((bag.predict(X_new) - y_new) ** 2) for bag in bags)
    assert found < 1.03 * simplex


def test_prune_takes_it(numbers):
    X, y, X_new, y_new = numbers
    models = [m.fit(X, y) for m in (Ridge(0.1), DecisionTreeRegressor(max_depth=3))]
    small = prune(models, X_new, y_new, combiner="ridge")
    F = np.column_stack([m.predict(X) for m in models])
    ridge = RidgeWeights().fit(
        np.column_stack([m.predict(X_new) for m in models]), y_new
    )
    np.testing.assert_allclose(small.predict(X), ridge.combine(F))
