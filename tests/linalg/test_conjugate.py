import numpy as np
import pytest

from committee.linalg import conjugate_gradient


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
    x, n_iter, residual = conjugate_gradient(
        lambda v: A @ v, b, lambda r: r, tol=1e-12, max_iter=3
    )
    assert n_iter == 3
    assert residual == pytest.approx(np.linalg.norm(A @ x - b) / np.sqrt(20))
