import numpy as np
import pytest

from committee.cells import CellOptions, train_cells

OPTIONS = {"kernel": "rbf", "gamma": 0.5, "alpha": 0.1, "precision": "double"}


def problem(rng, n=90):
    X = rng.normal(size=(n, 2))
    return X, np.c_[np.sin(X[:, 0]), X[:, 0] * X[:, 1]] + 0.1 * rng.normal(size=(n, 2))


def left_out_by_brute_force(training, X, Y, n):
    """Refit the cell of row n without it; all else stays."""
    model, alpha = training.model, training.alpha
    (c,) = (i for i, rows in enumerate(training.cells) if n in rows)
    rest = training.cells[c][training.cells[c] != n]
    K = model.kernel(X[rest], X[rest]) + alpha * np.eye(len(rest))
    a = np.linalg.solve(K, Y[rest] - model.offset)
    own = model.kernel(X[n : n + 1], X[rest]) @ a
    _rows, cells, weights = model.tree.shares(X[n : n + 1], model.width)
    f = model.offset.copy()
    for i, w in zip(cells, weights, strict=True):
        f += w * (own if i == c else model.cell_values(i, X[n : n + 1]))[0]
    return f


@pytest.mark.parametrize("max_cell", [90, 25])
def test_rows_are_predicted_as_by_the_ensemble_without_them(max_cell, rng):
    X, Y = problem(rng)
    training = train_cells(
        X, Y, None, CellOptions(max_cell, couplings=(0.0,), **OPTIONS)
    )
    rows = np.concatenate(training.cells)
    brute = [left_out_by_brute_force(training, X, Y, n) for n in rows]
    np.testing.assert_allclose(training.measured.X, X[rows])
    np.testing.assert_allclose(training.left_out.f, brute, atol=1e-10)


def test_with_coupling_it_is_nearly_that_of_a_fit_without_the_row(rng):
    X, Y = problem(rng, 120)
    options = CellOptions(30, couplings=(1.0,), n_coupling=6, **OPTIONS)
    training = train_cells(X, Y, None, options)
    exact = []
    for n in range(0, 120, 8):
        # A weight of 1e-9 takes the target out and leaves the tree as it is.
        s = np.where(np.arange(120) == n, 1e-9, 1.0)
        exact.append(train_cells(X, Y, s, options).model.predict(X[n : n + 1])[0])
    f = training.left_out.f[np.argsort(np.concatenate(training.cells))][::8]
    # What the other cells know of the row through the borders is left out.
    change = np.linalg.norm(training.model.predict(X[::8]) - exact)
    assert np.linalg.norm(f - exact) < 0.2 * change


def test_the_variance_is_that_of_a_target_given_the_others(rng):
    X, Y = problem(rng, 40)
    training = train_cells(X, Y, None, CellOptions(40, couplings=(0.0,), **OPTIONS))
    k = training.model.kernel
    rest = np.arange(40) != 7
    K = k(X[rest], X[rest]) + 0.1 * np.eye(39)
    cross = k(X[rest], X[7:8])
    V = 1.1 - cross.T @ np.linalg.solve(K, cross)
    assert training.left_out.variance[7] == pytest.approx(V[0, 0], rel=1e-9)
