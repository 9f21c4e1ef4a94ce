import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax

from committee.bayes.fit_log_pool import (
    OFFSET_PRECISION,
    SHRINKAGES,
    PoolPrior,
    _Rows,
    fit_log_pool,
    loo,
    loo_scores,
    row_sums,
)
from tests.reference.problems import make_held_out

FLOOR = 1e-2
PRIOR = PoolPrior.of(7)


def unclear_problem(N, K=3, seed=0):
    """Return F of members that are often wrong, some too sure, two no use; and y."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    right = y[:, None, None] == np.arange(K)
    skill = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0])
    sure = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0])
    noise = rng.normal(size=(N, 7, K)) + 0.5 * rng.normal(size=(N, 1, K))
    odds = np.exp(sure[:, None] * (skill[:, None] * right + noise))
    return odds / odds.sum(axis=2, keepdims=True), y


def log_likelihoods(F, y, v, held_out=None):
    """Return log p(y_n | x_n) row by row, as the module's docstring has it."""
    w, b, found = v[:7], v[7:] if len(v) > 7 else 0.0, []
    for n in range(len(y)):
        z = np.log(np.clip(F[n], FLOOR, 1))
        if held_out is not None:
            z = z * held_out[n][:, None] * 7 / max(1, held_out[n].sum())
        found.append(log_softmax(w @ z + b)[y[n]])
    return np.array(found)


def known_rows(masked, N=40):
    F, y = unclear_problem(N)
    mask = make_held_out(N) if masked else None
    s = np.random.default_rng(3).exponential(size=N)
    # Where nobody votes the row does not count.
    counted = s if mask is None else s * mask.any(axis=1)
    return F, y, mask, s, counted


@pytest.mark.parametrize("offsets", [0, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_sums_are_the_derivatives_of_the_log_likelihood(masked, offsets, rng):
    F, y, mask, s, counted = known_rows(masked)
    w = rng.random(7 + offsets)

    def at(v):
        return row_sums(F, y, v, FLOOR, held_out=mask, sample_weight=s)

    found = at(w)
    plain = log_likelihoods(F, y, w, mask)
    np.testing.assert_allclose(found.value, counted @ plain, rtol=1e-12)
    assert found.weight == pytest.approx(counted.sum())
    # Forward differences, h = 1.5e-8: derivatives of up to 1e4 are missed by h / 2.
    gradient = approx_fprime(w, lambda v: counted @ log_likelihoods(F, y, v, mask))
    np.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=1e-4)
    hessian = approx_fprime(w, lambda v: -at(v).gradient)
    np.testing.assert_allclose(found.hessian, hessian, rtol=0, atol=1e-4)
    rows = approx_fprime(w, lambda v: counted * log_likelihoods(F, y, v, mask))
    np.testing.assert_allclose(found.scatter, rows.T @ rows, rtol=0, atol=1e-4)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("rho", "offsets", "signed"),
    [(1e-3, 0, False), (0.1, 0, False), (1e-3, 3, False), (1e-3, 3, True)],
)
def test_weights_are_those_of_a_general_optimiser(masked, rho, offsets, signed):
    F, y, mask, s, counted = known_rows(masked)
    target = np.linspace(0, 0.3, 7) if signed else 1 / 7
    prior = PoolPrior.of(7, offsets)
    if signed:
        prior = prior.near(target, signed=True)

    def loss(v):
        shrunk = rho * counted.sum() / 2 * np.sum((v[:7] - target) ** 2)
        shrunk += OFFSET_PRECISION / 2 * np.sum(v[7:] ** 2)
        return shrunk - counted @ log_likelihoods(F, y, v, mask)

    expected = minimize(
        loss,
        np.full(7 + offsets, 0.3),
        method="L-BFGS-B",
        bounds=[(None if signed else 0, None)] * 7 + [(None, None)] * offsets,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxfun": 100_000},
    )
    found = fit_log_pool(
        lambda v: row_sums(F, y, v, FLOOR, held_out=mask, sample_weight=s),
        prior,
        rho,
    ).point
    assert (found[:7].min() < 0) if signed else (found[:7].min() == 0)
    assert loss(found) <= expected.fun * (1 + 1e-9)
    # Differences of the loss are known to 1e-8: weights to their root.
    np.testing.assert_allclose(found, expected.x, rtol=0, atol=1e-3)


def test_leave_one_out_is_that_of_refitting():
    F, y = unclear_problem(120)
    rho, N = 0.01, len(y)
    found = fit_log_pool(lambda w: row_sums(F, y, w, FLOOR), PRIOR, rho)
    exact = []
    for n in range(N):
        others = np.arange(N) != n
        w = fit_log_pool(
            lambda w, rows=others: row_sums(F[rows], y[rows], w, FLOOR),
            PRIOR,
            rho * N / (N - 1),
        ).point
        exact.append(-log_likelihoods(F[[n]], y[[n]], w)[0])
    on_rows = -log_likelihoods(F, y, found.point).mean()
    optimism = np.mean(exact) - on_rows
    assert optimism > 0
    # Of first order: the next term is smaller by about the parameters over the rows.
    assert found.loo - on_rows == pytest.approx(optimism, rel=3 * 7 / N)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("K", [2, 4])
