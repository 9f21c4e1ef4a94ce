import numpy as np
import pytest

from committee.cells.choose import (
    CHOICE,
    CellOptions,
    Part,
    choose_kernel,
    loo_errors,
    parts_of,
    preferred,
)
from committee.kernels import Kernel


@pytest.mark.parametrize("N", [25, 150])  # the inverse in one piece, and by halves
def test_leave_one_out_is_that_of_brute_force(N, rng):
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    s, kernel, alpha = rng.uniform(0.5, 2, size=N), Kernel("matern32", 0.5), 0.3
    squares = []
    for n in range(N):
        rest = np.arange(N) != n
        K = kernel(X[rest], X[rest]) + np.diag(alpha / s[rest])
        f = kernel(X[n : n + 1], X[rest]) @ np.linalg.solve(K, Y[rest])
        squares.append(np.mean((Y[n] - f) ** 2))
    assert loo_errors([Part(X, Y, s)], kernel, [9.0, alpha])[1] == pytest.approx(
        np.average(squares, weights=s), rel=1e-9
    )


def parts(y, X):
    return parts_of(Part(X, y[:, None], np.ones(len(X))), [np.arange(len(X))])


def test_a_rough_target_gets_a_rough_kernel_and_a_smooth_one_a_smooth(rng):
    X = rng.uniform(-2, 2, size=(250, 1))
    rough = np.cumsum(rng.normal(size=250))[np.argsort(np.argsort(X[:, 0]))] / 10
    smooth = np.sin(2 * X[:, 0])
    assert (
        choose_kernel(X, parts(rough, X), CellOptions(300))[0].kernel.name == CHOICE[0]
    )
    assert (
        choose_kernel(X, parts(smooth, X), CellOptions(300))[0].kernel.name
        in CHOICE[2:]
    )


def test_the_ridge_follows_the_noise(rng):
    X = rng.uniform(-2, 2, size=(250, 1))
    clean = np.sin(2 * X[:, 0])
    noisy = clean + rng.normal(size=250)
    ridges = [
        choose_kernel(X, parts(y, X), CellOptions(300, kernel="rbf"))[0].alpha
        for y in (clean, noisy)
    ]
    assert ridges[0] < 0.01 < ridges[1]


def test_what_is_given_is_taken(rng):
    X = rng.normal(size=(40, 2))
    tried = choose_kernel(
        X, parts(X[:, 0], X), CellOptions(300, kernel="rbf", gamma=0.2)
    )
    assert {(c.kernel.name, c.kernel.gamma) for c in tried} == {("rbf", 0.2)}
    tried = choose_kernel(X, parts(X[:, 0], X), CellOptions(300, alpha=0.5))
    assert {c.alpha for c in tried} == {0.5}
    errors = [c.error for c in tried]
    assert errors == sorted(errors)
    linear = choose_kernel(
        X, parts(X[:, 0], X), CellOptions(300, kernel="linear", alpha=0.5)
    )
    assert len(linear) == 1


def test_of_candidates_alike_the_largest_ridge_is_preferred(rng):
    X = rng.normal(size=(60, 2))
    tried = choose_kernel(X, parts(np.sin(X[:, 0]), X), CellOptions(300))
    best = preferred(tried)
    close = [c for c in tried if c.error <= 1.005 * tried[0].error]
    assert best in close
    assert best.alpha == max(c.alpha for c in close)


def test_parts_are_dense_parts_of_cells(rng):
    X = rng.normal(size=(3000, 2))
    cells = np.array_split(np.arange(3000), 3)
    found = parts_of(Part(X, X[:, :1], np.ones(3000)), cells)
    assert [len(p.X) for p in found] == [250, 250, 250]
    assert all(
        np.ptp(p.X[:, 0]) * np.ptp(p.X[:, 1]) < np.ptp(X[:, 0]) * np.ptp(X[:, 1]) / 2
        for p in found
    )
