import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from committee.linalg import programmes, solve_nnqp, solve_simplex
from tests.reference import weights as reference

EPS = np.finfo(np.float64).eps
RIDGE = 1e-10  # the relative ridge that solve_simplex documents
FLOOR = 1e-16  # and its floor, relative to the largest diagonal entry


seeds = st.integers(0, 2**32 - 1)


@st.composite
def correlations(draw, max_members=6):
    """C = E'E / N: any rank, integer errors (exact ties) or real ones."""
    M, N = draw(st.integers(1, max_members)), draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        E = rng.integers(-2, 3, size=(N, M)).astype(float)
    else:
        E = draw(st.floats(0, 3)) * rng.normal(size=(N, 1)) + rng.normal(size=(N, M))
    E *= 10.0 ** (draw(st.integers(0, 4)) * rng.uniform(-1, 1, size=M))
    return E.T @ E / N


def assert_optimal(C, w):
    """Check the conditions of optimality to 1e-8 relative."""
    assert np.all(w >= 0)
    assert w.sum() == pytest.approx(1.0, abs=len(w) * EPS)
    violation, unit = reference.simplex_violation(C, w)
    # The ridge moves g by 1e-10 c_i w_i; 1e-8 is what the design requires.
    assert np.all(violation <= 1e-8 * unit + FLOOR * np.diag(C).max())


@given(C=correlations())
def test_simplex_against_every_face(C):
    w = solve_simplex(C)
    assert_optimal(C, w)
    best = reference.simplex_weights(C)
    c = np.diag(C)
    # w minimises J + ridge, so its J exceeds the best by the ridge at most.
    slack = np.maximum(RIDGE * c, FLOOR * c.max()) @ best**2
    rounding = 100 * EPS * c.max()
    assert w @ C @ w <= best @ C @ best + slack + rounding


@given(M=st.integers(1, 6), seed=seeds)
def test_simplex_weights_are_those_of_the_best_face(M, seed):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(20, M)) + 0.5 * rng.normal(size=(20, 1))
    C = E.T @ E / 20 + 0.1 * np.eye(M)
    # Condition below 1e3: the ridge of 1e-10 moves the weights by 1e-7 at most.
    np.testing.assert_allclose(
        solve_simplex(C), reference.simplex_weights(C), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize(
    ("N", "M"), [(400, 200), (20, 60), (60, 60), (5, 100), (1, 30)]
)
def test_simplex_is_optimal_at_size(N, M, rng):
    """Of members that are alike, of votes, and of members of unlike units."""
    for E in (
        rng.normal(size=(N, 1)) + 1e-4 * rng.normal(size=(N, M)),
        (rng.random((N, M)) < 0.3).astype(float),
        rng.normal(size=(N, M)) * 10 ** rng.uniform(-6, 6, size=M),
    ):
        C = E.T @ E / N
        assert_optimal(C, solve_simplex(C))


def test_simplex_is_optimal_where_zero_error_is_barely_within_reach():
    """With twice as many members as rows, half of all problems reach J = 0.

    On the verge of it C is nearly singular on every face, and changing whole groups
    of members at once makes no progress: the active set has to finish.
    """
    for seed in range(60):
        E = np.random.default_rng(seed).normal(size=(26, 50))
        C = E.T @ E / 26
        assert_optimal(C, solve_simplex(C))


@given(C=correlations(max_members=12))
def test_active_set_alone_finds_the_same(C):
    w = solve_simplex(C)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(programmes, "_PATIENCE", 1)
        v = solve_simplex(C)
    assert_optimal(C, v)
    # Both minimise J + ridge: they differ by rounding of C over the ridge at most.
    assert v @ C @ v == pytest.approx(w @ C @ w, rel=1e-6, abs=1e-9 * C.max())


def test_permuted_members_have_permuted_weights(rng):
    E = rng.normal(size=(50, 20)) + rng.normal(size=(50, 1))
    C = E.T @ E / 50
    order = rng.permutation(20)
    w = solve_simplex(C)
    # Condition about 1e3: rounding is below 1e-12, the support is the same.
    np.testing.assert_allclose(
        solve_simplex(C[np.ix_(order, order)]), w[order], rtol=0, atol=1e-11
    )


@pytest.mark.parametrize(("copies", "N"), [(2, 40), (10, 40), (3, 3)])
def test_identical_members_share_equally(copies, N, rng):
    E = rng.normal(size=(N, 4))
    twins = np.repeat(E, [copies, 1, 1, copies], axis=1)
    w = solve_simplex(twins.T @ twins / N)
    first, last = w[:copies], w[-copies:]
    # Twins differ by rounding of C over the ridge: eps / 1e-10 = 2e-6.
    np.testing.assert_allclose(first, first[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(last, last[0], rtol=0, atol=1e-5)
    if N > 4:
        alone = solve_simplex(E.T @ E / N)
        together = [first.sum(), w[copies], w[copies + 1], last.sum()]
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-7)


@pytest.mark.parametrize("exponent", [-270, -20, 290])
def test_weights_do_not_depend_on_the_unit(exponent, rng):
    E = rng.normal(size=(30, 6)) + 1.0
    C = E.T @ E / 30
    np.testing.assert_allclose(
        solve_simplex(C * 10.0**exponent), solve_simplex(C), rtol=1e-9, atol=1e-12
    )


def test_one_member():
    assert solve_simplex(np.array([[4.0]])).tolist() == [1.0]
    assert solve_simplex(np.array([[0.0]])).tolist() == [1.0]


def test_all_members_perfect_weigh_the_same():
    assert solve_simplex(np.zeros((4, 4))).tolist() == [0.25] * 4


@pytest.mark.parametrize("n_perfect", [1, 2])
def test_perfect_members_take_all(n_perfect, rng):
    E = rng.normal(size=(30, 5))
    E[:, :n_perfect] = 0.0
    w = solve_simplex(E.T @ E / 30)
    np.testing.assert_allclose(w[:n_perfect], 1 / n_perfect, rtol=0, atol=1e-12)


def test_dominated_members_get_exact_zeros():
    C = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [2.0, 2.0, 9.0]])
    w = solve_simplex(C)
    assert w[2] == 0.0
    np.testing.assert_allclose(w[:2], 0.5, rtol=1e-12)


