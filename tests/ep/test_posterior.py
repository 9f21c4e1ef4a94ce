"""Posteriors against integration, sequential EP, explicit removal, and themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

from committee.ep import arrays, classification_posterior, regression_posterior
from tests.reference import ep as reference


def regression_rows(rng, N=40, M=3, spread=1.0):
    y = rng.normal(size=N)
    return y[:, None] + spread * rng.normal(size=(N, M)), y


def signed_rows(rng, N=40, M=3, abstaining=0.0):
    F, y = regression_rows(rng, N, M)
    return np.sign(y)[:, None] * np.sign(F) * (rng.random(F.shape) >= abstaining)


def integrate(log_likelihood, alpha, top, nodes):
    """Mean and log Z over the box [0, top]^M, by a product of Gauss-Legendre rules."""
    M = len(alpha)
    x, weight = np.polynomial.legendre.leggauss(nodes)
    axes = np.meshgrid(*[0.5 * top * (x + 1)] * M, indexing="ij")
    W = np.stack(axes, axis=-1).reshape(-1, M)
    mass = np.meshgrid(*[0.5 * top * weight] * M, indexing="ij")
    log_mass = np.log(np.prod([axis.ravel() for axis in mass], axis=0))
    prior = norm.logpdf(W, scale=alpha**-0.5).sum(axis=1) + M * np.log(2)
    log_p = log_likelihood(W) + prior + log_mass
    peak = log_p.max()
    p = np.exp(log_p - peak)
    return p @ W / p.sum(), peak + np.log(p.sum())


def gaussian_log_likelihood(F, y, noise):
    return lambda W: norm.logpdf(y[:, None], F @ W.T, np.sqrt(noise)).sum(axis=0)


@pytest.mark.parametrize(
    ("M", "nodes"), [(2, 200), pytest.param(3, 70, marks=pytest.mark.slow)]
)
def test_regression_equals_integration(rng, M, nodes):
    """Weights three deviations above zero: truncation matters, EP is all but exact."""
    F, y = regression_rows(rng, N=60, M=M)
    alpha, noise = np.linspace(1, 2, M), 0.25
    posterior = regression_posterior(F, y, alpha, noise)
    sd = np.sqrt(np.diag(posterior.cov))
    mean, log_z = integrate(gaussian_log_likelihood(F, y, noise), alpha, 1.5, nodes)
    assert np.all(np.abs(posterior.mean - mean) <= 1e-4 * sd)
    assert_allclose(posterior.log_evidence, log_z, atol=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_regression_is_exact_where_members_do_not_overlap(sign):
    """Orthogonal columns: the posterior factorises, and each factor has one site."""
    F = np.kron(np.eye(2), np.ones((4, 1)))
    y = np.concatenate([np.full(4, 0.3), np.full(4, -0.4)]) * sign
    alpha, noise = np.array([1.0, 2.0]), 0.5
    posterior = regression_posterior(F, y, alpha, noise)
    mean, log_z = integrate(gaussian_log_likelihood(F, y, noise), alpha, 6.0, 200)
    assert_allclose(posterior.mean, mean, rtol=1e-7)
    assert_allclose(posterior.log_evidence, log_z, atol=1e-7)


def test_regression_with_binding_truncations(rng):
    """Correlated weights at the border: EP's own error is below a hundredth of an sd."""
    F, y = regression_rows(rng, N=15, M=2)
    alpha, noise = np.array([1.0, 3.0]), 0.7
    posterior = regression_posterior(F, y, alpha, noise)
    mean, log_z = integrate(gaussian_log_likelihood(F, y, noise), alpha, 5.0, 200)
    sd = np.sqrt(np.diag(posterior.cov))
    assert np.all(np.abs(posterior.mean - mean) <= 1e-2 * sd)
    assert_allclose(posterior.log_evidence, log_z, atol=1e-2)


@pytest.mark.parametrize(("M", "nodes"), [(2, 200), (3, 70)])
def test_classification_within_the_error_of_ep(rng, M, nodes):
    S = signed_rows(rng, N=30, M=M)
    alpha = np.linspace(1, 2, M)
    posterior = classification_posterior(S, alpha)
    mean, log_z = integrate(
        lambda W: norm.logcdf(S @ W.T).sum(axis=0), alpha, 6.0, nodes
    )
    assert_allclose(posterior.mean, mean, rtol=1e-2)
    assert_allclose(posterior.log_evidence, log_z, atol=0.05)


def test_regression_equals_sequential_ep(rng):
    F, y = regression_rows(rng, N=25, M=5)
    mean, cov, log_z = reference.regression(F, y, 2.0, 0.5, n_sweeps=40)
    posterior = regression_posterior(F, y, 2.0, 0.5)
    assert posterior.converged
    assert_allclose(posterior.mean, mean, rtol=1e-6)
    assert_allclose(posterior.cov, cov, rtol=1e-5, atol=1e-9)
    assert_allclose(posterior.log_evidence, log_z, atol=1e-8)


