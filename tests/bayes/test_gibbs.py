"""Samples against numerical integration, and against latent-variable Gibbs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr, ndtri
from scipy.stats import kstest, truncnorm

from committee.bayes.gibbs import (
    effective_sample_size,
    follow,
    sample_probit,
    sample_truncated,
)
from committee.ep.sites import normal

P = np.array([[2.0, 1.2], [1.2, 1.5]])
# Means inside, on both sides of a wall, and beyond both walls.
MEANS = [[1.0, 1.5], [0.7, -0.5], [-1.0, -0.6], [4.0, 4.0]]

#: Draws by the thousand.
pytestmark = pytest.mark.slow


def moments_on_grid(log_density, top, n=161):
    """Mean and covariance of a density on [0, top]^2, by Simpson's rule."""
    w = np.linspace(0.0, top, n)
    rule = np.where(np.arange(n) % 2 == 1, 4.0, 2.0)
    rule[[0, -1]] = 1.0
    a, b = np.meshgrid(w, w, indexing="ij")
    points = np.stack([a, b], axis=-1)
    log_p = log_density(points)
    p = np.exp(log_p - log_p.max()) * np.outer(rule, rule)
    p /= p.sum()
    mean = np.einsum("ij,ijk->k", p, points)
    off = points - mean
    return mean, np.einsum("ij,ijk,ijl->kl", p, off, off)


def assert_moments(samples, mean, cov, errors=4.0):
    """Mean and covariance within some Monte Carlo standard errors."""
    off = samples - mean
    for i in range(len(mean)):
        assert_expected(samples[..., i], mean[i], errors)
        for j in range(i + 1):
            assert_expected(off[..., i] * off[..., j], cov[i, j], errors)


def assert_expected(x, expected, errors):
    error = x.std() / np.sqrt(effective_sample_size(x))
    assert abs(x.mean() - expected) < errors * error


def probit_density(S, alpha, s=1.0):
    def log_density(w):
        return (s * log_ndtr(w @ S.T)).sum(-1) - 0.5 * (w * w) @ alpha

    return log_density


def latent_gibbs(S, alpha, rng, n):
    """Albert and Chib (1993), one weight at a time: plain, slow, and right."""

    def above_zero(mean, sd):
        below = np.exp(log_ndtr(-mean / sd))
        return np.maximum(mean + sd * ndtri(rng.uniform(below, 1.0)), 0.0)

    precision = S.T @ S + np.diag(alpha)
    w, draws = np.ones(S.shape[1]), np.empty((1, n, S.shape[1]))
    for step in range(n):
        z = above_zero(S @ w, np.ones(len(S)))
        for i in range(len(w)):
            rest = S[:, i] @ z - precision[i] @ w + precision[i, i] * w[i]
            sd = 1 / np.sqrt(precision[i, i])
            w[i] = above_zero(np.array([rest * sd * sd]), np.array([sd]))[0]
        draws[0, step] = w
    return draws


@pytest.mark.parametrize("mean", MEANS)
def test_truncated_gaussian_against_integration(mean, rng):
    h = P @ mean
    samples = sample_truncated(P, h, n_samples=2000, rng=rng)
    exact = moments_on_grid(
        lambda w: w @ h - 0.5 * np.einsum("...i,ij,...j", w, P, w), top=8.0, n=401
    )
    assert samples.min() >= 0.0
    assert_moments(samples, *exact)


@pytest.mark.parametrize("mean", [3.0, 0.0, -2.0, -20.0])
def test_one_weight_against_its_distribution(mean, rng):
    """Every fifth draw is as good as independent; Kolmogorov and Smirnov agree."""
    w = sample_truncated(np.eye(1), np.array([mean]), n_samples=1000, rng=rng)
    exact = truncnorm(-mean, np.inf, loc=mean)
    assert kstest(w[:, ::5].ravel(), exact.cdf).pvalue > 1e-3


@pytest.mark.parametrize("h", [[1.0, -0.7], [-1.0, -0.8], [-12.0, -0.8]])
def test_weights_pressed_against_a_wall(h, rng):
    """One of them or both; the second in units in which its draws are of order one."""
    P, h = np.array([[1.0, 0.03], [0.03, 0.0025]]), np.array(h)
    samples = sample_truncated(P, h, n_samples=2000, rng=rng)
    mean, cov = moments_on_grid(
        lambda w: w @ h - 0.5 * np.einsum("...i,ij,...j", w, P, w), top=24.0, n=2401
    )
    assert_moments(samples, mean, cov)


def test_many_correlated_weights(rng):
    """Untruncated in effect: the Gaussian's own mean and covariance."""
    A = rng.normal(size=(30, 12))
    precision = A.T @ A + np.eye(12)
    mean = 40.0 + rng.random(12)
    samples = sample_truncated(precision, precision @ mean, n_samples=2000, rng=rng)
    assert_moments(samples, mean, np.linalg.inv(precision), errors=4.5)


