import numpy as np
import pytest

from committee import CoupledKernelClassifier, CoupledKernelRegressor
from committee.coupled import search_coupled


def test_errors_are_those_of_fits_with_the_candidates(rng):
    X = rng.normal(size=(300, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=300)
    model = CoupledKernelRegressor(subsets="cells", max_cell=100, kernel="matern32")
    found = search_coupled(
        model, X, y, gammas=[0.3, 1.0], alphas=[0.01, 1.0], couplings=[0.0, 1.0]
    )
    assert found.error.shape == (8,)
    for i in (1, 6):
        model.set_params(
            gamma=found.gamma[i], alpha=found.alpha[i], coupling=found.coupling[i]
        )
        assert model.fit(X, y).loo_error_ == pytest.approx(found.error[i], rel=1e-6)
    assert found.estimator.get_params()["gamma"] == found.best_params["gamma"]
    assert found.estimator.fit(X, y).loo_error_ == pytest.approx(found.best_error)


def test_classes_and_the_default_grid_around_the_median_distance(rng):
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = CoupledKernelClassifier(subsets="cells", max_cell=100)
    found = search_coupled(model, X, y, alphas=[0.1], couplings=[0.0, 1.0])
    assert found.error.shape == (10,)
    assert found.estimator.fit(X, y).score(X, y) > 0.95


def test_one_cell_has_the_same_error_at_every_coupling(rng):
    X = rng.normal(size=(50, 2))
    model = CoupledKernelRegressor(subsets="cells")
    found = search_coupled(model, X, X[:, 0], alphas=[0.1], couplings=[0.0, 1.0])
    np.testing.assert_array_equal(found.error[::2], found.error[1::2])


def test_a_hopeless_grid_is_told_of(rng):
    X = rng.normal(size=(50, 2))
    model = CoupledKernelRegressor(subsets="cells", kernel=lambda A, B: -A @ B.T)
    with pytest.raises(ValueError, match="raise alphas"):
        search_coupled(model, X, X[:, 0], alphas=[0.1], couplings=[0.0])