def test_input_is_untouched(rng):
    C = np.cov(rng.normal(size=(4, 20)))
    before = C.copy()
    C.setflags(write=False)
    solve_simplex(C)
    solve_nnqp(C, np.ones(4))
    np.testing.assert_array_equal(C, before)


@given(M=st.integers(1, 6), seed=seeds)
def test_nnqp_against_every_face(M, seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(M + 3, M))
    A, b = B.T @ B + 0.1 * np.eye(M), rng.normal(size=M)
    z = solve_nnqp(A, b)
    # Condition below 1e4.
    np.testing.assert_allclose(
        z, reference.nonnegative_minimum(A, b), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(("N", "M"), [(200, 80), (100, 100)])
def test_nnqp_against_nnls(N, M, rng):
    F = rng.normal(size=(N, M)) + rng.normal(size=(N, 1))
    y = rng.normal(size=N) + F[:, :5].sum(axis=1)
    A = F.T @ F + 1e-3 * np.eye(M)
    z = solve_nnqp(A, F.T @ y)
    twin, _ = nnls(np.vstack([F, np.sqrt(1e-3) * np.eye(M)]), np.r_[y, np.zeros(M)])
    # Smallest eigenvalue 1e-3, largest about N M = 1e4: cond 1e7 times eps.
    np.testing.assert_allclose(z, twin, rtol=0, atol=1e-7)


@pytest.mark.parametrize("N", [200, 90])
def test_nnqp_with_some_of_either_sign(N, rng):
    F = rng.normal(size=(N, 80)) + rng.normal(size=(N, 1))
    y = rng.normal(size=N) - F[:, :5].sum(axis=1)
    signed = np.arange(80) % 3 == 0
    A = F.T @ F + 1e-3 * np.eye(80)
    z = solve_nnqp(A, F.T @ y, signed)
    assert z[signed].min() < 0
    # The conditions of Karush, Kuhn and Tucker; cond 1e7 times eps times b of 1e3.
    slack = A @ z - F.T @ y
    assert z[~signed].min() >= 0
    np.testing.assert_allclose(slack[signed], 0, atol=1e-6)
    assert slack[~signed].min() > -1e-6
    np.testing.assert_allclose(slack * np.where(signed, 0, z), 0, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_nnqp_follows_the_unit_of_b(unit, rng):
    B = rng.normal(size=(8, 5))
    A, b = B.T @ B, rng.normal(size=5)
    np.testing.assert_allclose(
        solve_nnqp(A, unit * b) / unit, solve_nnqp(A, b), rtol=1e-9, atol=1e-12
    )


def test_nnqp_without_a_gain_stays_at_zero():
    assert solve_nnqp(np.eye(3), -np.ones(3)).tolist() == [0.0] * 3
    assert solve_nnqp(np.eye(3), np.zeros(3)).tolist() == [0.0] * 3
