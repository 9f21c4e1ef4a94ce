"""EP's posterior and exact draws on two principal axes."""

import numpy as np
import pytest
from scipy.stats import chi2

from committee import EPPruner, MCMCPruner, PosteriorDisplay


@pytest.fixture
def gaussian(rng):
    A = rng.normal(size=(5, 5))
    cov = A @ A.T
    mean = rng.normal(size=5)
    return mean, cov, rng.multivariate_normal(mean, cov, size=4000)


def test_axes_are_those_of_largest_variance(gaussian):
    mean, cov, draws = gaussian
    display = PosteriorDisplay(mean, cov, draws)
    assert display.axes @ display.axes.T == pytest.approx(np.eye(2))
    values = np.linalg.eigvalsh(cov)[::-1]
    assert display.variance == pytest.approx(values[:2])
    assert display.axes @ cov @ display.axes.T == pytest.approx(
        np.diag(values[:2]), abs=1e-12 * values[0]
    )
    assert display.share == pytest.approx(values[:2].sum() / values.sum())


def test_draws_of_the_gaussian_itself_agree_with_it(gaussian, drawn):
    """Up to the error of 4000 draws: 1.6 percent of a deviation, 2.2 of a variance."""
    display = drawn(PosteriorDisplay(*gaussian).plot())
    std = np.sqrt(display.variance)
    assert np.all(np.abs(display.sample_mean) < 5 * 0.016 * std)
    assert np.diag(display.sample_cov) == pytest.approx(display.variance, rel=0.11)
    inside = (display.samples**2 / display.variance).sum(axis=1) < chi2.ppf(0.95, 2)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


def test_ellipses_hold_the_mass_on_their_label(gaussian):
    display = PosteriorDisplay(*gaussian)
    for mass in (0.5, 0.95):
        radius = (display._ellipse(mass).T ** 2 / display.variance).sum(axis=1)
        assert radius == pytest.approx(chi2.ppf(mass, 2))


def test_signs_of_axes_do_not_depend_on_the_solver(gaussian):
    display = PosteriorDisplay(*gaussian)
    largest = np.abs(display.axes).argmax(axis=1)
    assert np.all(display.axes[[0, 1], largest] > 0)


def test_numbers_of_a_fitted_pruner(regression_problem, drawn):
    mcmc = MCMCPruner(n_samples=50, n_chains=2, random_state=0)
    mcmc.fit(*regression_problem)
    display = drawn(PosteriorDisplay.from_estimator(mcmc))
    step = mcmc.ep_.posterior_
    draws = mcmc.samples_.reshape(100, -1) - step.weights[step.active]
    assert display.samples == pytest.approx(draws @ display.axes.T)
    assert display.ax_.get_xlabel().startswith("first principal axis")
    assert display.ax_.get_ylabel() == "second principal axis"
    again = PosteriorDisplay.from_predictions(*regression_problem, combiner=mcmc)
    assert np.array_equal(again.samples, display.samples)


def test_wrong_input_is_refused(regression_problem):
    with pytest.raises(TypeError, match=r"made by MCMCPruner.* Got EPPruner"):
        PosteriorDisplay.from_estimator(EPPruner().fit(*regression_problem))
    with pytest.raises(ValueError, match=r"at least two members. Got 1"):
        PosteriorDisplay([1.0], [[1.0]], np.ones((5, 1)))
