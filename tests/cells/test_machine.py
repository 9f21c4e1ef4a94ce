import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from committee.cells import solve_cell
from committee.cells.machine import _norm, lower_gram
from committee.kernels import Kernel
from committee.linalg import NotPositiveDefiniteError


def square(X, Z):
    """A kernel that is not of the distance."""
    return (0.3 * X @ Z.T + 1.0) ** 2


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]]


def test_coefficients_are_those_of_kernel_ridge(rows):
    X, Y = rows
    s = np.linspace(0.5, 2, 60)
    fit = solve_cell(Kernel("rbf", 0.4), X, Y, 0.1 / s, precision="double")
    twin = KernelRidge(kernel="rbf", gamma=0.4, alpha=0.1).fit(X, Y, sample_weight=s)
    f = Kernel("rbf", 0.4)(X, X) @ fit.coef
    np.testing.assert_allclose(f, twin.predict(X), atol=1e-10)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.4), Kernel(square)])
@pytest.mark.parametrize("n", [60, 300])  # A in one panel, and in three
def test_the_inverse_and_the_border_are_those_of_dense_algebra(n, kernel, rng):
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    B, ridge = rng.normal(size=(7, 3)), rng.uniform(0.1, 0.3, size=n)
    fit = solve_cell(
        kernel, X, Y, ridge, border_points=B, precision="double", leave_one_out=True
    )
    inverse = np.linalg.inv(kernel(X, X) + np.diag(ridge))
    cross = kernel(X, B)
    np.testing.assert_allclose(fit.inverse_diagonal, np.diag(inverse), rtol=1e-9)
    np.testing.assert_allclose(fit.energy, np.diag(Y.T @ inverse @ Y), rtol=1e-9)
    np.testing.assert_allclose(fit.border.values, cross.T @ inverse @ Y, atol=1e-9)
    V = kernel(B, B) - cross.T @ inverse @ cross
    np.testing.assert_allclose(fit.border.covariance, V, atol=1e-9)
    np.testing.assert_allclose(fit.border.response, inverse @ cross, atol=1e-9)


@pytest.mark.parametrize("name", ["rbf", "exponential", "matern32", "matern52"])
def test_single_precision_is_taken_where_it_is_safe(name, rows, rng):
    X, Y = rows
    kernel = Kernel(name, 0.3)
    X_new = rng.normal(size=(200, 3))
    by = {}
    for precision in ("auto", "double"):
        fit = solve_cell(kernel, X + 1e3, Y, np.full(60, 0.1), precision=precision)
        by[precision] = kernel(X_new, X) @ fit.coef
        assert fit.single == (precision == "auto")
    # Measured 1e-4 on 1,500 rows; rows far from the origin are moved to their middle.
    np.testing.assert_allclose(by["auto"], by["double"], atol=1e-3)


def test_the_norm_is_that_of_the_whole_matrix(rng):
    X = rng.normal(size=(300, 3))
    kernel = Kernel("matern32", 0.5)
    whole = np.linalg.norm(kernel(X, X), 1)
    assert _norm(lower_gram(kernel, X)) == pytest.approx(whole, rel=1e-12)


def test_a_bad_condition_is_left_to_double_precision(rows):
    X, Y = rows
    kernel, ridge = Kernel("rbf", 0.01), np.full(60, 1e-7)
    auto = solve_cell(kernel, X, Y, ridge)
    double = solve_cell(kernel, X, Y, ridge, precision="double")
    assert not auto.single
    np.testing.assert_array_equal(auto.coef, double.coef)


def test_an_indefinite_kernel_is_refused_with_advice(rows):
    X, Y = rows
    with pytest.raises(NotPositiveDefiniteError, match="increase alpha"):
        solve_cell(Kernel(lambda A, B: -A @ B.T), X, Y, np.full(60, 0.1))
