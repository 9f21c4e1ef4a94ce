import numpy as np
import pytest

from committee.cells.trend import fit_trend
from committee.kernels import Kernel, make_kernel


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=n)
    return X, np.c_[y, 2 * y + 1], rng.integers(1, 4, size=n).astype(float)


def test_it_is_the_ridge_on_its_points():
    X, Y, s = rows()
    found = fit_trend(X, Y, s)
    t = found.trend
    assert t.points.shape == (12, 3)  # one for 50 rows
    Y = Y - np.average(Y, axis=0, weights=s)
    K, K_U = t.kernel(X, t.points), t.kernel(t.points, t.points)
    # The gradient of sum_n s_n (y_n - k_n'b)^2 + alpha b'K_U b is zero for one alpha.
    pull = K.T @ (s[:, None] * (Y - K @ t.coef))
    weight = K_U @ t.coef
    alpha = np.sum(pull * weight) / np.sum(weight**2)
    grid = s.mean() * np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0])
    assert np.abs(grid - alpha).min() < 1e-6
    # Twelve points have a nearly singular K_U, to which its jitter is 1e-9.
    np.testing.assert_allclose(pull, alpha * weight, atol=1e-6 * np.abs(pull).max())
    np.testing.assert_allclose(
        t.variance, np.average(t(X) ** 2, axis=0, weights=s), rtol=1e-6
    )
    G = (K * s[:, None]).T @ K + alpha * K_U
    h = s * np.einsum("nm,mn->n", K, np.linalg.solve(G, K.T))
    np.testing.assert_allclose(found.leverage(X, s), h, rtol=1e-4)


def test_only_ratios_of_weights_matter():
    X, Y, s = rows()
    t = fit_trend(X, Y, s).trend(X)
    np.testing.assert_allclose(fit_trend(X, Y, s * 2.0**-30).trend(X), t, atol=1e-8)


def left_out_error(kernel, alpha, X, Y, s):
    """The error of leave-one-out by as many fits as there are rows."""
    U = X[: max(1, len(X) // 10)]
    K_U = kernel(U, U)
    K_U += 1e-10 * np.trace(K_U) * np.eye(len(U))
    Z = np.linalg.solve(np.linalg.cholesky(K_U), kernel(U, X)).T
    total = 0.0
    for n in range(len(X)):
        rest = np.arange(len(X)) != n
        weighted = Z[rest] * s[rest, None]
        G = weighted.T @ Z[rest] + alpha * np.eye(len(U))
        c = np.linalg.solve(G, weighted.T @ Y[rest])
        total += s[n] * np.sum((Y[n] - Z[n] @ c) ** 2)
    return total


@pytest.mark.parametrize("n", [8, 19, 150])
def test_its_width_has_the_least_leave_one_out_error(n):
    """On one point for ten rows, and at least one."""
    X, Y, s = rows(n)
    t = fit_trend(X, Y, s).trend
    order = np.random.default_rng(0).permutation(n)
    X, Y, s = X[order], (Y - np.average(Y, axis=0, weights=s))[order], s[order]
    middle = make_kernel("rbf", rows(n)[0]).gamma
    gammas = [middle * step for step in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)]
    error = {
        gamma: min(
            left_out_error(Kernel("rbf", gamma), alpha, X, Y, s)
            for alpha in s.mean() * np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0])
        )
        for gamma in gammas
    }
    assert t.kernel.gamma == min(error, key=error.get)


def test_what_it_does_not_know_is_zero_among_its_rows_and_one_far_away():
    X, Y, s = rows()
    t = fit_trend(X, Y, s).trend
    np.testing.assert_array_equal(t.unknown(X), 0.0)
    np.testing.assert_allclose(t.unknown(np.full((1, 3), 1e3)), 1.0)
    np.testing.assert_allclose(t(np.full((1, 3), 1e3)), 0.0, atol=1e-12)


def test_equal_rows_and_constant_targets_do_no_harm():
    X, Y, s = rows(200)
    X[:150] = X[0]
    assert np.isfinite(fit_trend(X, Y, s).trend(X)).all()
    np.testing.assert_array_equal(fit_trend(X, 0 * Y + 3, s).trend(X), 0.0)