def test_left_out_scores_are_those_of_refitting(K, masked):
    F, y = unclear_problem(80, K=K)
    mask = make_held_out(80) if masked else np.ones((80, 7), dtype=bool)
    s = np.random.default_rng(3).uniform(0.5, 1.5, size=80)
    lam = 0.05 * s @ mask.any(axis=1)

    def fit(rows):
        def at(w):
            known = {"held_out": mask[rows], "sample_weight": s[rows]}
            return row_sums(F[rows], y[rows], w, FLOOR, **known)

        return fit_log_pool(at, PRIOR, lam / at(np.zeros(7)).weight)

    found = fit(np.arange(80))
    w, known = found.point, {"held_out": mask, "sample_weight": s}
    scores = loo_scores(F, y, w, found.cov, FLOOR, **known)
    W = np.array([fit(np.delete(np.arange(80), n)).point for n in range(80)])
    votes = mask * 7 / np.maximum(mask.sum(axis=1), 1)[:, None]
    z = np.log(np.clip(F, FLOOR, 1)) * votes[:, :, None]
    exact = np.einsum("nmk,nm->nk", z, W)
    missed, moved = scores - exact, np.einsum("nmk,m->nk", z, w) - exact
    # A weight that comes from zero without the row is not foreseen.
    same = np.all((W > 0) == (w > 0), axis=1)
    assert same.mean() > 0.5
    # One Newton step: what is left is smaller by the share of a row in the weights.
    assert np.abs(missed[same]).mean() < 7 / 80 * np.abs(moved[same]).mean()


def test_the_shrinkage_is_that_of_least_leave_one_out_loss():
    F, y = unclear_problem(60, K=2, seed=5)

    def at(w):
        return row_sums(F, y, w, FLOOR)

    found = fit_log_pool(at, PRIOR)
    losses = [fit_log_pool(at, PRIOR, rho).loo for rho in SHRINKAGES]
    same = fit_log_pool(at, PRIOR, found.shrinkage)
    np.testing.assert_allclose(found.point, same.point, rtol=0, atol=1e-6)
    assert SHRINKAGES.min() < found.shrinkage < SHRINKAGES.max()
    # The others are looked at by a quadratic at its weights, not by fits of their own.
    assert found.loo - min(losses) < 0.02 * (max(losses) - min(losses))


@pytest.mark.parametrize("floor", [1e-300, 1e-12, 0.4])
def test_rows_that_are_told_apart_for_sure(floor, rng):
    """Votes of one class each, and one member that is never wrong: far from quadratic."""
    y = rng.integers(0, 3, 50)
    votes = rng.integers(0, 3, (50, 5))
    votes[:, 2] = y
    F = np.eye(3)[votes]
    found = fit_log_pool(lambda w: row_sums(F, y, w, floor), PoolPrior.of(5), 1e-4)
    assert found.point.argmax() == 2
    there = row_sums(F, y, found.point, floor)
    slope = 1e-4 * 50 * (found.point - 1 / 5) - there.gradient
    free = found.point > 0
    # The gradient of the loss: zero where a weight is free, not below elsewhere.
    unit = 1e-6 * 50 * abs(np.log(floor))
    np.testing.assert_allclose(slope[free], 0, atol=unit)
    assert np.all(slope[~free] >= -unit)


def test_no_member_at_all_costs_nothing_to_leave_a_row_out():
    F, y = unclear_problem(40, K=2)
    nobody = row_sums(F, y, np.zeros(7), FLOOR)
    assert loo(nobody, np.zeros(7), np.empty((0, 0))) == pytest.approx(np.log(2))


@pytest.mark.parametrize("offsets", [False, True])
def test_products_with_rows_are_those_of_their_hessian(rng, offsets):
    """sum_n |B_n x|^2 = x'H x, and u'B_n x the same from both sides."""
    z, y, s = rng.normal(size=(20, 3, 4)), rng.integers(0, 3, 20), rng.random(20)
    p = rng.dirichlet(np.ones(3), size=20)
    rows = _Rows.of(z, y, s, p, offsets)
    x, u = rng.normal(size=rows.pull.shape[1]), rng.normal(size=(20, 3))
    X = np.tile(x, (20, 1))
    assert np.sum(rows.times(X) ** 2) == pytest.approx(x @ rows.hessian @ x)
    np.testing.assert_allclose(
        np.sum(rows.back(u) * X, axis=1), np.sum(u * rows.times(X), axis=1)
    )
