import numpy as np
import pytest

from committee.linalg.programmes import relax_choice, round_choice
from tests.reference.search import best_choice


def random_G(seed, M=8):
    B = np.random.default_rng(seed).random((30, M)) < 0.3
    return B.T @ B / 30.0


@pytest.mark.parametrize(("seed", "k"), [(0, 1), (1, 3), (2, 7), (3, 3)])
def test_the_bound_holds_at_any_accuracy(seed, k):
    """Bound <= optimum <= found, after 5 iterations as after thousands."""
    G = random_G(seed)
    best, _ = best_choice(G, k)
    for max_iter in (5, 5000):
        relaxed = relax_choice(G, k, 1e-6, max_iter)
        assert relaxed.bound <= best + 1e-9
        rng = np.random.RandomState(0)
        chosen = round_choice(relaxed.V, G, k, 50, rng)
        assert len(chosen) == len(set(chosen)) == k
        assert best <= G[np.ix_(chosen, chosen)].sum() + 1e-12


def test_the_solution_is_feasible():
    """V has a unit diagonal, is positive semidefinite, and sum z = k."""
    V = relax_choice(random_G(0), 3, 1e-7, 20_000).V
    np.testing.assert_allclose(np.diag(V), 1, atol=1e-4)
    np.testing.assert_allclose(V, V.T)
    assert np.linalg.eigvalsh(V)[0] >= -1e-5
    assert V[0, 1:].sum() == pytest.approx(2 * 3 - 8, abs=1e-3)


def test_a_diagonal_G_is_solved_exactly():
    """Without shared errors the best k members are the answer and the bound."""
    G = np.diag(np.arange(1.0, 7.0))
    relaxed = relax_choice(G, 3, 1e-7, 20_000)
    assert relaxed.bound == pytest.approx(6.0, rel=1e-3)
    chosen = round_choice(relaxed.V, G, 3, 10, np.random.RandomState(0))
    assert sorted(chosen) == [0, 1, 2]


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units(unit):
    G = random_G(1)
    plain = relax_choice(G, 3, 1e-6, 5000).bound
    assert relax_choice(G * unit, 3, 1e-6, 5000).bound == pytest.approx(plain * unit)


def test_nothing_to_choose_by():
    relaxed = relax_choice(np.zeros((4, 4)), 2, 1e-6, 100)
    assert relaxed.bound == pytest.approx(0, abs=1e-6)
