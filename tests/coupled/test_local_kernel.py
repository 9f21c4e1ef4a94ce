import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from committee import CellKernelClassifier, CellKernelRegressor, load, save


def surface(n, seed):
    """Rows that are dense on the left, and noise that is not."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(1.0, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    return CellKernelRegressor(max_cell=150).fit(*surface(1000, 0))


def test_one_cell_is_a_gaussian_process():
    X, y = surface(100, 1)
    model = CellKernelRegressor(
        kernel="matern52", gamma=0.5, alpha=0.1, precision="double"
    ).fit(X, y)
    c = model.noise_ / 0.1
    twin = GaussianProcessRegressor(
        ConstantKernel(c) * Matern(2.0, nu=2.5), alpha=model.noise_, optimizer=None
    ).fit(X, y - y.mean())
    f, std = model.predict(X, return_std=True)
    g, twin_std = twin.predict(X, return_std=True)
    np.testing.assert_allclose(f, g + y.mean(), atol=1e-9)
    np.testing.assert_allclose(std, twin_std, rtol=1e-7)


def test_the_noise_is_found(fitted):
    assert np.sqrt(fitted.noise_) == pytest.approx(0.2, rel=0.15)


@pytest.mark.parametrize("method", ["scaled", "constant"])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_promise(fitted, method, coverage):
    X, y = surface(4000, 2)
    low, high = fitted.predict_interval(X, coverage, method=method).T
    inside = np.mean((low <= y) & (y <= high))
    # 1,000 residuals and 4,000 rows: a standard deviation of 1.8 points at one half.
    assert inside == pytest.approx(coverage, abs=0.05)


def test_scaled_intervals_are_wider_where_rows_are_rare(fitted):
    low, high = fitted.predict_interval([[0.5, 0.5], [6.0, 6.0]]).T
    assert high[1] - low[1] > 1.5 * (high[0] - low[0])


def test_files_and_dask_have_the_same_intervals(fitted, tmp_path):
    X, _ = surface(30, 3)
    wanted = fitted.predict_interval(X)
    save(fitted, tmp_path / "cells.skops")
    again = load(tmp_path / "cells.skops")
    np.testing.assert_array_equal(again.predict_interval(X), wanted)
    lazy = fitted.predict_interval(da.from_array(X, chunks=10))
    np.testing.assert_allclose(lazy.compute(), wanted, rtol=1e-9)


def test_sets_of_classes_cover_what_they_promise():
    X, y = make_moons(3000, noise=0.4, random_state=0)
    model = CellKernelClassifier(max_cell=300).fit(X[:1500], y[:1500])
    sets = model.predict_set(X[1500:], 0.9)
    assert np.mean(sets[np.arange(1500), y[1500:]]) == pytest.approx(0.9, abs=0.03)


def test_several_targets_have_several_deviations():
    X, y = surface(100, 4)
    model = CellKernelRegressor(gamma=1.0, alpha=0.1)
    model.fit(X, np.c_[y, 3 * y])
    _, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std[:, 1], 3 * std[:, 0])
    with pytest.raises(ValueError, match="single target"):
        model.predict_interval(X)


def test_wrong_questions_are_refused(fitted):
    with pytest.raises(ValueError, match="coverage must be"):
        fitted.predict_interval([[1.0, 1.0]], 1.5)
    with pytest.raises(ValueError, match="method must be one of"):
        fitted.predict_interval([[1.0, 1.0]], method="jackknife+")
