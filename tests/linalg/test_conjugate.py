import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from committee.linalg import conjugate_gradient, largest_eigenvalue


@pytest.mark.parametrize("preconditioned", [False, True])
def test_it_solves_many_right_hand_sides_at_once(preconditioned, rng):
    R = rng.normal(size=(30, 30))
    A = R @ R.T + np.diag(np.linspace(1, 1000, 30))
    b = np.c_[rng.normal(size=(30, 2)), np.zeros(30)]
    d = np.diag(A)[:, None] if preconditioned else 1.0
    x, n_iter, residual = conjugate_gradient(
        lambda v: A @ v, b, lambda r: r / d, tol=1e-12, max_iter=200
    )
    np.testing.assert_allclose(x, np.linalg.solve(A, b), atol=1e-12)
    assert residual <= 1e-12
    assert n_iter < 200


def test_it_stops_at_max_iter_and_tells_the_residual(rng):
    A, b = np.diag(np.arange(1.0, 21)), np.ones((20, 1))
    with pytest.warns(ConvergenceWarning, match="after 3 iterations .* raise it"):
        x, n_iter, residual = conjugate_gradient(
            lambda v: A @ v,
            b,
            lambda r: r,
            tol=1e-12,
            max_iter=3,
            advice="Or: raise it",
        )
    assert n_iter == 3
    assert residual == pytest.approx(np.linalg.norm(A @ x - b) / np.sqrt(20))


def test_without_a_preconditioner_it_takes_a_step_for_each_eigenvalue():
    A = np.diag([1.0, 2.0, 2.0, 5.0])
    x, n_iter, residual = conjugate_gradient(
        lambda v: A @ v, np.ones((4, 1)), lambda r: r, tol=1e-12, max_iter=10
    )
    assert n_iter == 3
    assert residual <= 1e-12
    np.testing.assert_allclose(x[:, 0], [1.0, 0.5, 0.5, 0.2], rtol=1e-12)


def test_the_largest_eigenvalue(rng):
    for n in (1, 2, 3, 30):
        A = rng.normal(size=(n, n))
        A = A @ A.T
        largest = largest_eigenvalue(lambda v, A=A: A @ v, n)
        assert largest == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-8)
    assert largest_eigenvalue(lambda v: 0 * v, 5) == 0.0
