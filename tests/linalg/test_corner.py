import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.linalg.corner import Column, LastRow, right_solve, row_times
from tests.linalg.test_blocks import problem

EPS = np.finfo(np.float64).eps


@given(st.integers(1, 150), st.integers(1, 150), st.integers(0, 2**32 - 1))
def test_right_solve_is_a_product_with_the_inverse(m, n, seed):
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(n, n))) / n + np.diag(rng.uniform(1, 2, size=n))
    B = np.asfortranarray(rng.normal(size=(m, n)))
    expected = np.linalg.solve(L, B.T).T
    spoiled = np.asfortranarray(L + np.triu(np.full((n, n), np.nan), 1))
    X = right_solve(spoiled, B)
    assert X is B
    np.testing.assert_allclose(X, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_right_solve_works_in_any_memory(order, rng):
    L = np.tril(rng.normal(size=(70, 70))) / 70 + np.eye(70)
    B = np.array(rng.normal(size=(50, 70)), order=order)
    expected = np.linalg.solve(L, B.T).T
    np.testing.assert_allclose(right_solve(L, B), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", [3, 9, 10, 40])
def test_is_the_last_row_of_the_dense_factor(q):
    """And a row that fades is kept by fewer and fewer numbers."""
    n = 6
    A, rows, b = problem([n] * q, "ring", seed=q)
    factor = np.linalg.cholesky(A)
    z = np.linalg.solve(factor, b)
    last = rows[-1]
    row = LastRow(A[last, rows[0]].copy(order="F"))
    for j in range(q - 2):
        row.eliminate(
            Column(factor[rows[j], rows[j]], factor[rows[j + 1], rows[j]], z[rows[j]].T)
        )
    Z = factor[last][:, : (q - 2) * n]
    # What was dropped is below the rounding of the corner, once for each column.
    atol = 10 * q * EPS * np.linalg.norm(A[last, rows[0]])
    kept = np.hstack([row.V[number] @ W for number, W in row.W])
    np.testing.assert_allclose(kept, Z, rtol=0, atol=atol)
    ZZ, zZ = row.sums()
    np.testing.assert_allclose(ZZ, Z @ Z.T, rtol=0, atol=atol)
    np.testing.assert_allclose(zZ, (Z @ z[: (q - 2) * n]).T, rtol=0, atol=10 * atol)
    x = np.ones((2, n))
    products = np.hstack(row_times(x, row.V, row.W))
    np.testing.assert_allclose(products, x @ Z, rtol=0, atol=10 * atol)
    before = factor[rows[-2], rows[-3]]
    np.testing.assert_allclose(
        row.beside_diagonal(), -Z[:, -n:] @ before.T, rtol=0, atol=atol
    )
    assert len(row.W[0][1]) == n
    if q == 40:
        assert len(row.W[-1][1]) < n


def test_a_row_that_does_not_fade_is_kept_whole():
    n, q = 4, 30
    row = LastRow(np.eye(n))
    column = Column(np.eye(n), -np.eye(n), np.zeros((1, n)))
    for _ in range(q):
        row.eliminate(column)
    assert [len(W) for _, W in row.W] == [n] * q
    np.testing.assert_allclose(row.sums()[0], q * np.eye(n), rtol=1e-14)
