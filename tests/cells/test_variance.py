import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from committee.cells import CellOptions, train_cells
from tests.reference.cells import joint_posterior


def square(X, Z):
    """A kernel that is not of the distance."""
    return (0.3 * X @ Z.T + 1.0) ** 2


def problem(rng, n):
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(n, 1))


def test_one_cell_has_the_std_of_a_gaussian_process(rng):
    X, Y = problem(rng, 80)
    training = train_cells(X, Y, None, CellOptions(80, "rbf", 0.5, 0.05))
    scale = training.variance.scale[0]
    twin = GaussianProcessRegressor(
        ConstantKernel(scale) * RBF(1.0), alpha=0.05 * scale, optimizer=None
    ).fit(X, Y[:, 0] - Y.mean())
    X_new = rng.normal(size=(30, 2))
    _, std = twin.predict(X_new, return_std=True)
    ours = training.variance.std(training.model, X_new)[:, 0]
    np.testing.assert_allclose(ours, std, rtol=1e-8)
    np.testing.assert_allclose(training.variance.noise, 0.05 * scale)


def test_the_scale_is_the_likeliest(rng):
    X, Y = problem(rng, 60)
    scale = train_cells(X, Y, None, CellOptions(60, "rbf", 0.5, 0.05)).variance.scale[0]

    def likelihood(c):
        model = GaussianProcessRegressor(
            ConstantKernel(c) * RBF(1.0), alpha=0.05 * c, optimizer=None
        )
        return model.fit(X, Y[:, 0] - Y.mean()).log_marginal_likelihood_value_

    assert likelihood(scale) > max(likelihood(0.9 * scale), likelihood(1.1 * scale))


def test_two_coupled_cells_have_the_std_of_a_dense_solution(rng):
    X, Y = problem(rng, 80)
    options = CellOptions(
        40, "rbf", 0.5, 0.05, (2.0,), n_coupling=6, precision="double"
    )
    training = train_cells(X, Y, None, options)
    model, variance = training.model, training.variance
    parts = [(X[rows], Y[rows]) for rows in training.cells]
    posterior = joint_posterior(model.kernel, parts, training.borders, 0.05, 2.0)
    X_new = 2 * rng.normal(size=(40, 2))
    rows, cells, g = model.tree.shares(X_new, model.width)
    s = np.zeros(40)
    for n, c, w in zip(rows, cells, g, strict=True):
        s[n] += w * np.sqrt(posterior(c, X_new[n : n + 1])[1][0, 0])
    ours = variance.std(model, X_new)[:, 0] / np.sqrt(variance.scale[0])
    np.testing.assert_allclose(ours, s, atol=1e-8)


@pytest.mark.parametrize("kernel", ["matern32", square])
def test_it_grows_away_from_the_rows_and_ignores_threads(kernel, rng):
    X, Y = problem(rng, 200)
    training = train_cells(X, Y, None, CellOptions(60, kernel, 0.5, 0.05, (1.0,)))
    std = training.variance.std
    assert std(training.model, X + 8).min() > 2 * std(training.model, X).max()
    np.testing.assert_array_equal(std(training.model, X), std(training.model, X, 2))
