import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from committee.coupled.system import CoupledOperator, solve_cg
from tests.coupled.test_system import both


@pytest.mark.parametrize("topology", ["ring", "chain"])
@pytest.mark.parametrize("overlap", [True, False])
def test_products_are_those_of_the_dense_matrix(topology, overlap, rng):
    for q in (1, 2, 3, 7):
        twin, gram, _ = both(q, topology=topology, overlap=overlap)
        A = CoupledOperator(gram, 0.1, 0.7)
        v = rng.normal(size=(A.size, 3))
        np.testing.assert_allclose(A(v), twin.matrix @ v, rtol=1e-10, atol=1e-12)


def test_reports_iterations_and_residual():
    _, gram, Y = both(7, nu=5.0)
    coef, n_iter, converged, residual = solve_cg(
        gram, Y, 0.1, 5.0, tol=1e-9, max_iter=1000
    )
    assert converged
    assert 1 < n_iter < 1000
    assert 0 < residual <= 1e-9
    assert [len(a) for a in coef] == [len(gram.support_rows(j)) for j in range(7)]


def test_stopping_early_is_said_once():
    _, gram, Y = both(7, nu=50.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .* raise max_iter") as log:
        *_, converged, residual = solve_cg(gram, Y, 0.1, 50.0, tol=1e-9, max_iter=2)
    assert len(log) == 1
    assert not converged
    assert residual > 1e-9


def test_targets_of_zero_have_coefficients_of_zero():
    _, gram, Y = both(5)
    Y = np.column_stack([0 * Y[:, 0], Y[:, 1]])
    coef, *_ = solve_cg(gram, Y, 0.1, 1.0, tol=1e-12, max_iter=100)
    assert all(np.all(a[:, 0] == 0) and np.any(a[:, 1] != 0) for a in coef)
    coef, n_iter, converged, residual = solve_cg(
        gram, 0 * Y, 0.1, 1.0, tol=1e-12, max_iter=100
    )
    assert (n_iter, converged, residual) == (1, True, 0.0)


@pytest.mark.parametrize("q", [2, 3, 7])
@pytest.mark.parametrize("alpha", [0.1, 1e-9])
def test_the_limit_is_where_the_matrix_becomes_singular(q, alpha):
    twin, gram, _ = both(q, alpha=alpha)
    limit = CoupledOperator(gram, alpha, -1.0).coupling_limit()
    np.testing.assert_allclose(limit, twin.limit(), rtol=1e-6)


def test_the_limit_goes_with_a_small_ridge():
    """Where the data are no evidence only alpha holds against the coupling."""
    _, gram, _ = both(5)
    limits = [CoupledOperator(gram, a, -1.0).coupling_limit() for a in (1e-9, 1e-14)]
    np.testing.assert_allclose(limits[1], 1e-5 * limits[0], rtol=1e-6)
