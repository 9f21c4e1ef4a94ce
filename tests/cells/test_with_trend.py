from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

from committee import CellKernelClassifier, CellKernelRegressor, load, save
from committee.cells import CellOptions, train_cells
from committee.cells.choose import Part
from committee.cells.groups import RowChunks
from committee.cells.train import (
    _factor,
    _halves_error,
    target_errors,
    train_around_trend,
)
from committee.cells.trend import fit_trend
from committee.kernels import Kernel


def everywhere(n, seed):
    """A target that is the same in all regions, below much noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    return X, truth(X) + 2 * rng.normal(size=n)


def truth(X):
    return X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3]


def local(n, seed):
    """One that is another in every region, and hardly any noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(6 * X[:, 0]) * np.cos(6 * X[:, 1]) + 0.05 * rng.normal(size=n)


def in_cells(**options):
    return CellKernelRegressor(max_cell=250, **options)


@pytest.fixture(scope="module")
def fitted():
    return in_cells().fit(*everywhere(2000, 0))


def test_errors_and_factors_by_hand():
    Y, f = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 2.0]])
    assert target_errors(Y, f, np.array([1.0, 3.0])).tolist() == [13 / 4, 3.0]
    assert np.isnan(target_errors(Y[:0], f[:0], np.ones(0))).all()
    # A row that pulls the trend half the way to itself hides half of its residual.
    trend = SimpleNamespace(leverage=lambda X, s: np.array([0.5, 0.2]))
    assert _factor(trend, SimpleNamespace(X=f, s=None)).tolist() == [2.0, 1.25]


def test_the_error_of_half_a_cell_is_that_of_fits_without_each_row():
    """Row by row, in the half that a fixed order puts last; c_n scales residuals."""
    rng = np.random.default_rng(0)
    cell = Part(rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng.random(9) + 0.5)
    factors, kernel, alpha = rng.random(9) + 1.0, Kernel("rbf", 0.5), 0.3
    A = kernel(cell.X, cell.X) + np.diag(alpha / cell.s)
    total = 0.0
    for n in np.random.default_rng(0).permutation(9)[4:]:
        rest = np.arange(9) != n
        a = np.linalg.solve(A[np.ix_(rest, rest)], cell.Y[rest])
        residual = factors[n] * (cell.Y[n] - A[n, rest] @ a)
        total += cell.s[n] * np.mean(residual**2)
    found = _halves_error(kernel, alpha, [cell, cell], [factors, factors])
    assert found == pytest.approx(2 * total)


def test_cells_are_fitted_to_what_the_trend_leaves():
    X, y = everywhere(1200, 0)
    Y, s = y[:, None], np.ones(1200)
    options = CellOptions(250, "matern52", 0.3, 1.0, (1.0,))
    both = train_around_trend(RowChunks.in_memory(X, Y, None), options, trend=True)
    found = fit_trend(X, Y, s)
    t = found.trend
    cells = train_cells(X, Y - t(X), None, options)
    new, _ = everywhere(100, 1)
    np.testing.assert_allclose(
        both.model.predict(new), t(new) + cells.model.predict(new), atol=1e-12
    )
    measured = both.measured
    residual = measured.Y - t(measured.X) - cells.left_out.f
    residual /= (1 - found.leverage(measured.X, measured.s))[:, None]
    np.testing.assert_allclose(measured.Y - both.left_out.f, residual, atol=1e-12)
    assert both.errors[1.0] == pytest.approx(np.mean(residual**2))


def test_leave_one_out_is_that_of_trends_and_cells_fitted_without_the_row():
    """Nearly: the cells could make good a part of what the trend has lost."""
    X, y = everywhere(300, 0)
    options = CellOptions(150, "matern52", 0.3, 1.0, (0.0,), precision="double")
    rows = RowChunks.in_memory(X, y[:, None], None)
    both = train_around_trend(rows, options, trend=True)
    t = both.model.trend
    K, K_U = t.kernel(X, t.points), t.kernel(t.points, t.points)
    # The ridge of the trend, from its normal equations.
    e = y - y.mean() - t(X)[:, 0]
    alpha = (K.T @ e) @ (K_U @ t.coef[:, 0]) / np.sum((K_U @ t.coef) ** 2)
    own = both.model.tree.cell_of(X)
    brute, found = [], []
    left_out = np.empty(300)
    left_out[np.concatenate(both.cells)] = both.left_out.f[:, 0]
    for n in range(0, 300, 10):
        rest = np.arange(300) != n
        centred = y[rest] - y.mean()
        b = np.linalg.solve(K[rest].T @ K[rest] + alpha * K_U, K[rest].T @ centred)
        left = y - y.mean() - K @ b
        mine = rest & (own == own[n])
        A = both.model.kernel(X[mine], X[mine]) + np.eye(mine.sum())
        cell = both.model.kernel(X[n : n + 1], X[mine]) @ np.linalg.solve(A, left[mine])
        brute.append(left[n] - cell[0])
        found.append(y[n] - left_out[n])
    # Cells of the gate that are not the row's own are in one of the two alone.
    assert np.corrcoef(brute, found)[0, 1] > 0.99
    assert np.mean(np.square(found)) == pytest.approx(
        np.mean(np.square(brute)), rel=0.05
    )