@pytest.mark.parametrize("abstaining", [0.0, 0.6])
def test_classification_equals_sequential_ep(rng, abstaining):
    S = signed_rows(rng, N=40, M=4, abstaining=abstaining)
    mean, cov, log_z = reference.classification(S, 0.5, n_sweeps=30)
    posterior = classification_posterior(S, 0.5, tol=1e-8)
    assert posterior.converged
    assert_allclose(posterior.mean, mean, rtol=1e-6)
    assert_allclose(posterior.cov, cov, rtol=1e-5, atol=1e-9)
    assert_allclose(posterior.log_evidence, log_z, atol=1e-8)


def without_row(posterior, alpha, L, h, keep):
    """Posterior with all sites held fixed, from the rows that are kept."""
    V = np.linalg.inv(np.diag(alpha + posterior.tau) + L(keep))
    return V @ (h(keep) + posterior.nu), V


def test_regression_loo_is_removal_of_the_row(rng):
    F, y = regression_rows(rng, N=20, M=3)
    alpha, noise = np.ones(3), 0.3
    posterior = regression_posterior(F, y, alpha, noise, tol=1e-12)
    loo = posterior.loo_rows
    for n in range(len(y)):
        m, V = without_row(
            posterior,
            alpha,
            lambda keep: F[keep].T @ F[keep] / noise,
            lambda keep: F[keep].T @ y[keep] / noise,
            np.arange(len(y)) != n,
        )
        assert_allclose(loo.mean[n], F[n] @ m, atol=1e-8)
        assert_allclose(loo.var[n], F[n] @ V @ F[n], rtol=1e-8)
        expected = norm.logpdf(y[n], F[n] @ m, np.sqrt(noise + F[n] @ V @ F[n]))
        assert_allclose(loo.log_density[n], expected, atol=1e-8)
    assert_allclose(posterior.loo, np.mean((y - loo.mean) ** 2), rtol=1e-12)


def test_classification_loo_is_removal_of_the_row(rng):
    S = signed_rows(rng, N=25, M=3)
    alpha = np.ones(3)
    posterior = classification_posterior(S, alpha, tol=1e-11)
    t, u = posterior.row_sites
    loo = posterior.loo_rows
    for n in range(len(S)):
        m, V = without_row(
            posterior,
            alpha,
            lambda keep: S[keep].T @ (S[keep] * t[keep, None]),
            lambda keep: S[keep].T @ u[keep],
            np.arange(len(S)) != n,
        )
        assert_allclose(loo.mean[n], S[n] @ m, atol=1e-8)
        assert_allclose(loo.var[n], S[n] @ V @ S[n], rtol=1e-8)
    assert posterior.loo == np.mean(loo.mean < 0)


def test_regression_evidence_is_the_gaussian_integral_without_truncation(rng):
    """log N(y | 0, noise I + F A^-1 F'), and the ridge solution."""
    F, y = regression_rows(rng, N=20, M=3)
    alpha, noise = np.array([1.0, 2.0, 3.0]), 0.4
    posterior = regression_posterior(F, y, alpha, noise, truncated=False)
    C = noise * np.eye(len(y)) + F @ np.diag(1 / alpha) @ F.T
    expected = multivariate_normal.logpdf(y, cov=C)
    assert_allclose(posterior.log_evidence, expected, rtol=1e-10)
    ridge = np.linalg.solve(F.T @ F + noise * np.diag(alpha), F.T @ y)
    assert_allclose(posterior.mean, ridge, rtol=1e-10)


def test_integer_weights_are_repeated_rows(rng):
    S = signed_rows(rng, N=20, M=3)
    F, y = regression_rows(rng, N=20, M=3)
    s = rng.integers(0, 4, size=20)
    pairs = [
        (
            classification_posterior(S, 1.0, sample_weight=s, tol=1e-10),
            classification_posterior(np.repeat(S, s, axis=0), 1.0, tol=1e-10),
        ),
        (
            regression_posterior(F, y, 1.0, 0.5, sample_weight=s),
            regression_posterior(np.repeat(F, s, 0), np.repeat(y, s), 1.0, 0.5),
        ),
    ]
    for weighted, repeated in pairs:
        assert_allclose(weighted.mean, repeated.mean, rtol=1e-8)
        assert_allclose(weighted.cov, repeated.cov, rtol=1e-7)
        assert_allclose(weighted.log_evidence, repeated.log_evidence, rtol=1e-9)
        assert_allclose(weighted.loo_score, repeated.loo_score, rtol=1e-8)


def test_small_weights_count_less(rng):
    """Weights below one converge, and interpolate between leaving out and keeping."""
    S = np.abs(signed_rows(rng, N=20, M=1))
    means = [
        classification_posterior(S, 1.0, sample_weight=np.full(20, s)).mean[0]
        for s in (0.01, 0.1, 0.5, 0.9, 1.0)
    ]
    assert np.all(np.diff(means) > 0)
    prior_mean = np.sqrt(2 / np.pi)
    assert means[0] > prior_mean


