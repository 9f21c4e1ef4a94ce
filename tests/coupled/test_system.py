from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.kernel_ridge import KernelRidge

from committee import CoupledKernelRegressor
from committee.coupled import GramBlocks, Layout, solve_coupled
from committee.kernels import Kernel
from committee.linalg import NotPositiveDefiniteError
from tests.reference.coupled import DenseCoupled

MEMBERS = pytest.mark.parametrize("q", [1, 2, 3, 7])
TOPOLOGIES = pytest.mark.parametrize("topology", ["ring", "chain"])
RBF = Kernel("rbf", gamma=0.5)


def data(q, *, T=2, unequal=True, seed=0):
    """Rows, targets, subsets of unlike sizes and coupling points."""
    rng = np.random.default_rng(seed)
    sizes = 3 + (np.arange(q) * 5) % 4 if unequal else np.full(q, 4)
    X = rng.normal(size=(sizes.sum(), 2))
    Y = rng.normal(size=(len(X), T))
    subsets = np.split(rng.permutation(len(X)), np.cumsum(sizes)[:-1])
    return X, Y, subsets, rng.normal(size=(6, 2))


def both(q, *, kernel=RBF, alpha=0.1, nu=0.7, topology="ring", overlap=True, s=None):
    """Return the dense twin, the blocks and the targets of one problem."""
    X, Y, subsets, Xc = data(q)
    twin = DenseCoupled(
        kernel, X, Y, subsets, Xc,
        alpha=alpha, nu=nu, topology=topology, overlap=overlap, s=s,
    )  # fmt: skip
    layout = Layout(q, topology, overlap)
    gram = GramBlocks(kernel, X, subsets, Xc, layout, sample_weight=s)
    return twin, gram, Y


