"""EM against other maximisers of the same objective, and its own equations."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize, nnls
from scipy.special import log_ndtr

from committee.bayes.fit_em import (
    Gaussian,
    Probit,
    _best_single,
    fit_gaussian,
    fit_probit,
    log_mass,
)
from committee.ep.gaussian_rows import error_moments, row_moments
from committee.ep.sites import hazard
from committee.linalg import solve_nnqp
from tests.reference.problems import make_problem


def test_the_best_member_alone_by_hand():
    """h / sqrt(L) is largest for the first; its weight is h / L, at least 1 / sqrt(L)."""
    L = np.array([4.0, 1.0])
    assert _best_single(L, np.array([6.0, 1.0])).tolist() == [1.5, 0.0]
    assert _best_single(L, np.array([0.4, 0.1])).tolist() == [0.5, 0.0]


def test_the_multiple_that_fits_best_by_hand():
    """w'g / w'Gw."""
    parts = {"G": np.diag([2.0, 3.0]), "g": np.array([4.0, 3.0]), "yy": 10.0, "n": 5}
    model = Gaussian(SimpleNamespace(**parts))
    assert model.multiple(np.ones(2)) == 7 / 5
    assert model.multiple(np.array([1.0, -2.0])) == 1 / 2


def regression(N=60, M=6, seed=0):
    return make_problem("regression", N=N, M=M, seed=seed)


def votes(N=80, M=6, seed=0):
    """Signed rows: probabilities of the right class minus those of the wrong one."""
    F, y = make_problem("binary", N=N, M=M, seed=seed)
    right = F[np.arange(N), :, y]
    return 2 * right - 1


def coordinate_descent(F, y, w, sweeps=3000):
    """Climb -N/2 log rss - sum log w, one weight at a time, noise last.

    d/dw_i = h - L w - 1/w = 0 has its maximum at w = (h + sqrt(h^2 - 4 L)) / (2 L).
    """
    w = w.copy()
    noise = np.mean((y - F @ w) ** 2)
    for _ in range(sweeps):
        for i in np.flatnonzero(w):
            L = F[:, i] @ F[:, i] / noise
            h = F[:, i] @ (y - F @ w) / noise + L * w[i]
            w[i] = (h + np.sqrt(h * h - 4 * L)) / (2 * L)
        noise = np.mean((y - F @ w) ** 2)
    return w


def log_posterior_regression(F, y, w):
    """The objective with the noise at its maximum, over the members that are left."""
    return -0.5 * len(y) * np.log(np.mean((y - F @ w) ** 2)) - np.log(w).sum()


@pytest.mark.parametrize(("start", "seed"), [("equal", 0), ("least-squares", 1)])
def test_regression_fixed_point(start, seed):
    """(L + diag 1/w^2) w = h and noise = rss / N on the members that are left."""
    F, y = regression(seed=seed)
    fit = fit_gaussian(row_moments(F, y), start, tol=1e-10)
    kept = fit.weights > 0
    assert fit.converged
    assert kept.any()
    w, G = fit.weights[kept], F[:, kept]
    assert_allclose(fit.noise, np.mean((y - G @ w) ** 2), rtol=1e-8)
    L, h = G.T @ G / fit.noise, G.T @ y / fit.noise
    assert_allclose(L @ w + 1 / w, h, rtol=1e-6)
    # The larger of two roots: a maximum, never below the natural unit.
    assert (w**2 * np.diag(L) >= 1).all()


@pytest.mark.parametrize(("start", "seed"), [("equal", 0), ("least-squares", 1)])
def test_probit_fixed_point(start, seed):
    """S' r(S w) = 1 / w on the members that are left."""
    S = votes(seed=seed)
    fit = fit_probit(S, start, tol=1e-10)
    kept = fit.weights > 0
    assert fit.converged
    assert kept.any()
    w = fit.weights[kept]
    assert_allclose(S[:, kept].T @ hazard(S[:, kept] @ w), 1 / w, rtol=1e-6)


