import numpy as np
import pytest

from committee.cells import CellOptions, solve_cell
from committee.cells.choose import learn_metric, mean_outer_gradients
from committee.kernels import Kernel


@pytest.mark.parametrize("name", ["rbf", "exponential", "matern32", "matern52"])
def test_gradients_are_those_of_differences(name, rng):
    X, Y, s = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), rng.uniform(1, 2, 30)
    kernel, h = Kernel(name, 0.4), 1e-6
    coef = solve_cell(kernel, X, Y, np.full(30, 0.1), precision="double").coef
    # A row's own kernel has a kink in "exponential": its slope counts as zero.
    others = 1.0 - np.eye(30)
    steps = [
        ((kernel(X + h * e, X) - kernel(X - h * e, X)) * others) @ coef / (2 * h)
        for e in np.eye(3)
    ]
    G = np.stack(steps, axis=2)  # (n, T, d)
    M = np.einsum("n,ntd,nte->de", s, G, G) / (2 * s.sum())
    np.testing.assert_allclose(mean_outer_gradients(kernel, X, coef, s), M, rtol=1e-5)


def test_directions_that_do_not_matter_are_found(rng):
    X = rng.normal(size=(800, 6))
    Y = np.sin(X[:, :1] + X[:, 1:2]) + 0.1 * rng.normal(size=(800, 1))
    R = learn_metric(X, Y, None, CellOptions(500))
    M = R @ R.T
    np.testing.assert_allclose(M[:2, :2], 1.0, atol=0.1)
    assert np.abs(M[2:, 2:]).max() < 0.05


def test_noise_has_no_metric(rng):
    X, Y = rng.normal(size=(300, 3)), np.zeros((300, 1))
    assert learn_metric(X, Y, None, CellOptions(500)) is None


def test_a_kernel_of_other_distances_is_refused(rng):
    X = rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match="distance-based kernel"):
        learn_metric(X, X[:, :1], None, CellOptions(500, kernel="linear"))
