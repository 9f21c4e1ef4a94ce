import numpy as np
import pytest
from hypothesis import assume, given

from committee.linalg import solve_blocks_indefinite
from tests.linalg.test_blocks import problem, seeds, sizes

shapes = pytest.mark.parametrize("shape", ["chain", "ring"])


def solve(shape, A, rows, b, requested=None):
    def block(i, j):
        if requested is not None:
            requested.append((i, j))
        A_ij = A[rows[i], rows[j]].copy(order="F")
        return np.tril(A_ij) if i == j else A_ij

    x, condition = solve_blocks_indefinite(
        block, [b[r] for r in rows], ring=shape == "ring"
    )
    return np.concatenate(x), condition


def indefinite(sizes, shape, seed):
    """Return a matrix with eigenvalues of both signs and blocks of zeros, and b."""
    A, rows, b = problem(sizes, shape, seed)
    rng = np.random.default_rng(seed)
    A[np.diag_indices_from(A)] = 0.0
    for r in rows[::2]:
        B = rng.normal(size=A[r, r].shape)
        A[r, r] = B + B.T
    return A, rows, b


@shapes
@given(sizes=sizes, seed=seeds)
def test_is_the_dense_solution_though_blocks_are_singular(shape, sizes, seed):
    A, rows, b = indefinite(sizes, shape, seed)
    expected = np.linalg.cond(A, 1)
    assume(expected < 1e10)
    before, requested = A.copy(), []
    x, condition = solve(shape, A, rows, b, requested)
    # Backward stable: a residual of rounding, and an error of it times the condition.
    scale = np.abs(A).max() * np.abs(x).max() + np.abs(b).max()
    assert np.abs(A @ x - b).max() < 1e-12 * scale
    np.testing.assert_allclose(
        x, np.linalg.solve(A, b), rtol=0, atol=1e-13 * expected * np.abs(x).max()
    )
    # Hager's estimate is a lower bound.
    assert expected / 10 <= condition <= expected * (1 + 1e-3)
    np.testing.assert_array_equal(A, before)
    assert len(set(requested)) == len(requested)


@shapes
def test_definite_matrices_too(shape):
    A, rows, b = problem([3, 1, 4, 2, 5], shape, 0)
    x, _ = solve(shape, A, rows, b)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-10, atol=1e-12)


@shapes
def test_blocks_that_are_far_smaller_than_those_beside_them(shape):
    """Pivoting inside the block alone would lose all digits."""
    A, rows, b = problem([3] * 5, shape, 1)
    for r in rows:
        A[r, r] = 1e-14 * np.eye(3)
    x, condition = solve(shape, A, rows, b)
    expected = np.linalg.solve(A, b)
    atol = 1e-14 * condition * np.abs(expected).max()
    np.testing.assert_allclose(x, expected, rtol=0, atol=atol)


@shapes
def test_a_singular_matrix_is_refused(shape):
    A, rows, b = problem([2] * 4, shape, 0)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve(shape, np.zeros_like(A), rows, b)


def test_the_global_generator_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    A, rows, b = problem([9] * 4, "ring", 0)
    solve("ring", A, rows, b)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
