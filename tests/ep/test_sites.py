"""Scalar Gaussians against textbook formulas, analytic sites against quadrature."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from committee.ep import Probit, Site, Truncation
from committee.ep.sites import cavity, hazard, log_scale, truncated_variance

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


@pytest.mark.parametrize("site", [Probit(), Truncation()])
def test_quadrature_equals_analytic(site):
    """96 Gauss-Legendre nodes on a bracket of exp(-40): errors of rounding only."""
    c_mean, c_var = GRID
    keep = c_mean > -30 * np.sqrt(c_var) if site.noise == 0 else c_mean < np.inf
    c_mean, c_var = c_mean[keep], c_var[keep]
    analytic = site.moments(c_mean, c_var)
    log_z, rho, _, shrink = Site.tilted(site, c_mean, c_var)
    numeric = log_z, c_mean + c_var * rho, c_var * shrink
    sd = np.sqrt(analytic[2])
    assert_allclose(numeric[0], analytic[0], rtol=1e-9, atol=1e-9)
    assert np.all(np.abs(numeric[1] - analytic[1]) <= 1e-8 * sd)
    assert_allclose(numeric[2], analytic[2], rtol=1e-7)


def test_probit_moments_by_adaptive_integration():
    c_mean, c_var = -1.2, 2.5

    def density(x, power):
        return x**power * norm.cdf(x) * norm.pdf(x, c_mean, np.sqrt(c_var))

    z, first, second = (
        quad(density, -20, 20, args=(power,), epsabs=1e-13)[0] for power in range(3)
    )
    log_z, mean, var = Probit().moments(np.array([c_mean]), np.array([c_var]))
    assert_allclose(log_z, np.log(z), atol=1e-10)
    assert_allclose(mean, first / z, atol=1e-10)
    assert_allclose(var, second / z - (first / z) ** 2, atol=1e-10)


class Bell(Site):
    """exp(-(x - 1)^2): a Gaussian term, whose site is known."""

    def log_term(self, x):
        return -((x - 1.0) ** 2)


def test_a_new_site_needs_only_its_log_term():
    c_mean, c_var = GRID
    _, tau, nu = Bell().match(c_mean, c_var)
    # tau = 1/var - 1/c_var loses what c_var is smaller than the site's 1/2.
    assert_allclose(tau, 2.0, rtol=1e-9 / c_var.min())
    assert_allclose(nu, 2.0, rtol=1e-7 / c_var.min())


def test_the_base_site_has_no_term():
    with pytest.raises(TypeError, match="log_term"):
        Site()


@pytest.mark.parametrize("site", [Probit(), Truncation()])
@given(z=st.floats(-1e5, 1e5), log_sd=st.floats(-10, 10))
def test_sites_are_log_concave(site, z, log_sd):
    """0 < c_var kappa < 1, so every site has tau >= 0 and a positive tilted variance."""
    sd = np.exp(log_sd)
    c_mean, c_var = np.array([z * sd]), np.array([sd * sd])
    log_z, tau, nu = site.match(c_mean, c_var)
    _, _, var = site.moments(c_mean, c_var)
    assert log_z <= 0
    assert tau >= 0
    assert 0 < var <= c_var
    assert np.isfinite([log_z, tau, nu]).all()


def test_a_truncated_mean_is_positive():
    _, mean, _ = Truncation().moments(np.array([-1e4, -3.0, 2.0]), np.ones(3))
    assert np.all(mean > 0)