@MEMBERS
def test_minimises_the_objective_and_equals_the_dense_solution(q):
    for topology, overlap, nu in product(
        ("ring", "chain"), (True, False), (0.0, 0.7, 100.0)
    ):
        twin, gram, Y = both(q, topology=topology, overlap=overlap, nu=nu)
        solution = solve_coupled(gram, Y, alpha=0.1, coupling=nu)
        a = np.concatenate(solution)
        slope = np.abs(twin.gradient(a)).max() / np.abs(twin.D.T @ twin.t).max()
        assert slope < 1e-10
        for ours, dense in zip(solution, twin.solve(), strict=True):
            np.testing.assert_allclose(ours, dense, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("nu", [0.0, 0.7])
def test_no_step_lowers_the_objective(nu, rng):
    twin, gram, Y = both(5, nu=nu)
    a = np.concatenate(solve_coupled(gram, Y, alpha=0.1, coupling=nu))
    best = twin.objective(a)
    for _ in range(20):
        assert twin.objective(a + 1e-3 * rng.normal(size=a.shape)) > best


@pytest.mark.parametrize(("q", "topology"), [(1, "ring"), (3, "chain"), (7, "ring")])
def test_sample_weights_weigh_the_residuals(q, topology, rng):
    s = rng.uniform(0.2, 3.0, size=len(data(q)[0]))
    twin, gram, Y = both(q, topology=topology, s=s)
    for ours, dense in zip(
        solve_coupled(gram, Y, alpha=0.1, coupling=0.7), twin.solve(), strict=True
    ):
        np.testing.assert_allclose(ours, dense, rtol=1e-8, atol=1e-10)


def test_an_indefinite_kernel():
    kernel = Kernel(lambda X, Z: np.tanh(X @ Z.T - 0.5))
    assert np.linalg.eigvalsh(kernel(*[data(3)[0]] * 2)).min() < -0.1
    twin, gram, Y = both(3, kernel=kernel)
    solution = solve_coupled(gram, Y, alpha=0.1, coupling=0.7)
    for ours, dense in zip(solution, twin.solve(), strict=True):
        np.testing.assert_allclose(ours, dense, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_no_coupling_and_no_overlap_is_ridge_on_each_subset(q):
    """(K'K + alpha I) a = K'y, which for a symmetric K is ridge in feature space."""
    X, Y, subsets, Xc = data(q)
    gram = GramBlocks(RBF, X, subsets, Xc, Layout(q, overlap=False))
    solution = solve_coupled(gram, Y, alpha=0.1, coupling=0.0)
    for a, rows in zip(solution, subsets, strict=True):
        K = RBF(X[rows], X[rows])
        # Ridge with Gram matrix KK' has dual c, and a = K'c.
        ridge = KernelRidge(kernel="precomputed", alpha=0.1).fit(K @ K.T, Y[rows])
        np.testing.assert_allclose(a, K.T @ ridge.dual_coef_, rtol=1e-8, atol=1e-10)


@TOPOLOGIES
def test_strong_coupling_makes_members_agree_on_the_coupling_points(topology):
    X, Y, subsets, _ = data(4)
    Xc = X[[0, 3]]
    gaps = []
    for nu in (0.0, 1.0, 1e3, 1e6):
        gram = GramBlocks(RBF, X, subsets, Xc, Layout(4, topology))
        solution = solve_coupled(gram, Y, alpha=0.1, coupling=nu)
        outputs = np.stack(
            [RBF(Xc, X[gram.support_rows(j)]) @ a for j, a in enumerate(solution)]
        )
        gaps.append(np.ptp(outputs, axis=0).max())
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[3] < 1e-4 * gaps[0]


@pytest.mark.parametrize("q", [3, 7])
def test_a_chain_is_a_ring_without_its_last_coupling(q):
    """Matrices are equal but for the blocks of the last and the first submodel."""
    ring, chain = (both(q, topology=t)[0] for t in ("ring", "chain"))
    gap = ring.matrix - chain.matrix
    first, last = ring.at[0], ring.at[-1]
    n_c = 6
    assert len(ring.E) == len(chain.E) + n_c
    touched = np.zeros_like(gap, dtype=bool)
    for i in (first, last):
        for k in (first, last):
            touched[i, k] = True
    assert np.abs(gap[~touched]).max() < 1e-14
    assert np.abs(gap[last, first]).max() > 1e-3


def test_one_and_two_members_have_no_ring():
    for q in (1, 2):
        results = [
            solve_coupled(both(q, topology=t)[1], data(q)[1], alpha=0.1, coupling=2.0)
            for t in ("ring", "chain")
        ]
        for a, b in zip(results[0], results[1], strict=True):
            np.testing.assert_array_equal(a, b)


def test_targets_are_solved_as_if_alone():
    _, gram, Y = both(5)
    together = solve_coupled(gram, Y, alpha=0.1, coupling=0.7)
    alone = solve_coupled(gram, Y[:, 1:], alpha=0.1, coupling=0.7)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a[:, 1:], b, rtol=1e-10)


@pytest.mark.parametrize(("q", "topology"), [(2, "ring"), (5, "ring"), (5, "chain")])
def test_negative_coupling_up_to_its_limit(topology, q):
    limit = both(q, topology=topology)[0].limit()
    twin, gram, Y = both(q, topology=topology, nu=0.9 * limit)
    solution = solve_coupled(gram, Y, alpha=0.1, coupling=0.9 * limit)
    for ours, dense in zip(solution, twin.solve(), strict=True):
        np.testing.assert_allclose(ours, dense, rtol=1e-7, atol=1e-9)
    with pytest.raises(NotPositiveDefiniteError, match="must be greater than") as error:
        solve_coupled(gram, Y, alpha=0.1, coupling=1.1 * limit)
    stated = float(str(error.value).rsplit(" ", 1)[1].rstrip("."))
    np.testing.assert_allclose(stated, limit, rtol=1e-4)


def eigen_couplings(twin):
    """The couplings at which the system is singular, from the limit downwards."""
    H = twin.D.T @ twin.D + twin.alpha * np.eye(twin.D.shape[1])
    values = eigh(twin.E.T @ twin.E, H, eigvals_only=True)
    return -1.0 / values[values > 1e-6][::-1]


@pytest.mark.parametrize(
    ("q", "topology"), [(2, "ring"), (3, "ring"), (6, "ring"), (7, "chain")]
)
def test_beyond_the_limit_the_equations_are_solved_on_request(q, topology):
    singular = eigen_couplings(both(q, topology=topology)[0])
    between = np.sqrt(singular[:-1] * singular[1:])[::5]
    for nu in (*-between, -1.0, -10.0, -1000.0):
        twin, gram, Y = both(q, topology=topology, nu=nu)
        options = {"alpha": 0.1, "coupling": nu, "allow_indefinite": True}
        with pytest.warns(UserWarning, match="not a minimiser") as caught:
            solution = solve_coupled(gram, Y, **options)
        assert len(caught) == 1
        stated = str(caught[0].message).split("above ")[1].split(". ")[0]
        np.testing.assert_allclose(float(stated), singular[0], rtol=1e-4)
        a, condition = np.concatenate(solution), np.linalg.cond(twin.matrix)
        dense = np.concatenate(twin.solve())
        atol = 1e-14 * condition * np.abs(dense).max()
        np.testing.assert_allclose(a, dense, rtol=0, atol=atol)
        # Stationary, and there are ways down from it.
        slope = np.abs(twin.gradient(a)).max()
        assert slope < 1e-12 * np.abs(twin.matrix).max() * np.abs(a).max() * len(a)
        down = np.linalg.eigh(twin.matrix)[1][:, :1]
        step = down * np.abs(a).max()
        assert twin.objective(a + step) < twin.objective(a)


def test_where_there_is_a_minimum_the_option_changes_nothing():
    limit = both(5)[0].limit()
    _, gram, Y = both(5)
    for nu in (0.9 * limit, 0.0, 1.0):
        plain = solve_coupled(gram, Y, alpha=0.1, coupling=nu)
        allowed = solve_coupled(gram, Y, alpha=0.1, coupling=nu, allow_indefinite=True)
        for a, b in zip(plain, allowed, strict=True):
            np.testing.assert_array_equal(a, b)


@TOPOLOGIES
def test_near_an_eigenvalue_the_condition_is_told_or_refused(topology):
    twin, gram, Y = both(5, topology=topology)
    nu = eigen_couplings(twin)[3]
    options = {"alpha": 0.1, "allow_indefinite": True}
    with pytest.warns(UserWarning, match=r"condition \d\.\de\+0[789]"):
        solve_coupled(gram, Y, coupling=nu * (1 + 1e-7), **options)
    with pytest.raises(np.linalg.LinAlgError, match=r"singular.*eigenvalue"):
        solve_coupled(gram, Y, coupling=nu, **options)


def test_a_ridge_too_small_for_double_precision_outputs_so():
    _, gram, Y = both(3)
    with pytest.raises(NotPositiveDefiniteError, match="Give a larger alpha"):
        solve_coupled(gram, Y, alpha=1e-22, coupling=1.0)


@pytest.mark.parametrize(
    ("alpha", "nu", "advice"),
    [
        (1.0, 1e16, "Give a smaller coupling"),
        (1e-16, 1.0, "Give a larger alpha"),
    ],
)
def test_the_error_names_the_parameter_to_change(alpha, nu, advice):
    X = np.ones((40, 2))
    X[:20] = 0.0
    model = CoupledKernelRegressor(4, alpha=alpha, coupling=nu, random_state=0)
    with pytest.raises(np.linalg.LinAlgError, match=advice):
        model.fit(X, X[:, 0])
