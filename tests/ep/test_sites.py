"""Analytic sites against quadrature, and a site that is only a log term."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from committee.ep import Probit, Site, Truncation

MEANS = np.array([-8.0, -3.0, -0.5, 0.0, 0.3, 2.0, 6.0])
GRID = [axis.ravel() for axis in np.meshgrid(MEANS, [0.01, 0.3, 1.0, 7.0])]


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
