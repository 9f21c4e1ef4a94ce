import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee import OptimalWeights, SimplexWeights, error_correlation
from tests.reference import errors as reference
from tests.reference.problems import KINDS, make_problem


@st.composite
def few_rows(draw):
    """Return F, y and a mask under which some pairs or members are never seen."""
    N, M = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.normal(size=N)
    E = draw(st.floats(0, 2)) * rng.normal(size=(N, 1)) + rng.normal(size=(N, M))
    held_out = rng.random((N, M)) < draw(st.floats(0.05, 0.9))
    held_out[0, 0] = True
    held_out[-1, -1] = False
    if not held_out.any():
        held_out[0, 0] = True
    return y[:, None] + E, y, held_out


def unit_diagonal(C):
    d = np.sqrt(np.diag(C))
    return C / np.outer(d, d)


@given(problem=few_rows())
def test_always_positive_definite_unless_perfectly_correlated(problem):
    F, y, held_out = problem
    C = error_correlation(F, y, held_out=held_out)
    expected = reference.shrunk_correlation(F, y, held_out)
    np.testing.assert_allclose(C, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(C, C.T, rtol=1e-14)
    assert np.all(np.diag(C) > 0)
    R = unit_diagonal(C)
    lowest = np.linalg.eigvalsh(R)[0]
    assert lowest >= -1e-13
    # The target's smallest eigenvalue is 1 - rho, and a quarter of it is kept, less where
    # pairs share all rows. A pair that never met shows rho itself.
    common = held_out.T.astype(int) @ held_out.astype(int)
    lacking = 1.0 - common / held_out.any(axis=1).sum()
    floor = 0.25 * np.minimum(20 * lacking, 1.0).mean()
    for rho in R[(common == 0) & ~np.eye(len(R), dtype=bool)]:
        assert lowest >= floor * (1.0 - rho) - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_that_is_true_throughout_shrinks_nothing(kind):
    F, y = make_problem(kind)
    np.testing.assert_array_equal(
        error_correlation(F, y, held_out=np.ones((40, 7), dtype=bool)),
        error_correlation(F, y),
    )


def similar_members(rng, N=400, M=60):
    y = rng.normal(size=N)
    E = rng.normal(size=(N, 1)) + 0.5 * rng.normal(size=(N, M)) * rng.uniform(1, 3, M)
    return y[:, None] + E, y


@pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights()])
def test_few_masked_entries_change_little(combiner, rng):
    """Weights go to those without a mask as its last False entries go."""
    F, y = similar_members(rng)
    full = combiner.fit(F, y).weights_
    order, previous = rng.permutation(F.size), np.inf
    for n_false in (2000, 200, 24, 1):
        held_out = np.ones(F.shape, dtype=bool)
        held_out.flat[order[:n_false]] = False
        change = np.abs(combiner.fit(F, y, held_out=held_out).weights_ - full).sum()
        assert change < previous
        previous = change
    # One entry is in one of 400 rows of one member.
    assert change < 0.02


def test_one_masked_entry_in_a_thousand_leaves_simplex_weights_sparse(rng):
    F, y = similar_members(rng)
    full = SimplexWeights().fit(F, y)
    held_out = np.ones(F.shape, dtype=bool)
    held_out.flat[rng.permutation(F.size)[: F.size // 1000]] = False
    masked = SimplexWeights().fit(F, y, held_out=held_out)
    assert abs(len(masked.support_) - len(full.support_)) <= 2
    assert np.abs(masked.weights_ - full.weights_).max() < 0.03


def test_many_rows_shrink_little(rng):
    """Sampling explains a share of the spread that falls as 1 / N."""
    N, M = 20_000, 4
    y = rng.normal(size=N)
    E = rng.normal(size=(N, 1)) * [0.2, 0.5, 1.0, 1.5] + rng.normal(size=(N, M))
    held_out = rng.random((N, M)) < 0.5
    C = error_correlation(y[:, None] + E, y, held_out=held_out)
    # Standard errors of a pair's mean over 5,000 rows are below 0.07.
    truth = np.outer([0.2, 0.5, 1.0, 1.5], [0.2, 0.5, 1.0, 1.5]) + np.eye(M)
    np.testing.assert_allclose(C, truth, rtol=0, atol=0.25)


@pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights()])
def test_exchangeable_members_get_equal_weights(combiner):
    """Every member errs by 1 on rows of its own, and never with another."""
    N, M = 12, 4
    y = np.zeros(N)
    held_out = (np.arange(N)[:, None] % M) == np.arange(M)
    w = combiner.fit(np.ones((N, M)), y, held_out=held_out).weights_
    np.testing.assert_allclose(w, 1 / M, rtol=1e-9)


@pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights()])
def test_noise_around_exchangeable_members_is_shrunk_away(combiner, rng):
    """Few rows for each pair: weights stay nearer to equal than unshrunk ones."""
    N, M = 60, 10
    y = rng.normal(size=N)
    F = y[:, None] + 0.5 * rng.normal(size=(N, 1)) + rng.normal(size=(N, M))
    held_out = rng.random((N, M)) < 0.4
    w = combiner.fit(F, y, held_out=held_out).weights_
    unshrunk = combiner.fit(F[:24], y[:24]).weights_
    assert np.linalg.norm(w - 1 / M) < np.linalg.norm(unshrunk - 1 / M)


def test_pairs_that_never_meet_take_the_common_correlation(rng):
    """Ten-fold splits: two members of one repeat share no held-out row."""
    N, M = 40, 4
    y = rng.normal(size=N)
    F = y[:, None] + rng.normal(size=(N, M))
    part = np.arange(N) % 2
    held_out = np.column_stack([part == 0, part == 1, part == 0, part == 1])
    C = error_correlation(F, y, held_out=held_out)
    R = unit_diagonal(C)
    seen = (R[0, 2] + R[1, 3]) / 2
    for i, j in [(0, 1), (0, 3), (1, 2), (2, 3)]:
        assert R[i, j] == pytest.approx(max(seen, 0.0), abs=1e-12)


def test_members_that_were_never_held_out_take_the_common_error(rng):
    N, M = 30, 5
    y = rng.normal(size=N)
    F = y[:, None] + rng.normal(size=(N, M)) * [1.0, 1.0, 2.0, 2.0, 100.0]
    held_out = rng.random((N, M)) < 0.6
    held_out[:, 4] = False
    C = error_correlation(F, y, held_out=held_out)
    assert C[4, 4] == pytest.approx(np.diag(C)[:4].mean(), rel=1e-12)
    for combiner in (OptimalWeights(), SimplexWeights()):
        w = combiner.fit(F, y, held_out=held_out).weights_
        assert np.all(np.isfinite(w))


def test_identical_members_on_different_rows_stay_usable(rng):
    """Correlation one throughout: C is singular and the weights are finite."""
    N, M = 30, 3
    y = rng.normal(size=N)
    F = y[:, None] + np.repeat(rng.normal(size=(N, 1)), M, axis=1)
    held_out = rng.random((N, M)) < 0.6
    for combiner in (OptimalWeights(), SimplexWeights()):
        w = combiner.fit(F, y, held_out=held_out).weights_
        assert np.all(np.isfinite(w))
        assert w.sum() == pytest.approx(1.0)


def test_one_member(rng):
    y = rng.normal(size=6)
    held_out = np.array([[True], [True], [True], [False], [False], [False]])
    C = error_correlation(y[:, None] + [[2.0]], y, held_out=held_out)
    np.testing.assert_allclose(C, [[4.0]], rtol=1e-14)
