"""Chains and rings of blocks, and the last row of a ring."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.linalg import NotPositiveDefiniteError, solve_blocks
from committee.linalg.blocks import Column, LastRow, right_solve

shapes = pytest.mark.parametrize("shape", ["chain", "ring"])
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def problem(sizes, shape, seed, T=3):
    """Return a dense definite matrix of the given shape, offsets and b."""
    rng = np.random.default_rng(seed)
    q, starts = len(sizes), np.r_[0, np.cumsum(sizes)]
    rows = [slice(starts[j], starts[j + 1]) for j in range(q)]
    A = np.zeros((starts[-1], starts[-1]))
    edges = [(j + 1, j) for j in range(q - 1)]
    if shape == "ring" and q > 2:
        edges.append((q - 1, 0))
    for i, j in edges:
        A[rows[i], rows[j]] = rng.normal(size=(sizes[i], sizes[j]))
    A += A.T
    A += np.diag(1.0 + np.abs(A).sum(axis=1))  # diagonally dominant
    b = rng.normal(size=(starts[-1], T))
    return A, rows, b


def solve(shape, A, rows, b, requested=None):
    def block(i, j):
        if requested is not None:
            requested.append((i, j))
        return A[rows[i], rows[j]].copy(order="F")

    return solve_blocks(block, [b[r] for r in rows], ring=shape == "ring")


@shapes
@given(sizes=sizes, seed=seeds)
def test_is_the_dense_solution(shape, sizes, seed):
    A, rows, b = problem(sizes, shape, seed)
    x = solve(shape, A, rows, b)
    # Diagonally dominant: the condition number is below 1e3.
    np.testing.assert_allclose(
        np.concatenate(x), np.linalg.solve(A, b), rtol=1e-10, atol=1e-12
    )


@shapes
@given(sizes=sizes, seed=seeds)
def test_each_block_is_requested_once_and_inputs_are_untouched(shape, sizes, seed):
    A, rows, b = problem(sizes, shape, seed)
    before, requested = b.copy(), []
    solve(shape, A, rows, b, requested)
    assert len(requested) == len(set(requested))
    q = len(sizes)
    wanted = {(j, j) for j in range(q)} | {(j + 1, j) for j in range(q - 1)}
    if shape == "ring" and q > 2:
        wanted.add((q - 1, 0))
    assert set(requested) == wanted
    np.testing.assert_array_equal(b, before)


@shapes
@given(sizes=sizes, seed=seeds)
def test_the_upper_triangle_of_a_diagonal_block_is_not_read(shape, sizes, seed):
    A, rows, b = problem(sizes, shape, seed)
    spoiled = A.copy()
    for r in rows:
        spoiled[r, r] = np.where(np.tri(r.stop - r.start, dtype=bool), A[r, r], 1e9)
    for x, y in zip(
        solve(shape, spoiled, rows, b), solve(shape, A, rows, b), strict=True
    ):
        np.testing.assert_array_equal(x, y)


def test_a_ring_of_two_blocks_has_one_edge():
    A, rows, b = problem([2, 3], "ring", 0)
    for x, y in zip(solve("ring", A, rows, b), solve("chain", A, rows, b), strict=True):
        np.testing.assert_array_equal(x, y)


@shapes
def test_a_failed_factor_names_the_block_and_says_how_indefinite(shape):
    for j in range(5):
        A, rows, b = problem([3] * 5, shape, 0)
        A[rows[j], rows[j]] -= 1000.0 * np.eye(3)
        message = rf"Block {j} of size 3 .* eigenvalue is -9\d\d"
        with pytest.raises(NotPositiveDefiniteError, match=message):
            solve(shape, A, rows, b)


@shapes
def test_blocks_that_are_not_numbers(shape):
    A, rows, b = problem([2] * 4, shape, 0)
    A[rows[1], rows[1]] = np.nan
    with pytest.raises(NotPositiveDefiniteError, match=r"Block 1 .* not a number"):
        solve(shape, A, rows, b)


@pytest.mark.parametrize("pivot", [3.0, 2.001])
def test_a_long_ring_loses_nothing_of_its_corner(pivot, rng):
    """Once with couplings that fade within a few blocks, once with such that last."""
    A, rows, b = problem([4] * 50, "ring", 0)
    A[:] = pivot * np.eye(len(A))
    for j in range(50):
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        A[rows[j], rows[j - 1]], A[rows[j - 1], rows[j]] = turn, turn.T
    x = solve("ring", A, rows, b)
    # The condition number is below 4 / 0.001.
    np.testing.assert_allclose(
        np.concatenate(x), np.linalg.solve(A, b), rtol=1e-9, atol=1e-9
    )


@shapes
def test_blocks_of_whole_numbers_and_views_are_blocks_too(shape):
    A, rows, b = problem([40] * 4, shape, 0)
    A = np.rint(A)
    x = solve_blocks(
        lambda i, j: A[rows[i], rows[j]].astype(int).T.T,
        [b[r] for r in rows],
        ring=shape == "ring",
    )
    np.testing.assert_allclose(np.concatenate(x), np.linalg.solve(A, b), rtol=1e-9)


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
    products = np.hstack(row.times(x))
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
