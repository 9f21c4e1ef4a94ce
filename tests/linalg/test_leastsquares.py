import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import qr

from committee.linalg.leastsquares import Triangle
from tests.reference import weights as reference

seeds = st.integers(0, 2**32 - 1)


def solve_least_squares(blocks, *, basic=False):
    triangle = Triangle.of(blocks)
    return triangle.solve_basic() if basic else triangle.solve()


def split(F, y, sizes):
    """Cut the rows into blocks of the given sizes, the rest in a last one."""
    cuts = [cut for cut in np.cumsum(sizes) if cut < len(F)]
    return list(zip(np.split(F, cuts), np.split(y, cuts), strict=True))


@given(
    N=st.integers(1, 30),
    M=st.integers(1, 8),
    sizes=st.lists(st.integers(1, 7), max_size=10),
    seed=seeds,
)
def test_blocks_against_the_dense_twin(N, M, sizes, seed):
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(N, M)), rng.normal(size=N)
    w = solve_least_squares(split(F, y, sizes))
    twin = np.linalg.lstsq(F, y, rcond=None)[0]
    # A square Gaussian F has a condition number of 1e4 once in a thousand times.
    np.testing.assert_allclose(w, twin, rtol=1e-8, atol=1e-8 * np.abs(twin).max())


@given(N=st.integers(10, 60), rank=st.integers(1, 5), seed=seeds)
def test_rank_deficient_solution_has_minimum_norm(N, rank, seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(N, rank))
    # Columns: the base, sums of its columns and copies of them.
    F = np.column_stack([base, base @ rng.normal(size=(rank, 3)), base[:, :1]])
    y = rng.normal(size=N)
    w = solve_least_squares(split(F, y, [7, 7]))
    # Normal equations square a condition number of at most 1e3 or so.
    np.testing.assert_allclose(w, reference.least_squares(F, y), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("copies", "block"), [(2, 1000), (5, 13), (40, 13)])
def test_identical_members_share_equally(copies, block, rng):
    base, y = rng.normal(size=(500, 3)) + 2.0, rng.normal(size=500)
    F = np.repeat(base, copies, axis=1)
    w = solve_least_squares(split(F, y, [block] * 40)).reshape(3, copies)
    alone = solve_least_squares([(base, y)])
    np.testing.assert_allclose(w, np.tile(alone[:, None] / copies, copies), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_weights_follow_the_unit(unit, rng):
    F, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    w = solve_least_squares([(F, y)])
    np.testing.assert_allclose(solve_least_squares([(unit * F, unit * y)]), w)
    np.testing.assert_allclose(solve_least_squares([(unit * F, y)]) * unit, w)
    np.testing.assert_allclose(solve_least_squares([(F, unit * y)]) / unit, w)


def test_condition_is_that_of_F_and_not_its_square():
    """Lauchli's matrix: F'F is singular in floating point, F is not."""
    d = 1e-9
    F = np.vstack([np.ones((1, 2)), d * np.eye(2)])
    w = solve_least_squares([(F, F @ [1.0, 2.0])])
    # eps times a condition number of 1.4e9.
    np.testing.assert_allclose(w, [1.0, 2.0], rtol=0, atol=1e-5)


def test_permuted_members_have_permuted_weights(rng):
    F, y = rng.normal(size=(6, 9)), rng.normal(size=6)
    order = rng.permutation(9)
    w = solve_least_squares([(F, y)])
    np.testing.assert_allclose(
        solve_least_squares([(F[:, order], y)]), w[order], rtol=0, atol=1e-11
    )


def test_blocks_are_untouched_and_may_be_an_iterator(rng):
    F, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    copies = F.copy(), y.copy()
    solve_least_squares(iter([(F[:3], y[:3]), (F[3:], y[3:])]))
    np.testing.assert_array_equal(F, copies[0])
    np.testing.assert_array_equal(y, copies[1])


def test_members_that_say_nothing_weigh_nothing():
    assert solve_least_squares([(np.zeros((3, 2)), np.ones(3))]).tolist() == [0.0, 0.0]


def test_no_rows():
    assert Triangle.of([]) is None


# --- basic solutions ---------------------------------------------------------


def votes(N, M, rank, seed):
    """Signed votes of so many different members, repeated in a random order."""
    rng = np.random.default_rng(seed)
    base = rng.choice([-1.0, 1.0], size=(N, rank))
    return base[:, rng.integers(0, rank, size=M)], rng.choice([-1.0, 1.0], size=N)


@given(N=st.integers(1, 40), M=st.integers(1, 12), rank=st.integers(1, 6), seed=seeds)
def test_a_basic_solution_fits_as_well_with_independent_members(N, M, rank, seed):
    F, y = votes(N, M, rank, seed)
    w = solve_least_squares([(F, y)], basic=True)
    chosen = np.flatnonzero(w)
    # Entries +-1 and at most 6 columns: singular values are zero or above 1e-3.
    assert np.linalg.matrix_rank(F[:, chosen], tol=1e-6) == len(chosen)
    assert len(chosen) <= np.linalg.matrix_rank(F, tol=1e-6)
    best = F @ np.linalg.lstsq(F, y, rcond=1e-10)[0]
    np.testing.assert_allclose(F @ w, best, rtol=0, atol=1e-8)


def test_a_basic_solution_is_that_of_pivoted_qr(rng):
    """Without ties: the columns that QR with pivoting of F itself takes first."""
    base = rng.normal(size=(50, 4))
    F, y = base @ rng.normal(size=(4, 9)), rng.normal(size=50)
    _, _, order = qr(F, mode="economic", pivoting=True)
    w = solve_least_squares(split(F, y, [7, 7]), basic=True)
    expected = np.zeros(9)
    expected[order[:4]] = np.linalg.lstsq(F[:, order[:4]], y, rcond=None)[0]
    np.testing.assert_allclose(w, expected, rtol=1e-6, atol=1e-9)


def test_a_basic_solution_at_full_rank_is_the_only_one(rng):
    F, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    np.testing.assert_allclose(
        solve_least_squares([(F, y)], basic=True),
        solve_least_squares([(F, y)]),
        rtol=1e-10,
    )


@given(sizes=st.lists(st.integers(1, 9), max_size=10), seed=seeds)
def test_a_basic_solution_does_not_depend_on_the_cut_of_the_rows(sizes, seed):
    """All columns of votes have one length: of equal ones the first is taken."""
    F, y = votes(40, 20, 7, seed)
    w = solve_least_squares([(F, y)], basic=True)
    first = solve_least_squares(split(F, y, sizes), basic=True)
    np.testing.assert_allclose(first, w, rtol=0, atol=1e-9)


def test_of_identical_members_the_first_has_all(rng):
    base, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    w = solve_least_squares([(np.repeat(base, 4, axis=1), y)], basic=True)
    assert np.flatnonzero(w).tolist() == [0, 4, 8]
    np.testing.assert_allclose(w[::4], solve_least_squares([(base, y)]), rtol=1e-10)


def test_a_basic_solution_without_anything_to_choose():
    F = np.zeros((3, 2))
    assert solve_least_squares([(F, np.ones(3))], basic=True).tolist() == [0.0, 0.0]