def test_rows_without_votes_have_no_site(rng):
    S = signed_rows(rng, N=20, M=3)
    more = np.vstack([S, np.zeros((2, 3))])
    with_more = classification_posterior(more, 1.0)
    posterior = classification_posterior(S, 1.0)
    assert_array_equal(np.array(with_more.row_sites)[:, -2:], 0)
    assert_allclose(with_more.mean, posterior.mean, rtol=1e-12)
    # A row without votes is a coin: probability one half, and half an error.
    assert_allclose(with_more.log_evidence - posterior.log_evidence, -2 * np.log(2))
    assert_array_equal(with_more.loo_rows.loss[-2:], 0.5)


def test_order_of_members_and_rows_does_not_matter(rng):
    S = signed_rows(rng, N=30, M=4)
    alpha = np.array([1.0, 2.0, 0.5, 1.5])
    posterior = classification_posterior(S, alpha, tol=1e-9)
    rows_, members = rng.permutation(30), rng.permutation(4)
    other = classification_posterior(S[rows_][:, members], alpha[members], tol=1e-9)
    assert_allclose(other.mean, posterior.mean[members], rtol=1e-8)
    assert_allclose(other.log_evidence, posterior.log_evidence, rtol=1e-10)
    assert_allclose(other.loo_rows.mean, posterior.loo_rows.mean[rows_], rtol=1e-7)


@pytest.mark.parametrize("factor", [1e-150, 1e-3, 1e150])
def test_units_of_F_and_y_do_not_matter(rng, factor):
    """Weights have no unit; the evidence is a density of y, so it shifts by log."""
    F, y = regression_rows(rng, N=30, M=3)
    posterior = regression_posterior(F, y, 2.0, 0.5)
    other = regression_posterior(F * factor, y * factor, 2.0, 0.5 * factor * factor)
    assert_allclose(other.mean, posterior.mean, rtol=1e-7)
    shift = -30 * np.log(factor)
    assert_allclose(other.log_evidence, posterior.log_evidence + shift, rtol=1e-9)
    assert_allclose(other.loo / factor**2, posterior.loo, rtol=1e-7)


def test_units_of_votes(rng):
    S = signed_rows(rng, N=30, M=3)
    posterior = classification_posterior(S, 1.0)
    other = classification_posterior(S * 1e40, 1e80)
    assert_allclose(other.mean * 1e40, posterior.mean, rtol=1e-6)


def test_duplicated_members_share(rng):
    F, y = regression_rows(rng, N=30, M=2)
    posterior = regression_posterior(F[:, [0, 0, 1]], y, 1.0, 0.3)
    assert_allclose(posterior.mean[0], posterior.mean[1], rtol=1e-6)
    assert np.isfinite(posterior.cov).all()


def test_blocks_of_rows_do_not_matter(rng, monkeypatch):
    S = signed_rows(rng, N=500, M=3)
    F, y = regression_rows(rng, N=500, M=3)
    whole = classification_posterior(S, 1.0), regression_posterior(F, y, 1.0, 0.5)
    monkeypatch.setattr(arrays, "_BLOCK_ELEMENTS", 1)
    assert len(list(arrays.row_blocks(500, 3))) > 1
    blocks = classification_posterior(S, 1.0), regression_posterior(F, y, 1.0, 0.5)
    for one, other in zip(whole, blocks, strict=True):
        assert_allclose(one.mean, other.mean, rtol=1e-10)
        assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-10)
        assert_allclose(one.loo_rows.mean, other.loo_rows.mean, rtol=1e-9)


def test_a_case_of_several_rows_is_as_wrong_as_its_worst(rng):
    S = signed_rows(rng, N=30, M=3)
    posterior = classification_posterior(S, 1.0, group=2)
    wrong = (posterior.loo_rows.mean < 0).reshape(15, 2).any(axis=1)
    assert posterior.loo == wrong.mean()
    assert len(posterior.loo_rows.log_density) == 15


def test_inputs_of_any_number_type_are_untouched(rng):
    S = signed_rows(rng, N=30, M=3)
    expected = classification_posterior(S, 1.0).mean
    for dtype in (np.int8, np.float32):
        votes = S.astype(dtype)
        assert_allclose(classification_posterior(votes, 1.0).mean, expected, rtol=1e-6)
        assert_array_equal(votes, S)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"F": np.ones((0, 2))}, "minimum of 1 is required"),
        ({"F": np.array([[1.0, np.nan], [0.0, 1.0]])}, "F"),
        ({"y": np.ones(3)}, "y must have one entry for each row of F"),
        ({"y": np.array([1.0, np.inf])}, "y contains infinity"),
        ({"alpha": 0.0}, "positive and finite"),
        ({"noise": -1.0}, "positive and finite"),
        ({"alpha": 1e-200}, "too far apart"),
        ({"sample_weight": np.array([1.0, -1.0])}, "must be non-negative"),
        ({"sample_weight": np.zeros(2)}, "at least one non-zero number"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    arguments = {"F": np.eye(2), "y": np.ones(2), "alpha": 1.0, "noise": 1.0}
    with pytest.raises(ValueError, match=message):
        regression_posterior(**(arguments | change))


def test_groups_must_divide_the_rows():
    with pytest.raises(ValueError, match="group must divide"):
        classification_posterior(np.ones((3, 2)), 1.0, group=2)