def test_regression_against_coordinate_descent():
    F, y = regression()
    fit = fit_gaussian(row_moments(F, y), tol=1e-10)
    other = coordinate_descent(F, y, fit.weights)
    assert_allclose(other, fit.weights, rtol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_regression_against_a_general_maximiser(seed):
    """L-BFGS in log w from a point nearby finds nothing higher, and the same place."""
    F, y = regression(seed=seed)
    fit = fit_gaussian(row_moments(F, y), tol=1e-10)
    G, w = F[:, fit.weights > 0], fit.weights[fit.weights > 0]
    found = minimize(
        lambda u: -log_posterior_regression(G, y, np.exp(u)),
        np.log(w) + 0.02,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-8},
    )
    assert_allclose(np.exp(found.x), w, rtol=1e-3)
    assert_allclose(-found.fun, log_posterior_regression(G, y, w), rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
def test_probit_against_a_general_maximiser(seed):
    S = votes(seed=seed)
    fit = fit_probit(S, tol=1e-10)
    G, w = S[:, fit.weights > 0], fit.weights[fit.weights > 0]
    found = minimize(
        lambda u: -log_ndtr(G @ np.exp(u)).sum() + u.sum(),
        np.log(w) + 0.02,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-8},
    )
    assert_allclose(np.exp(found.x), w, rtol=1e-3)


@given(st.integers(0, 10**6), st.booleans())
def test_the_objective_never_falls(seed, probit):
    rng = np.random.default_rng(seed)
    N, M = rng.integers(2, 40), rng.integers(1, 9)
    start = rng.exponential(size=M)
    if probit:
        fit = fit_probit(rng.uniform(-1, 1, size=(N, M)) + 0.3, start)
    else:
        F, y = regression(N, M, seed)
        fit = fit_gaussian(row_moments(F, y), start)
    assert len(fit.objective) == fit.n_iter
    assert_array_equal(fit.weights >= 0, True)
    assert (np.diff(fit.objective) >= -1e-9 * np.abs(fit.objective[1:])).all()


def test_the_objective_is_the_log_posterior():
    """Differences of J on one set of members: sum log w, and the likelihood."""
    F, y = regression()
    fit = fit_gaussian(row_moments(F, y), tol=1e-12)
    w, G = fit.weights[fit.weights > 0], F[:, fit.weights > 0]
    start = np.where(fit.weights > 0, 0.9 * fit.weights, 0.0)
    again = fit_gaussian(row_moments(F, y), start, max_iter=1)
    v = again.weights[fit.weights > 0]
    assert_allclose(
        fit.objective[-1] - again.objective[0],
        log_posterior_regression(G, y, w) - log_posterior_regression(G, y, v),
        rtol=1e-6,
    )


def test_the_start_decides_between_local_maxima():
    """Two members of like merit, nearly alike: each alone is a maximum."""
    F, y = regression(M=2)
    F[:, 1] = F[:, 0] + 0.01 * np.cos(np.arange(60))
    moments = row_moments(F, y)
    for start in ([1.0, 1e-3], [1e-3, 1.0]):
        fit = fit_gaussian(moments, np.array(start))
        assert fit.converged
        assert_array_equal(fit.weights > 0, np.array(start) == 1.0)


@pytest.mark.parametrize(("M", "rho"), [(100, 0.77), (40, 0.5), (3, 0.2)])
def test_exchangeable_members_do_not_rest_at_a_saddle(M, rho):
    """C = (1 - rho) I + rho 11': k equal weights are a maximum up to a size only.

    Along d with sum 0 the likelihood falls by N (1 - rho) / noise, and the prior gains
    k^2, with noise = rho + (1 - rho) / k: it rests where the first is the larger.
    """
    N = 250.0
    C = np.full((M, M), rho) + (1 - rho) * np.eye(M)
    fit = fit_gaussian(error_moments(C, N), "equal", tol=1e-10)
    w = fit.weights[fit.weights > 0]
    k = len(w)
    assert fit.converged
    assert_allclose(w, w.mean(), rtol=1e-6)
    assert k**2 <= N * (1 - rho) / (rho + (1 - rho) / k) * 1.01
    assert (k == M) == (M == 3)
    # Nothing but their numbers tells them apart.
    assert_array_equal(np.flatnonzero(fit.weights), np.arange(k))
    assert (np.diff(fit.objective) >= -1e-9 * np.abs(fit.objective[1:])).all()


def test_a_saddle_of_votes_is_left_too():
    """A copy has the same weight at every step; one of the two is enough."""
    S = votes()
    twice = np.hstack([S, S])
    fit = fit_probit(twice, tol=1e-10)
    assert not np.any((fit.weights[:6] > 0) & (fit.weights[6:] > 0))
    assert_allclose(fit.weights[:6] + fit.weights[6:], fit_probit(S, tol=1e-10).weights)


