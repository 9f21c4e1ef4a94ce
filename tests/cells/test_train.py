import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from committee.cells import CellOptions, train_cells
from committee.cells.choose import COUPLINGS, Part
from committee.cells.groups import merged

GIVEN = {"kernel": "rbf", "gamma": 0.5, "alpha": 0.1}


def problem(rng, n=400):
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, :1]) * X[:, 1:] + 0.1 * rng.normal(size=(n, 1))


def test_one_cell_is_kernel_ridge_around_the_mean(rng):
    X, Y = problem(rng)
    s = rng.uniform(0.5, 2, size=400)
    training = train_cells(X, Y, s, CellOptions(400, precision="double", **GIVEN))
    mean = np.average(Y, axis=0, weights=s)
    twin = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, Y - mean, s)
    X_new = rng.normal(size=(50, 2))
    np.testing.assert_allclose(
        training.model.predict(X_new), twin.predict(X_new) + mean, atol=1e-10
    )
    assert training.coupling == 0.0


def test_only_cells_that_are_too_large_become_one_row():
    X, Y, s = (
        np.zeros((3, 2)),
        np.array([[1.0], [2.0], [6.0]]),
        np.array([1.0, 1.0, 2.0]),
    )
    part = Part(X, Y, s)
    assert merged(part, 3) is part
    one = merged(part, 2)
    assert (one.X.tolist(), one.Y.tolist(), one.s.tolist()) == ([[0, 0]], [[3.75]], [4])


def test_rows_that_repeat_are_as_good_as_their_mean(rng):
    # 100 rows are all alike, more than a cell holds: one with their mean stands for them.
    X, Y = problem(rng, 120)
    X[20:] = X[20]
    many = train_cells(
        X, Y, None, CellOptions(60, precision="double", couplings=(0.0,), **GIVEN)
    )
    assert sorted(len(c) for c in many.cells) == [20, 100]
    merged = np.r_[np.arange(20), 20]
    Y_merged, s = (
        np.r_[Y[:20], Y[20:].mean(keepdims=True).reshape(1, 1)],
        np.r_[np.ones(20), 100.0],
    )
    few = train_cells(
        X[merged],
        Y_merged,
        s,
        CellOptions(20, precision="double", couplings=(0.0,), **GIVEN),
    )
    np.testing.assert_allclose(
        many.model.predict(X[:20]), few.model.predict(X[:20]), atol=0.2
    )
    assert many.model.n_rows.min() == 1


def test_the_coupling_has_the_least_leave_one_out_error(rng):
    X, Y = problem(rng)
    errors = {}
    for nu in (None, 0.0, 0.1, 1.0, 10.0):
        training = train_cells(
            X,
            Y,
            None,
            CellOptions(50, couplings=COUPLINGS if nu is None else (nu,), **GIVEN),
        )
        e = np.mean((training.left_out.f - training.measured.Y) ** 2)
        errors[nu] = e
        if nu is None:
            chosen = training.coupling
    assert chosen == min((0.0, 0.1, 1.0, 10.0), key=errors.get)


def test_without_coupling_there_are_no_border_points(rng):
    X, Y = problem(rng)
    alone = train_cells(X, Y, None, CellOptions(100, couplings=(0.0,), **GIVEN))
    assert len(alone.model.points) == 400
    assert len(alone.borders.points) == 0
    coupled = train_cells(
        X, Y, None, CellOptions(100, couplings=(1.0,), n_coupling=8, **GIVEN)
    )
    assert len(coupled.borders.points) == 8 * 4
    assert len(coupled.model.points) == 400 + 2 * 32


def test_the_answer_does_not_depend_on_threads(rng):
    X, Y = problem(rng)
    a, b = (train_cells(X, Y, None, CellOptions(60, n_jobs=n)).model for n in (1, 2))
    np.testing.assert_array_equal(a.coef, b.coef)


def test_it_is_a_good_fit_by_itself(rng):
    X, Y = problem(rng, 2000)
    model = train_cells(X[:1500], Y[:1500], None, CellOptions(300)).model
    error = np.mean((model.predict(X[1500:]) - Y[1500:]) ** 2)
    assert error < 1.3 * 0.01  # the noise has variance 0.01


def test_a_kernel_that_no_ridge_can_help_is_refused(rng):
    X, Y = problem(rng, 50)
    options = CellOptions(50, kernel=lambda A, B: -10 * np.exp(A @ B.T))
    with pytest.raises(np.linalg.LinAlgError, match="larger alpha"):
        train_cells(X, Y, None, options)
