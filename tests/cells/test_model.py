import numpy as np
import pytest

from committee.cells import CellOptions, train_cells
from committee.cells.model import over_cells


@pytest.fixture
def training(rng):
    X = rng.normal(size=(300, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(300, 1))
    return train_cells(X, Y, None, CellOptions(50, "rbf", 0.5, 0.1, couplings=(1.0,)))


def test_a_row_is_the_weighted_sum_of_its_cells(training, rng):
    model, X = training.model, rng.normal(size=(40, 2))
    f = np.tile(model.offset, (40, 1))
    for n in range(40):
        _, cells, weights = model.tree.shares(X[n : n + 1], model.width)
        for c, w in zip(cells, weights, strict=True):
            f[n] += w * model.cell_values(c, X[n : n + 1])[0]
    np.testing.assert_allclose(model.predict(X), f, atol=1e-10)


def test_threads_change_nothing(training, rng):
    X = rng.normal(size=(200, 2))
    np.testing.assert_array_equal(
        training.model.predict(X), training.model.predict(X, 2)
    )


def test_no_more_cells_are_asked_than_have_a_share(training, rng):
    model, X = training.model, rng.normal(size=(1, 2))
    shares = model.tree.shares(X, model.width)
    asked = [w for _, w, _ in over_cells(model.cell_values, X, shares, None)]
    assert 0 < len(asked) < model.n_cells
    assert np.sum(asked) == pytest.approx(1.0)


def test_no_rows_have_no_predictions(training):
    assert training.model.predict(np.empty((0, 2))).shape == (0, 1)
