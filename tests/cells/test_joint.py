import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from committee.cells import JointSystem, border_points, grow_tree, solve_cell
from committee.cells.joint import coupled_coef
from committee.kernels import Kernel
from committee.linalg import NotPositiveDefiniteError
from tests.reference.cells import joint_posterior

KERNEL, ALPHA = Kernel("matern52", 0.7), 0.05


def solved(rng, n_cells, per_cell=5):
    X = rng.normal(size=(40 * n_cells, 2))
    Y = np.c_[np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]] + 0.1 * rng.normal(size=X.shape)
    tree, cells = grow_tree(X, 40)
    borders = border_points(tree, X, cells, per_cell)
    fits = [
        solve_cell(
            KERNEL, X[rows], Y[rows], np.full(len(rows), ALPHA),
            border_points=borders.points[borders.of_cell(c)[0]],
            precision="double", leave_one_out=True,
        )
        for c, rows in enumerate(cells)
    ]  # fmt: skip
    parts = [(X[rows], Y[rows]) for rows in cells]
    return parts, borders, fits, JointSystem(borders, [f.border for f in fits], ALPHA)


def values(parts, borders, fits, system, solution, c, points):
    numbers, sign = system.of_cell[c]
    coef = coupled_coef(fits[c].coef, fits[c].border, sign, solution.tension[numbers])
    return KERNEL(points, np.vstack([parts[c][0], borders.points[numbers]])) @ coef


@pytest.mark.parametrize("n_cells", [2, 8])
@pytest.mark.parametrize("nu", [0.1, 10.0])
def test_cells_are_coupled_as_by_a_dense_solution_of_all(n_cells, nu, rng):
    parts, borders, fits, system = solved(rng, n_cells)
    solution = system.solve(nu, tol=1e-13)
    posterior = joint_posterior(KERNEL, parts, borders, ALPHA, nu)
    points = rng.normal(size=(20, 2))
    for c in range(n_cells):
        f = values(parts, borders, fits, system, solution, c, points)
        # Conditions of 1e4 on either side.
        np.testing.assert_allclose(f, posterior(c, points)[0], atol=1e-9)


def test_a_negative_coupling_is_solved_down_to_its_limit(rng):
    parts, borders, fits, system = solved(rng, 4)
    limit = system.limit()
    nu = 0.9 * limit
    solution = system.solve(nu, tol=1e-13)
    mean, _ = joint_posterior(KERNEL, parts, borders, ALPHA, nu)(1, parts[0][0])
    f = values(parts, borders, fits, system, solution, 1, parts[0][0])
    np.testing.assert_allclose(f, mean, atol=1e-8)
    with pytest.raises(NotPositiveDefiniteError, match=f"above {limit:.6g}"):
        system.solve(1.01 * limit)


def test_a_strong_coupling_closes_the_borders(rng):
    parts, borders, fits, system = solved(rng, 8)
    jump = {}
    for nu in (0.0, 100.0):
        solution = system.solve(nu)
        both = [
            [
                values(
                    parts, borders, fits, system, solution, c, borders.points[p : p + 1]
                )
                for c in (borders.owner[p], borders.other[p])
            ]
            for p in range(len(borders.owner))
        ]
        jump[nu] = np.sqrt(np.mean((np.array(both)[:, 0] - np.array(both)[:, 1]) ** 2))
    assert jump[100.0] < jump[0.0] / 10


def test_precision_is_exact_for_two_cells_and_never_too_small_for_more(rng):
    for n_cells in (2, 8):
        parts, borders, fits, system = solved(rng, n_cells)
        X, _ = parts[0]
        posterior = joint_posterior(KERNEL, parts, borders, ALPHA, 2.0)
        G, Q = system.precision(0, 2.0), fits[0].border.response
        # V(x_n, x_n) = alpha - alpha^2 (A^-1)_nn, V(x_n, B) = alpha Q_n
        V = ALPHA - ALPHA**2 * fits[0].inverse_diagonal
        V -= ALPHA**2 * np.einsum("nb,nb->n", Q @ G, Q)
        exact = np.diag(posterior(0, X)[1])
        if n_cells == 2:
            np.testing.assert_allclose(V, exact, atol=1e-10)
        else:
            assert np.all(exact - 1e-10 < V)


def test_too_few_iterations_are_told_of(rng):
    system = solved(rng, 8)[-1]
    with pytest.warns(ConvergenceWarning, match="Lower the coupling"):
        solution = system.solve(10.0, max_iter=1)
    assert not solution.converged


def test_without_coupling_nothing_pulls(rng):
    system = solved(rng, 2)[-1]
    assert not system.solve(0.0).tension.any()