def test_twins_share_by_chance(rng):
    """Two equal members: nothing but the prior distinguishes them."""
    twins = np.full((2, 2), 1e6) + 0.5 * np.eye(2)
    samples = sample_truncated(twins, twins @ [1.0, 1.0], n_samples=2000, rng=rng)
    assert_allclose(samples.sum(axis=2), 2.0, atol=0.02)
    assert_expected(samples[..., 0], 1.0, errors=4.0)


def test_a_path_keeps_its_energy_and_comes_back(rng):
    """Walls reverse nothing but the velocity: follow, turn round, arrive."""
    q = normal(P, P @ [0.3, -0.2])
    w = np.abs(rng.normal(size=(50, 2)))
    v = rng.normal(size=(50, 2)) @ q.root.T
    time = rng.uniform(0.0, np.pi, 50)
    assert_allclose(follow(w, v, np.zeros(50), q)[0], w, atol=1e-15)
    end, arrived = follow(w, v, time, q)
    assert arrived.all()
    assert (end >= 0).all()
    step = 1e-6
    later, _ = follow(w, v, time + step, q)
    smooth = np.abs(later - end).max(axis=1) < 1e2 * step
    assert smooth.all()
    velocity = (later - end) / step

    def energy(w, v):
        return np.einsum("ci,ij,cj->c", w - q.mean, P, w - q.mean) + np.einsum(
            "ci,ij,cj->c", v, P, v
        )

    # The difference quotient is wrong only for a bounce within the last step.
    close = np.isclose(energy(end, velocity), energy(w, v), rtol=1e-4)
    assert close.mean() > 0.95
    back, _ = follow(end, -velocity, time, q)
    assert_allclose(back[close], w[close], atol=1e-4)


@pytest.mark.parametrize(
    ("N", "skill", "top"),
    [(20, 0.7, 6.0), (20, 1.0, 8.0), (300, 0.6, 2.0), (0, 0, 8.0)],
)
def test_probit_against_integration(N, skill, top, rng):
    """From no rows (the prior) to rows that a member gets all right."""
    S = np.where(rng.random((N, 2)) < skill, 1.0, -1.0) * rng.random((N, 2))
    S = np.vstack([S, np.zeros((1, 2))])
    alpha = np.array([0.5, 2.0])
    samples = sample_probit(S, alpha, n_samples=1000, rng=rng)
    exact = moments_on_grid(probit_density(S, alpha), top)
    assert_moments(samples, *exact)


def test_row_weights_are_powers(rng):
    S = rng.normal(0.4, 1.0, size=(30, 2))
    alpha, s = np.array([0.5, 1.0]), rng.exponential(size=30)
    samples = sample_probit(S, alpha, sample_weight=s, n_samples=1000, rng=rng)
    exact = moments_on_grid(probit_density(S, alpha, s), top=6.0)
    assert_moments(samples, *exact)


def test_integer_weights_repeat_rows(rng):
    """The same seed, the same draws, up to the order of summation."""
    S, s = rng.normal(0.3, 1.0, size=(15, 3)), rng.integers(0, 4, size=15)
    weighted = sample_probit(
        S,
        np.ones(3),
        sample_weight=s * 1.0,
        n_samples=200,
        rng=np.random.default_rng(7),
    )
    repeated = sample_probit(
        np.repeat(S, s, axis=0), np.ones(3), n_samples=200, rng=np.random.default_rng(7)
    )
    assert_allclose(weighted.mean((0, 1)), repeated.mean((0, 1)), atol=1e-6)


def test_probit_against_latent_variables(rng):
    """Two samplers that share nothing agree, on four members."""
    S = np.where(rng.random((60, 4)) < 0.65, 1.0, -1.0)
    alpha = np.array([1.0, 4.0, 0.5, 2.0])
    ours = sample_probit(S, alpha, n_samples=1000, rng=rng)
    theirs = latent_gibbs(S, alpha, rng, 4000)[:, 200:]
    for i in range(4):
        a, b = ours[..., i], theirs[..., i]
        error = np.hypot(
            a.std() / np.sqrt(effective_sample_size(a)),
            b.std() / np.sqrt(effective_sample_size(b)),
        )
        assert abs(a.mean() - b.mean()) < 4 * error
        assert_allclose(a.std(), b.std(), rtol=0.15)


def test_same_seed_same_draws():
    S = np.array([[1.0, 0.5], [1.0, -1.0], [-1.0, 1.0]])
    for draw in (
        lambda rng: sample_truncated(P, np.ones(2), n_samples=20, rng=rng),
        lambda rng: sample_probit(S, np.ones(2), n_samples=20, rng=rng),
    ):
        one, two, other = (draw(np.random.default_rng(k)) for k in (3, 3, 4))
        assert_array_equal(one, two)
        assert (one != other).any()


def test_shapes():
    samples = sample_truncated(
        P,
        np.ones(2),
        n_samples=7,
        n_chains=3,
        n_warmup=0,
        rng=np.random.default_rng(0),
    )
    assert samples.shape == (3, 7, 2)