def test_zeros_of_the_start_stay_zero():
    F, y = regression()
    start = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert_array_equal(fit_gaussian(row_moments(F, y), start).weights[[0, 3]], 0.0)
    S = votes()
    assert_array_equal(fit_probit(S, start).weights[[0, 3]], 0.0)


def test_least_squares_is_the_non_negative_fit():
    """One step further on EM is within its support."""
    F, y = regression(M=12, N=20)
    inside = solve_nnqp(F.T @ F, F.T @ y) > 0
    assert 0 < inside.sum() < 12
    fit = fit_gaussian(row_moments(F, y), "least-squares")
    assert not fit.weights[~inside].any()


def test_integer_weights_repeat_rows(rng):
    F, y = regression()
    S = votes(60)
    s = rng.integers(0, 4, size=60)
    weighted = fit_gaussian(row_moments(F, y, s * 1.0), tol=1e-10)
    repeated = fit_gaussian(row_moments(F.repeat(s, 0), y.repeat(s)), tol=1e-10)
    assert_allclose(weighted.weights, repeated.weights, atol=1e-8)
    weighted = fit_probit(S, sample_weight=s * 1.0, tol=1e-10)
    repeated = fit_probit(S.repeat(s, 0), tol=1e-10)
    assert_allclose(weighted.weights, repeated.weights, atol=1e-7)


def test_scales_cancel():
    """w of (c F, d y) is d / c times w of (F, y), over 300 orders of magnitude."""
    F, y = regression()
    w = fit_gaussian(row_moments(F, y), tol=1e-10).weights
    for c, d in ((1e-100, 1.0), (1e100, 1e-40), (1e-80, 1e70)):
        scaled = fit_gaussian(row_moments(c * F, d * y), tol=1e-10).weights
        assert_allclose(scaled * (c / d), w, rtol=1e-6)


def test_where_all_vanish_the_best_single_member_is_left(rng):
    """Noise: no member deserves a weight."""
    S = rng.choice([-1.0, 1.0], size=(50, 4))
    S[:, 2] = np.resize([1.0, 1.0, -1.0], 50)
    fit = fit_probit(S, np.full(4, 0.01))
    assert fit.converged
    assert_array_equal(np.flatnonzero(fit.weights), [2])
    y = rng.normal(size=50)
    F = -np.abs(rng.normal(size=4)) * y[:, None]
    fit = fit_gaussian(row_moments(F, y))
    assert np.count_nonzero(fit.weights) == 1
    assert np.isfinite(fit.weights).all()


@pytest.mark.parametrize("F", [np.zeros((5, 3)), np.ones((5, 3)), np.eye(5)[:, :3]])
def test_degenerate_rows(F):
    targets = (np.zeros(5), np.ones(5), -np.ones(5), np.arange(5.0))
    for y, start in product(targets, ("best", "equal", "least-squares")):
        for fit in (fit_gaussian(row_moments(F, y), start), fit_probit(F, start)):
            assert np.isfinite(fit.weights).all()
            assert (fit.weights >= 0).all()
            assert fit.weights.any()


def test_max_iter_is_kept():
    F, y = regression()
    fit = fit_gaussian(row_moments(F, y), max_iter=2)
    assert (fit.n_iter, fit.converged) == (2, False)
    assert fit.change > 1e-6


def test_probit_slope_is_the_gradient_and_the_curvature(rng):
    S, s = rng.normal(size=(30, 3)), rng.exponential(size=30)
    model, w = Probit(S, s), np.array([0.5, 1.0, 2.0])
    everyone = np.arange(3)
    gradient, L = model.slope(everyone, w)
    assert_allclose(approx_fprime(w, model.log_likelihood), gradient, rtol=1e-4)
    hessian = [
        approx_fprime(w, lambda v, i=i: model.slope(everyone, v)[0][i])
        for i in range(3)
    ]
    assert_allclose(-np.array(hessian), L, rtol=1e-4, atol=1e-5)


def test_probit_steps_never_fall(rng):
    """From bad points too, where the data's own curvature overshoots."""
    S = rng.normal(0.5, 1.0, size=(25, 4))
    model, everyone = Probit(S), np.arange(4)
    for scale in (1e-3, 1.0, 30.0):
        w, alpha = scale * rng.exponential(size=4), rng.exponential(size=4)
        last = -np.inf
        for _ in range(30):
            w = model.maximise(everyone, w, alpha)
            value = model.log_likelihood(w) - 0.5 * (alpha * w) @ w
            assert value >= last - 1e-9
            last = value


