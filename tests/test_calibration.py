"""One slope, or one for each class, of probabilities or of sums of votes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from committee.calibration import Calibration, fit_calibration


def drawn(p, rng):
    """Labels of these probabilities."""
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)


@pytest.mark.parametrize("K", [2, 4])
def test_the_slope_that_made_the_labels_is_found(K, rng):
    z = rng.normal(size=(20_000, K))
    found = fit_calibration(
        "slope", softmax(z, axis=1), drawn(softmax(1.7 * z, 1), rng)
    )
    # The standard error is below 0.03, the prior pulls by less than a thousandth.
    assert abs(found.slope - 1.7) < 0.1
    assert found.floor == 1 / (20_000 + K)
    assert found.keeps_order


def test_the_vector_is_a_plain_minimum(rng):
    z = log_softmax(rng.normal(size=(300, 3)), axis=1)
    y = drawn(softmax(z * [0.5, 1.0, 2.0] + [0.5, 0.0, -0.5], axis=1), rng)
    t = fit_calibration("slope", np.exp(z), y).slope
    found = fit_calibration("vector", np.exp(z), y)

    def loss(x):
        log_q = log_softmax(t * np.exp(x[:3]) * z + x[3:], axis=1)
        return -sum(log_q[n, k] for n, k in enumerate(y)) + x @ x / (2 * 0.25**2)

    x = minimize(
        loss, np.zeros(6), method="Nelder-Mead", tol=1e-10, options={"maxiter": 9000}
    ).x
    np.testing.assert_allclose(found.slope, t * np.exp(x[:3]), rtol=1e-3)
    np.testing.assert_allclose(found.offset, x[3:], atol=1e-3)
    assert not found.keeps_order


def test_rows_without_an_error_leave_the_slope_finite(rng):
    y = rng.integers(0, 2, size=30)
    p = np.where(np.eye(2)[y] == 1, 0.9, 0.1)
    assert 1 < fit_calibration("slope", p, y).slope < 10
    assert 0.05 < fit_calibration("slope", p, 1 - y).slope < 1
    certain = fit_calibration("slope", np.eye(2)[y], y)
    assert np.all(certain(np.eye(2), np.eye(2)) > 0)
    assert fit_calibration("slope", p, y, np.zeros(30)).slope == 1.0


def test_the_prior_of_the_slope_by_hand(rng):
    """log t ~ N(0, 1/4), 30 rows right with log-odds L: 4 log t = 30 t L / (1 + e^(t L))."""
    y = rng.integers(0, 2, size=30)
    t = fit_calibration("slope", np.where(np.eye(2)[y] == 1, 0.9, 0.1), y).slope
    L = np.log(9)
    assert 4 * np.log(t) == pytest.approx(30 * t * L / (1 + np.exp(t * L)), rel=1e-3)


def test_few_rows_keep_the_vector_near_the_slope(rng):
    z = rng.normal(size=(10, 3))
    y = np.array([0] * 9 + [1])
    p = softmax(z, axis=1)
    one, each = (fit_calibration(method, p, y) for method in ("slope", "vector"))
    assert np.all(np.abs(np.log(each.slope / one.slope)) < 0.5)
    assert np.all(np.abs(each.offset) < 0.5)


def test_sums_are_taken_where_they_have_less_log_loss(rng):
    sums = rng.dirichlet(np.full(3, 0.1), size=4000)
    y = drawn(softmax(3.0 * sums, axis=1), rng)
    found = fit_calibration("slope", sums, y, sums=sums)
    assert found.floor is None
    assert abs(found.slope - 3.0) < 0.2
    y = drawn(sums, rng)  # probabilities that are true as they are
    found = fit_calibration("slope", sums, y, sums=sums)
    assert found.floor is not None
    assert abs(found.slope - 1.0) < 0.05


def test_logarithms_are_looked_at_unless_a_sum_is_negative(rng):
    """Sums of refitted leaves may be negative: their shares have no logarithm."""
    p, sums = rng.dirichlet(np.ones(3), size=500), 0.1 * rng.random((500, 3))
    y = drawn(p, rng)  # p is right, and the sums say nothing
    for least, has_floor in [(0.0, True), (-0.01, False)]:
        sums[0, 0] = least
        found = fit_calibration("slope", p, y, sums=sums)
        assert (found.floor is not None) == has_floor


def test_without_a_row_that_counts_no_class_is_below_its_equal_share():
    found = fit_calibration("slope", np.eye(3)[:1], np.array([0]), np.zeros(1))
    np.testing.assert_allclose(found(np.eye(3)[:1], None), [[0.6, 0.2, 0.2]])


def test_only_ratios_of_weights_matter_and_rows_of_weight_zero_do_not_count(rng):
    z = rng.normal(size=(200, 3))
    p, y = softmax(z, axis=1), rng.integers(0, 3, size=200)
    s = rng.integers(0, 3, size=200).astype(float)
    for method in ("slope", "vector"):
        some = fit_calibration(method, p, y, s)
        more = fit_calibration(method, p, y, 7 * s)
        np.testing.assert_allclose(some.slope, more.slope, rtol=1e-6)
        without = fit_calibration(method, p[s > 0], y[s > 0], s[s > 0])
        np.testing.assert_allclose(some.slope, without.slope, rtol=1e-12)
        assert some.floor == without.floor


def test_uncertain_sums_are_taken_in_the_mean(rng):
    sums, v = rng.normal(size=(5, 2)), rng.random(5)
    p = Calibration(2.0)(sums, sums, v)
    draws = rng.normal(size=(40_000, 5)) * np.sqrt(v) + (sums[:, 1] - sums[:, 0])
    mean = (1 / (1 + np.exp(-2.0 * draws))).mean(axis=0)
    # MacKay's approximation is within 0.02, the mean of the draws within 0.005.
    np.testing.assert_allclose(p[:, 1], mean, atol=0.025)


def test_slopes_and_offsets_by_hand():
    """q ~ exp(t z + a), of log p with a floor and of the sums without one."""
    p, sums = np.array([[0.7, 0.3]]), np.array([[1.5, -0.5]])
    a = np.array([0.4, -0.6])
    for found, z in [
        (Calibration(np.array([2.0, 0.5]), 0.01, a), np.log(p) * [2.0, 0.5]),
        (Calibration(np.array([2.0, 2.0]), None, a), 2.0 * sums),
    ]:
        q = np.exp(z + a)
        np.testing.assert_allclose(found(p, sums), q / q.sum(), rtol=1e-12)
