import numpy as np
import pytest

from committee.cells import CellOptions
from committee.cells.bcm import train_committee
from committee.kernels import Kernel
from tests.reference.cells import precision_committee

KERNEL = Kernel("matern52", gamma=0.8)
ALPHA = 0.05


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, np.c_[y, y**2]


def trained(X, Y, subsets, method, s=None, **options):
    options = {"kernel": "matern52", "gamma": 0.8, "alpha": ALPHA, **options}
    return train_committee(
        X,
        Y,
        s,
        subsets,
        CellOptions(max_cell=len(X), **options),
        method=method,
        rng=np.random.RandomState(0),
    )


def parts_of(training):
    """Return D_1 and what each expert knows beside it, from the rows of the experts."""
    rows = training.subsets
    D = rows[0]
    for more in rows[1:]:
        D = np.intersect1d(D, more)
    return [D, *(np.setdiff1d(part, D) for part in rows)]


@pytest.mark.parametrize("method", ["bcm", "grbcm"])
def test_experts_are_combined_as_dense_algebra_combines_them(method):
    X, Y = problem()
    fitted = trained(X, Y, np.array_split(np.arange(120), 4), method)
    new = np.random.default_rng(1).uniform(-3, 3, size=(50, 2))
    parts = parts_of(fitted)
    # D_1 is 3/10 of the largest subset of 30.
    assert len(parts[0]) == (9 if method == "grbcm" else 0)
    mean, variance = precision_committee(
        KERNEL, X, Y - Y.mean(axis=0), parts, ALPHA, new, method == "grbcm"
    )
    known = fitted.model.posterior(new)
    np.testing.assert_allclose(known.mean, mean, atol=1e-9)
    np.testing.assert_allclose(known.variance, variance, rtol=1e-8)


@pytest.mark.parametrize("method", ["bcm", "grbcm"])
def test_one_expert_is_the_machine_of_all_rows(method):
    X, Y = problem()
    fitted = trained(X, Y, [np.arange(120)], method)
    new = np.random.default_rng(1).uniform(-3, 3, size=(50, 2))
    k, A = KERNEL(new, X), KERNEL(X, X) + ALPHA * np.eye(120)
    f = Y.mean(axis=0) + k @ np.linalg.solve(A, Y - Y.mean(axis=0))
    V = 1 - np.einsum("nm,mn->n", k, np.linalg.solve(A, k.T))
    np.testing.assert_allclose(fitted.model.predict(new), f, atol=1e-9)
    np.testing.assert_allclose(fitted.model.posterior(new).variance, V, rtol=1e-7)
    c = np.einsum("nt,nt->t", Y - Y.mean(axis=0), np.linalg.solve(A, Y - Y.mean(0)))
    np.testing.assert_allclose(fitted.variance.scale, c / 120, rtol=1e-9)


@pytest.mark.parametrize("method", ["bcm", "grbcm"])
def test_leave_one_out_is_that_of_fits_without_the_row(method):
    X, Y = problem(60)
    fitted = trained(X, Y, np.array_split(np.arange(60), 3), method)
    D, *own = parts_of(fitted)
    offset = Y.mean(axis=0)
    rows = np.sort(np.concatenate(own))
    np.testing.assert_array_equal(fitted.measured.X, X[rows])
    for at, n in list(enumerate(rows.tolist()))[::7]:
        parts = [D, *(part[part != n] for part in own)]
        mean, variance = precision_committee(
            KERNEL, X, Y - offset, parts, ALPHA, X[n : n + 1], method == "grbcm"
        )
        np.testing.assert_allclose(fitted.left_out.f[at], mean[0] + offset, atol=1e-9)
        np.testing.assert_allclose(
            fitted.left_out.variance[at], variance[0] + ALPHA, rtol=1e-8
        )


def test_whole_weights_are_repeated_rows():
    X, Y = problem(60)
    s = np.random.default_rng(2).integers(1, 4, size=60)
    subsets = np.array_split(np.arange(60), 3)
    again = np.repeat(np.arange(60), s)
    repeated = [np.flatnonzero(np.isin(again, rows)) for rows in subsets]
    new = np.random.default_rng(1).uniform(-2, 2, size=(20, 2))
    weighted = trained(X, Y, subsets, "bcm", s.astype(float)).model.predict(new)
    counted = trained(X[again], Y[again], repeated, "bcm").model.predict(new)
    np.testing.assert_allclose(weighted, counted, atol=1e-9)


def test_far_away_the_prior_is_all_that_is_known():
    X, Y = problem()
    fitted = trained(X, Y, np.array_split(np.arange(120), 4), "grbcm")
    known = fitted.model.posterior(np.full((1, 2), 1e4))
    np.testing.assert_allclose(known.variance, 1.0)
    np.testing.assert_allclose(known.mean, 0.0, atol=1e-12)


def test_rows_that_are_all_alike_are_one_row_with_their_weight():
    X, Y = problem(60)
    X[:40] = 1.0
    training = train_committee(
        X,
        Y,
        None,
        [np.arange(40), np.arange(40, 60)],
        CellOptions(20, "matern52", 0.8, ALPHA),
        method="grbcm",
        rng=np.random.RandomState(0),
    )
    assert len(training.model.points) == 21
    f = training.model.predict(np.ones((1, 2)))
    np.testing.assert_allclose(f[0], Y[:40].mean(axis=0), atol=0.02)