def test_a_gaussian_step_is_a_non_negative_ridge_regression():
    F, y = make_problem("regression")
    model = Gaussian(row_moments(F, y))
    alpha = np.linspace(0.5, 30.0, 7)
    unit = model.moments.unit
    w = model.maximise(np.arange(7), np.ones(7), alpha * unit**2) * unit
    noise = model.noise * model.moments.y_scale**2
    rows = np.vstack([F / np.sqrt(noise), np.diag(np.sqrt(alpha))])
    expected, _ = nnls(rows, np.r_[y / np.sqrt(noise), np.zeros(7)])
    assert_allclose(w, expected, atol=1e-10)


def test_the_noise_is_the_mean_square_that_is_left():
    F, y = make_problem("regression")
    model = Gaussian(row_moments(F, y))
    w = np.full(7, 0.1)
    model.adapt(w / model.moments.unit)
    noise = model.noise * model.moments.y_scale**2
    assert_allclose(noise, np.mean((y - F @ w) ** 2), rtol=1e-12)


def difficult_rows(N=2000, M=20, seed=0):
    """Votes that are right with a chance of the row's own, from Beta(3, 2)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(3, 2, size=(N, 1))
    return np.where(rng.random((N, M)) < p, 1.0, -1.0)


def test_equal_weights_are_the_best_multiple():
    """d/dc sum_n log Phi(c t_n) = 0, t = S 1, which one weight for all is far from."""
    S = difficult_rows()
    c = Probit(S).multiple(np.ones(20))
    t = S.sum(axis=1)
    assert_allclose(t @ hazard(c * t), 0.0, atol=1e-6 * np.abs(t).sum())
    assert 0.02 < c < 0.2


def test_a_multiple_of_rows_that_are_all_right_or_all_wrong():
    assert Probit(np.ones((5, 3))).multiple(np.ones(3)) == 1.0
    assert Probit(-np.ones((5, 4))).multiple(np.ones(4)) == 0.25


def test_weights_of_one_collapse_and_the_height_of_the_peak_does_not_show_it():
    """From w = 1 the first step takes all members; J, a density, is largest there."""
    S, fresh = difficult_rows(4000).reshape(2, 2000, 20)
    one, best = fit_probit(S, np.ones(20)), fit_probit(S)
    assert (np.count_nonzero(one.weights), one.first_size) == (1, 0)
    assert best.objective[-1] < one.objective[-1]
    assert best.log_mass > one.log_mass + 50.0
    assert np.count_nonzero(best.weights) > 5
    assert np.mean(fresh @ best.weights < 0) < np.mean(fresh @ one.weights < 0) - 0.03


def test_best_is_the_start_with_the_most_mass():
    S = difficult_rows()
    best = fit_probit(S)
    equal = Probit(S).multiple(np.ones(20))
    starts = {
        "equal": "equal",
        "equal x 3": np.full(20, 3.0 * equal),
        "least-squares": "least-squares",
    }
    alone = {name: fit_probit(S, start) for name, start in starts.items()}
    assert best.starts == {
        name: (np.count_nonzero(fit.weights), pytest.approx(fit.log_mass))
        for name, fit in alone.items()
    }
    assert best.log_mass == pytest.approx(max(f.log_mass for f in alone.values()))


def test_the_mass_is_the_integral_over_log_weights():
    """int p(y | e^u) du on a grid around a mode of two weights that 2,000 rows decide.

    Laplace's error is of order 1 / (w^2 L), here a hundredth for each weight.
    """
    S = difficult_rows(M=2, seed=1)
    model, w = Probit(S), np.array([0.35, 0.3])
    for _ in range(50):
        w = model.maximise(np.arange(2), w, np.zeros(2))
    u = np.linspace(-0.8, 0.8, 81)
    grid = np.exp(np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)) * w
    height = np.array([model.log_likelihood(v) for v in grid])
    total = np.log(np.exp(height - height.max()).sum()) + height.max()
    integral = total + 2.0 * np.log(u[1] - u[0])
    assert_allclose(log_mass(model, w), integral, atol=0.05)


def test_an_idle_member_has_the_mass_of_the_range_of_log_w():
    S = votes()
    fit = fit_probit(S)
    wider = fit_probit(np.hstack([S, np.zeros((80, 1))]))
    assert_allclose(wider.log_mass - fit.log_mass, np.log(np.log(1e8)), rtol=1e-6)