def test_leave_one_out_takes_it_where_it_helps(fitted):
    assert fitted.trend_
    without = in_cells(trend=False).fit(*everywhere(2000, 0))
    new, _ = everywhere(4000, 1)
    errors = [np.mean((m.predict(new) - truth(new)) ** 2) for m in (fitted, without)]
    assert errors[0] < 0.8 * errors[1]
    assert not in_cells().fit(*local(2000, 0)).trend_


def test_one_cell_and_few_rows_have_none():
    assert not in_cells(trend=True).fit(*everywhere(200, 0)).trend_
    assert not in_cells().fit(*everywhere(900, 0)).trend_
    assert in_cells(trend=True).fit(*everywhere(900, 0)).trend_
    # A grid of parameters may have booleans of NumPy.
    assert not in_cells(trend=np.False_).fit(*everywhere(2000, 0)).trend_


def test_errors_and_intervals_are_those_of_fresh_rows(fitted):
    new, y = everywhere(4000, 2)
    error = np.mean((fitted.predict(new) - y) ** 2)
    # 2,000 and 4,000 rows: a standard deviation of 4 %.
    assert fitted.loo_error_ == pytest.approx(error, rel=0.08)
    low, high = fitted.predict_interval(new, 0.9).T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.03)


def test_far_away_nothing_is_known_of_trend_and_cells(fitted):
    _, std = fitted.predict(np.full((1, 8), 1e4), return_std=True)
    trend, own = fitted.cells_.trend.variance[0], fitted._variance.scale[0]
    np.testing.assert_allclose(std, np.sqrt(trend + own), rtol=1e-6)


def test_members_have_the_trend_too(fitted):
    X, _ = everywhere(50, 3)
    shares = fitted.cells_.tree.shares(X, fitted.cells_.width)
    g = np.zeros((50, fitted.cells_.n_cells))
    g[shares.rows, shares.cells] = shares.weights
    F = fitted.member_predictions(X)
    np.testing.assert_allclose(np.sum(g * F, axis=1), fitted.predict(X), atol=1e-9)


def test_chunks_and_files_have_the_same_answer(fitted, tmp_path):
    X, y = everywhere(2000, 0)
    chunked = in_cells().fit(
        da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500)
    )
    new, _ = everywhere(60, 3)
    for given in (new, da.from_array(new, chunks=(20, 8))):
        found = np.asarray(chunked.predict(given))
        np.testing.assert_allclose(found, fitted.predict(new), atol=1e-6)
    np.testing.assert_allclose(
        chunked.predict(new, return_std=True)[1],
        fitted.predict(new, return_std=True)[1],
        rtol=1e-4,
    )
    np.testing.assert_allclose(chunked.loo_error_, fitted.loo_error_, rtol=1e-6)
    save(chunked, tmp_path / "m.skops")
    np.testing.assert_allclose(
        load(tmp_path / "m.skops").predict(new), fitted.predict(new), atol=1e-6
    )


@pytest.mark.parametrize("chunked", [False, True])
def test_classes_around_a_trend(chunked):
    X, y = everywhere(2000, 0)
    new, y_new = everywhere(4000, 1)
    labels = np.where(y > 0, "yes", "no")
    given = (X, labels)
    if chunked:
        given = da.from_array(X, chunks=(500, 8)), da.from_array(labels, chunks=500)
    model = CellKernelClassifier(max_cell=250, trend=True).fit(*given)
    p = model.predict_proba(new)
    right = p[np.arange(4000), (y_new > 0).astype(int)]
    assert np.mean(right > 0.5) > 0.68  # the best is 0.72
    assert -np.mean(np.log(right)) < 0.6
