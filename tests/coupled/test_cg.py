import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from committee.coupled.system import CoupledOperator, solve_coupled_cg
from committee.linalg import NotPositiveDefiniteError
from tests.coupled.test_system import both


@pytest.mark.parametrize("topology", ["ring", "chain"])
@pytest.mark.parametrize("overlap", [True, False])
def test_products_are_those_of_the_dense_matrix(topology, overlap, rng):
    for q in (1, 2, 3, 7):
        twin, gram, _ = both(q, topology=topology, overlap=overlap)
        v = rng.normal(size=(len(twin.matrix), 3))
        product = CoupledOperator(gram, 0.1, 0.7)(v)
        np.testing.assert_allclose(product, twin.matrix @ v, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3, 7])
@pytest.mark.parametrize("topology", ["ring", "chain"])
def test_equals_the_dense_solution(q, topology):
    limit = both(q, topology=topology)[0].limit() if q > 1 else -1.0
    for nu in (0.9 * limit, 0.0, 0.7, 100.0):
        twin, gram, Y = both(q, topology=topology, nu=nu)
        coef, n_iter, converged = solve_coupled_cg(
            gram, Y, alpha=0.1, coupling=nu, tol=1e-13, max_iter=10_000
        )
        assert converged
        assert n_iter >= 1
        for ours, dense in zip(coef, twin.solve(), strict=True):
            np.testing.assert_allclose(ours, dense, rtol=1e-7, atol=1e-9)


def test_below_the_limit_it_refuses():
    twin, gram, Y = both(5)
    limit = twin.limit()
    with pytest.raises(NotPositiveDefiniteError, match="must be greater than") as error:
        solve_coupled_cg(
            gram, Y, alpha=0.1, coupling=1.1 * limit, tol=1e-9, max_iter=99
        )
    stated, advice = str(error.value).split("greater than ")[1].split(". ")
    np.testing.assert_allclose(float(stated), limit, rtol=1e-4)
    assert 'solver="direct"' in advice


def test_stopping_early_is_said_once():
    _, gram, Y = both(7, nu=50.0)
    options = {"alpha": 0.1, "coupling": 50.0, "tol": 1e-9, "max_iter": 2}
    said = "after 2 iterations at a relative residual of .*, above 1e-09. Increase max_iter"
    with pytest.warns(ConvergenceWarning, match=said) as log:
        _, n_iter, converged = solve_coupled_cg(gram, Y, **options)
    assert len(log) == 1
    assert not converged
    assert n_iter == 2


def test_targets_of_zero_have_coefficients_of_zero():
    _, gram, Y = both(5)
    options = {"alpha": 0.1, "coupling": 1.0, "tol": 1e-12, "max_iter": 100}
    Y = np.column_stack([0 * Y[:, 0], Y[:, 1]])
    coef, *_ = solve_coupled_cg(gram, Y, **options)
    assert all(np.all(a[:, 0] == 0) and np.any(a[:, 1] != 0) for a in coef)
    assert solve_coupled_cg(gram, 0 * Y, **options)[1:] == (1, True)
