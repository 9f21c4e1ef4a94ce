"""Leaf values against dense normal equations."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from committee.refining.leaf_values import Squares, leaf_incidence, refit


@pytest.fixture
def parts():
    """Two parts of 40 and 25 rows, 3 trees of 5 leaves, 2 targets, weighted."""
    rng = np.random.default_rng(0)
    made = []
    for N in (40, 25):
        leaves = rng.integers(5, size=(N, 3)) + 5 * np.arange(3)
        Z, weight = leaf_incidence(leaves, 15), rng.random((N, 2))
        made.append(Squares(Z, rng.normal(size=(N, 2)), weight))
    return made


@pytest.mark.parametrize("ridge", [0.1, 30.0])
def test_the_solution_is_that_of_the_dense_normal_equations(parts, ridge):
    start = np.random.default_rng(1).normal(size=(15, 2))
    expected = np.empty((15, 2))
    for t in range(2):  # each column has its own weights
        A, b = ridge * np.eye(15), ridge * start[:, t]
        for Z, y, s in parts:
            A = A + Z.toarray().T @ (s[:, t, None] * Z.toarray())
            b = b + Z.toarray().T @ (s[:, t] * y[:, t])
        expected[:, t] = np.linalg.solve(A, b)
    found = refit(parts, ridge, start, tol=1e-12)
    # The residual is 1e-12 of the right-hand side; A's condition is below 1e3.
    np.testing.assert_allclose(found, expected, atol=1e-8)
    again = refit(parts, ridge, start, found + 0.1, tol=1e-12)
    np.testing.assert_allclose(again, expected, atol=1e-8)


def test_an_infinite_ridge_changes_nothing(parts):
    start = np.random.default_rng(1).random((15, 2))
    assert np.array_equal(refit(parts, np.inf, start), start)


def test_weights_are_numbers_of_rows():
    rng = np.random.default_rng(3)
    Z = leaf_incidence(rng.integers(4, size=(20, 1)), 4)
    y, n = rng.normal(size=(20, 1)), rng.integers(3, size=20)
    weighted = refit([Squares(Z, y, n.astype(float))], 2.0, np.zeros((4, 1)), tol=1e-12)
    more = csr_array(np.repeat(Z.toarray(), n, axis=0))
    repeated = Squares(more, np.repeat(y, n, axis=0), np.ones(n.sum()))
    np.testing.assert_allclose(
        weighted, refit([repeated], 2.0, np.zeros((4, 1)), tol=1e-12), atol=1e-10
    )
