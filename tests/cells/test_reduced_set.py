import numpy as np
import pytest

from committee import CellKernelClassifier, CellKernelRegressor, load, save
from committee.cells import CellOptions, train_cells
from committee.cells.reduced_set import TOLERANCE, reduced_set
from committee.kernels import Kernel


def smooth(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=n)


def test_the_function_of_few_points_is_the_same_between_rows():
    X, y = smooth(2000, 0)
    options = {"kernel": "rbf", "gamma": 0.3, "alpha": 0.01, "couplings": (1.0,)}
    few = train_cells(X, y[:, None], None, CellOptions(400, **options))
    all_ = train_cells(
        X, y[:, None], None, CellOptions(400, precision="double", **options)
    )
    assert len(few.model.points) < len(all_.model.points) / 3
    new, _ = smooth(2000, 1)
    moved = few.model.predict(new) - all_.model.predict(new)
    # Single precision moves them too, by a thousandth of the targets' spread.
    allowed = TOLERANCE * np.sqrt(all_.errors[1.0]) + 1e-3 * y.std()
    assert np.sqrt(np.mean(moved**2)) < allowed


def test_a_rough_function_keeps_its_points():
    x = np.random.default_rng(0).uniform(size=(200, 2))
    f = np.random.default_rng(1).normal(size=(200, 1))
    assert reduced_set(Kernel("exponential", 1.0), x, f, 200, np.array([0.05])) is None


def test_the_worst_target_decides():
    x = np.linspace(0, 1, 160)[:, None]
    easy, hard = np.sin(x), np.sin(20 * x)
    sizes = [
        len(reduced_set(Kernel("rbf", 20.0), x, f, 160, np.full(f.shape[1], 0.03))[0])
        for f in (easy, hard, np.hstack([easy, hard]))
    ]
    assert sizes[0] < sizes[1] == sizes[2]


def test_points_that_coincide_do_no_harm():
    x = np.repeat(np.linspace(0, 1, 40), 5)[:, None]
    U, b = reduced_set(Kernel("rbf", 2.0), x, np.sin(3 * x), 200, np.array([1e-3]))
    np.testing.assert_allclose(Kernel("rbf", 2.0)(x, U) @ b, np.sin(3 * x), atol=0.01)


def test_double_precision_keeps_all_points():
    X, y = smooth(500, 0)
    model = CellKernelRegressor(max_cell=300, precision="double")
    assert model.fit(X, y).cells_.n_rows.sum() == 500


@pytest.mark.parametrize("kind", [CellKernelRegressor, CellKernelClassifier])
def test_files_hold_both_the_few_points_and_what_variances_need(kind, tmp_path):
    X, y = smooth(900, 0)
    regression = kind is CellKernelRegressor
    model = kind(max_cell=300).fit(X, y if regression else y > 0)
    save(model, tmp_path / "m.skops")
    loaded = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if regression:
        assert len(model.cells_.points) < 450
        wanted = model.predict(X[:50], return_std=True)[1]
        np.testing.assert_array_equal(
            loaded.predict(X[:50], return_std=True)[1], wanted
        )


def test_units_of_the_targets_change_no_point():
    X, y = smooth(900, 0)
    options = CellOptions(300, kernel="rbf", gamma=0.3, alpha=0.01, couplings=(1.0,))
    one, other = (
        train_cells(X, unit * y[:, None], None, options).model for unit in (1.0, 1024.0)
    )
    assert one.n_rows.sum() < 600
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(1024.0 * one.coef, other.coef)
