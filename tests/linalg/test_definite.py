import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import cholesky

from committee.linalg import NotPositiveDefiniteError, jittered_cholesky
from committee.linalg.definite import MAX_JITTER

EPS = np.finfo(np.float64).eps

sizes = st.integers(1, 8)
seeds = st.integers(0, 2**32 - 1)


def definite(n, seed):
    """Return a matrix with eigenvalues in [1, about 4 n + 1]."""
    B = np.random.default_rng(seed).normal(size=(n, n))
    return B @ B.T + np.eye(n)


@given(n=sizes, seed=seeds)
def test_definite_matrix_gets_the_plain_factor(n, seed):
    A = definite(n, seed)
    before = A.copy()
    L, jitter = jittered_cholesky(A)
    assert jitter == 0.0
    # Condition below 1e3: n eps cond is 1e-12 at most.
    np.testing.assert_allclose(L, cholesky(A, lower=True), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(A, before)


@given(n=sizes, seed=seeds, exponents=st.lists(st.integers(-150, 150), min_size=8))
def test_factor_follows_the_scale_of_rows_and_columns(n, seed, exponents):
    A = definite(n, seed)
    d = 10.0 ** np.array(exponents[:n])
    L, jitter = jittered_cholesky(A * d[:, None] * d)
    assert jitter == 0.0
    # Entries of row i of the factor are at most d_i sqrt(A_ii).
    unit = d * np.sqrt(np.diag(A))
    plain = jittered_cholesky(A)[0] * d[:, None]
    np.testing.assert_allclose(L / unit[:, None], plain / unit[:, None], atol=1e-11)


@given(n=st.integers(2, 8), rank=st.integers(1, 7), seed=seeds)
def test_singular_matrix_gets_the_jitter_that_is_reported(n, rank, seed):
    rank = min(rank, n - 1)
    B = np.random.default_rng(seed).normal(size=(n, rank))
    A = B @ B.T
    L, jitter = jittered_cholesky(A)
    # Rounding may lift a zero eigenvalue above n eps: then no jitter is due.
    assert 0.0 <= jitter <= MAX_JITTER
    wanted = A + jitter * np.diag(np.diag(A))
    # Backward error of a Cholesky factor: (n + 1) eps, relative to sqrt(A_ii A_jj).
    unit = np.sqrt(np.diag(A))
    gap = np.abs(L @ L.T - wanted) / np.outer(unit, unit)
    assert gap.max() <= 10 * (n + 1) * EPS


@pytest.mark.parametrize("n", [2, 5, 30])
def test_identical_members_need_jitter_in_any_order(n, rng):
    A = np.ones((n, n))
    A[0, 0] = 2.0
    order = rng.permutation(n)
    L, jitter = jittered_cholesky(A, rcond=1e-10)
    if n > 2:
        assert jitter > 0
    P, same = jittered_cholesky(A[np.ix_(order, order)], rcond=1e-10)
    assert same == jitter
    np.testing.assert_allclose(P @ P.T, (L @ L.T)[np.ix_(order, order)], rtol=1e-13)


def test_rcond_is_the_condition_that_is_kept():
    A = np.array([[1.0, 1 - 1e-6], [1 - 1e-6, 1.0]])
    assert jittered_cholesky(A)[1] == 0.0
    assert jittered_cholesky(A, rcond=1e-8)[1] == 0.0
    with pytest.raises(NotPositiveDefiniteError):
        jittered_cholesky(A, rcond=1e-3)
    A = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    L, jitter = jittered_cholesky(A, rcond=1e-7)
    assert jitter > 0
    # The estimate of a 2 x 2 condition number is exact, in the 1-norm.
    assert 1 / np.linalg.cond(L @ L.T, 1) >= 1e-7 * (1 - 1e-6)


@pytest.mark.parametrize("rank", [4, 1])
def test_upper_triangle_is_not_read(rank, rng):
    B = rng.normal(size=(4, rank))
    A = B @ B.T
    spoiled = np.where(np.tri(4, dtype=bool), A, np.nan)
    L, jitter = jittered_cholesky(A)
    S, same = jittered_cholesky(spoiled)
    assert same == jitter
    np.testing.assert_array_equal(S, L)


def test_one_entry():
    L, jitter = jittered_cholesky(np.array([[9.0]]))
    assert L.tolist() == [[3.0]]
    assert jitter == 0.0


@pytest.mark.parametrize("entry", [0.0, -1.0, np.nan])
def test_diagonal_that_is_not_positive(entry):
    with pytest.raises(NotPositiveDefiniteError, match="1 of 2 diagonal entries"):
        jittered_cholesky(np.diag([1.0, entry]))


def test_indefinite_matrix_says_by_how_much():
    with pytest.raises(np.linalg.LinAlgError, match="smallest eigenvalue is -1"):
        jittered_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
