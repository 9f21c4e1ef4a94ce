"""R-hat and effective sample size on processes whose answers are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

from committee.bayes.gibbs import (
    _Guide,
    _normal_scores,
    effective_sample_size,
    split_r_hat,
)


def autoregression(rng, phi, *, chains=8, n=20_000):
    """x_t = phi x_{t-1} + e_t, from its stationary distribution."""
    e = rng.normal(size=(chains, n))
    x = np.empty_like(e)
    x[:, 0] = e[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + e[:, t]
    return x


@pytest.mark.parametrize("phi", [-0.5, -0.2, 0.0, 0.3, 0.6, 0.9])
def test_ess_of_an_autoregression(rng, phi):
    """ESS = C n (1 - phi) / (1 + phi); its own error is a few percent here."""
    x = autoregression(rng, phi)
    assert_allclose(effective_sample_size(x), x.size * (1 - phi) / (1 + phi), rtol=0.08)


def test_normal_scores_by_hand():
    """Ranks over all chains, ties with their mean, of each entry alone."""
    draws = np.stack([[[3.0, 1.0], [2.0, 2.0]], [[1.0, 9.0], [3.0, 7.0]]], axis=2)
    ranks = np.stack([[[4, 1], [2.5, 2.5]], [[1, 4], [2, 3]]], axis=2)
    assert_allclose(_normal_scores(draws), ndtri((ranks - 3 / 8) / 4.25), rtol=1e-14)


def test_chains_start_twice_as_wide_as_the_guide(rng):
    """E |start - mode| = 2 sqrt(2 / pi) units; the mean of 4,000 is known to 0.02."""
    guide = _Guide(np.diag([4.0, 0.25]), np.array([4.0, 1.0]))
    steps = np.abs(guide.spread(4000, rng) - guide.mode) / [0.5, 2.0]
    assert_allclose(steps.mean(axis=0), 2 * np.sqrt(2 / np.pi), atol=0.1)


def test_ess_is_the_precision_of_the_mean(rng):
    """The variance of the mean over many repetitions is var / ESS."""
    x = autoregression(rng, 0.7, chains=2000, n=200)
    runs = x.reshape(500, 4, 200)
    ess = np.mean([effective_sample_size(run) for run in runs])
    # Sampling error of a variance of 500 means: 6 %; bias of short chains as well.
    assert_allclose(runs.mean(axis=(1, 2)).var(), x.var() / ess, rtol=0.2)


def test_r_hat_of_chains_that_have_met(rng):
    for phi in (0.0, 0.9):
        assert 0.999 < split_r_hat(autoregression(rng, phi)) < 1.01


def test_r_hat_finds_chains_that_differ_in_place(rng):
    x = rng.normal(size=(4, 1000))
    x[0] += 1.0
    assert split_r_hat(x) > 1.05


def test_r_hat_finds_chains_that_differ_in_scale(rng):
    x = rng.normal(size=(4, 1000))
    x[0] *= 4.0
    assert split_r_hat(x) > 1.05


def test_r_hat_finds_a_chain_that_drifts(rng):
    """One chain alone: its halves disagree."""
    x = rng.normal(size=(1, 1000)) + np.linspace(0, 2, 1000)
    assert split_r_hat(x) > 1.05


def test_r_hat_survives_infinite_variance(rng):
    assert split_r_hat(rng.standard_cauchy(size=(4, 2000))) < 1.01


def test_the_unit_of_the_draws_does_not_matter(rng):
    """Exactly, for a power of two: ranks and autocorrelations are the same."""
    x = rng.normal(size=(4, 500))
    for measure in (split_r_hat, effective_sample_size):
        assert_allclose(measure(-4 * x), measure(x), rtol=1e-12)


def test_every_trailing_entry_is_measured_alone(rng):
    x = rng.normal(size=(4, 101, 2, 3)).cumsum(axis=1)
    for measure in (split_r_hat, effective_sample_size):
        at_once = measure(x)
        assert at_once.shape == (2, 3)
        alone = [[measure(x[..., i, j]) for j in range(3)] for i in range(2)]
        assert_allclose(at_once, alone, rtol=1e-10)


def test_draws_that_never_move():
    still = np.ones((3, 10, 2))
    assert_array_equal(split_r_hat(still), [1.0, 1.0])
    assert_array_equal(effective_sample_size(still), [30.0, 30.0])


def test_chains_that_never_move_in_different_places():
    places = np.repeat([[0.0], [1.0]], 10, axis=1)
    assert split_r_hat(places) == np.inf
    assert effective_sample_size(places) < 5


@pytest.mark.parametrize("shape", [(10,), (4, 3)])
def test_too_few_draws(shape):
    for measure in (split_r_hat, effective_sample_size):
        with pytest.raises(ValueError, match="n >= 4"):
            measure(np.zeros(shape))
