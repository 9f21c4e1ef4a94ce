"""Scalar Gaussians against textbook formulas, analytic sites against quadrature."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from committee.ep.sites import (
    cavity,
    hazard,
    log_scale,
    moment_mismatch,
    tilted,
    truncated_variance,
)

REACH = st.floats(-1e6, 1e6)
POSITIVE = st.floats(1e-6, 1e6)
MEANS = np.array([-8.0, -3.0, -0.5, 0.0, 0.3, 2.0, 6.0])
GRID = [axis.ravel() for axis in np.meshgrid(MEANS, [0.01, 0.3, 1.0, 7.0])]


def test_hazard_is_density_over_distribution():
    z = np.linspace(-30, 30, 601)
    assert_allclose(hazard(z), np.exp(norm.logpdf(z) - norm.logcdf(z)), rtol=1e-12)


@pytest.mark.parametrize("z", [-1e4, -1e8, -1e150])
def test_hazard_tends_to_minus_z(z):
    """r(z) = -z - 1/z + O(1/z^3)."""
    assert_allclose(hazard(np.array([z])), -z, rtol=1.1 / z**2 + 1e-15)


def test_truncated_variance_in_the_body():
    """Var[x | x > -z] = 1 - r (r + z), directly where nothing cancels."""
    z = np.linspace(-4, 40, 200)
    r = np.exp(norm.logpdf(z) - norm.logcdf(z))
    assert_allclose(truncated_variance(z, hazard(z)), 1 - r * (r + z), rtol=1e-12)


def test_truncated_variance_in_the_tail():
    """1/z^2 - 6/z^4 + 50/z^6 - ..., so the first two terms are good to 50/z^4."""
    z = -np.logspace(2, 8, 30)
    series = 1 / z**2 - 6 / z**4
    got = truncated_variance(z, hazard(z))
    assert np.all(np.abs(got / series - 1) <= 60 / z**4 + 1e-14)


def test_truncated_variance_joins_smoothly():
    z = -5 + np.array([-1e-9, 1e-9])
    low, high = truncated_variance(z, hazard(z))
    assert_allclose(low, high, rtol=1e-8)


@given(z=st.floats(-1e150, 1e150))
def test_truncated_variance_is_a_variance(z):
    z = np.array([z])
    (variance,) = truncated_variance(z, hazard(z))
    assert 0 < variance <= 1


@given(c_mean=REACH, c_var=POSITIVE, tau=POSITIVE, nu=REACH)
def test_cavity_undoes_the_site(c_mean, c_var, tau, nu):
    """Multiplying N(c_mean, c_var) with the site gives a marginal; cavity inverts it.

    Rounding of 1 - tau var is one unit in 1 / (1 + tau c_var).
    """
    var = 1 / (1 / c_var + tau)
    mean = var * (c_mean / c_var + nu)
    loss = 1e-15 * (1 + tau * c_var)
    assume(loss <= 1e-4)
    got_mean, got_var = cavity(*(np.array([v]) for v in (mean, var, tau, nu)))
    scale = abs(c_mean) + abs(nu) * c_var
    assert_allclose(got_var, c_var, rtol=8 * loss)
    assert_allclose(got_mean, c_mean, rtol=0, atol=8 * loss * scale)


def test_cavity_without_variance():
    zero, one = np.zeros(1), np.ones(1)
    assert cavity(zero, zero, one, one) == (0, 0)


def test_log_scale_is_the_formula_of_the_evidence():
    """The printed form, with (c_nu + nu)^2 / (c_tau + tau) - c_mean^2 / c_var."""
    rng = np.random.default_rng(0)
    log_z, c_mean, nu = rng.normal(size=(3, 50))
    c_var, tau = rng.exponential(size=(2, 50))
    c_tau, c_nu = 1 / c_var, c_mean / c_var
    expected = (
        log_z
        + 0.5 * np.log(1 + tau * c_var)
        - 0.5 * ((c_nu + nu) ** 2 / (c_tau + tau) - c_mean**2 / c_var)
    )
    # The printed form subtracts numbers of the size c_mean^2 / c_var.
    atol = 1e-15 * (1 + c_mean**2 / c_var + (c_nu + nu) ** 2 / (c_tau + tau)).max()
    assert_allclose(log_scale(log_z, c_mean, c_var, tau, nu), expected, atol=4 * atol)


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_moments_equal_quadrature(noise):
    """The tilted density on 20,000 points, within 12 deviations of its mean."""
    c_mean, c_var = GRID
    keep = c_mean > -30 * np.sqrt(c_var) if noise == 0 else c_mean < np.inf
    c_mean, c_var = c_mean[keep], c_var[keep]
    term = tilted(c_mean, c_var, noise=noise)
    sd = np.sqrt(term.var)
    low, high = term.mean - 12 * sd, term.mean + 30 * sd
    low = low if noise else np.maximum(low, 0.0)
    x, dx = np.linspace(low, high, 20_001, retstep=True)
    log_term = norm.logcdf(x) if noise else np.zeros_like(x)
    density = np.exp(log_term + norm.logpdf(x, c_mean, np.sqrt(c_var)) - term.log_z)
    weights = np.full(len(x), 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0  # Simpson's rule
    mass, first, second = (
        weights @ (density * ((x - term.mean) / sd) ** power) * dx / 3
        for power in range(3)
    )
    assert_allclose(mass, 1.0, rtol=1e-8)
    assert_allclose(first, 0.0, atol=1e-7)
    assert_allclose(second, 1.0, rtol=1e-7)


def test_probit_moments_by_adaptive_integration():
    c_mean, c_var = -1.2, 2.5

    def density(x, power):
        return x**power * norm.cdf(x) * norm.pdf(x, c_mean, np.sqrt(c_var))

    z, first, second = (
        quad(density, -20, 20, args=(power,), epsabs=1e-13)[0] for power in range(3)
    )
    term = tilted(np.array([c_mean]), np.array([c_var]), noise=1.0)
    assert_allclose(term.log_z, np.log(z), atol=1e-10)
    assert_allclose(term.mean, first / z, atol=1e-10)
    assert_allclose(term.var, second / z - (first / z) ** 2, atol=1e-10)


@pytest.mark.parametrize("noise", [1.0, 0.0])
@given(z=st.floats(-1e5, 1e5), log_sd=st.floats(-10, 10))
def test_sites_are_log_concave(noise, z, log_sd):
    """0 < c_var kappa < 1, so every site has tau >= 0 and a positive tilted variance."""
    sd = np.exp(log_sd)
    c_mean, c_var = np.array([z * sd]), np.array([sd * sd])
    term = tilted(c_mean, c_var, noise=noise)
    tau, nu = term.site
    assert term.log_z <= 0
    assert tau >= 0
    assert 0 < term.var <= c_var
    assert np.isfinite([term.log_z, tau, nu]).all()


def test_a_truncated_mean_is_positive():
    term = tilted(np.array([-1e4, -3.0, 2.0]), np.ones(3), noise=0.0)
    assert np.all(term.mean > 0)


def test_mismatch_is_the_larger_of_both_moments_in_units_of_the_marginal():
    """By hand: |3 - 1| / sqrt(4) = 1 beside |5 - 4| / 4, and |10 - 4| / 4 = 1.5."""
    mean, var = np.array([1.0]), np.array([4.0])
    assert moment_mismatch(mean, var, np.array([3.0]), np.array([5.0])) == 1.0
    assert moment_mismatch(mean, var, np.array([3.0]), np.array([10.0])) == 1.5
    nothing = np.empty(0)
    assert moment_mismatch(nothing, nothing, nothing, nothing) == 0.0
