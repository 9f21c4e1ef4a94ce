"""A trend over all cells: a kernel machine on a few points that every row fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular
from scipy.linalg.blas import dsyrk

from committee._typing import FloatArray, IntArray
from committee.cells.machine import row_blocks
from committee.kernels import Kernel, equal_steps, median_gamma

#: Points of a trend, at the most, and rows, at equal steps, that fit it.
_POINTS, _ROWS = 300, 20_000
#: Rows for each point at least: leave-one-out of the cells takes the trend as given,
#: and it has seen the row.
ROWS_PER_POINT = 50
#: So many points and random rows choose gamma and the ridge.
_FEW_POINTS, _FEW_ROWS = 200, 2000
#: Of gamma, relative to `median_gamma`, and of the ridge, to the mean weight. Rougher kernels than the
#: Gaussian were no better below cells, on nine generated sets that are in no table.
_GAMMAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
#: On the diagonal of k(U, U), relative to its trace.
_JITTER = 1e-10
#: No row has more of its own, nor is further from the points.
_MOST = 0.99


@dataclass(frozen=True, eq=False)
class Trend:
    """A function around which cells are fitted: t(x) = coef' k(U, x).

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (m, d)
        U.
    coef : array of shape (m, T)
    variance : array of shape (T,)
        Of t over the rows.
    reach : float
        The largest k(x, x) - k(x, U) k(U, U)^-1 k(U, x) of the rows.
    """

    kernel: Kernel
    points: FloatArray
    coef: FloatArray
    variance: FloatArray
    reach: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return t, (N, T)."""
        t = np.empty((len(X), self.coef.shape[1]))
        for rows in row_blocks(len(X)):
            t[rows] = self.kernel(X[rows], self.points) @ self.coef
        return t

    def unknown(self, X: FloatArray) -> FloatArray:
        """Return how far rows are beyond those that it was fitted to, (N,).

            ( u(x) - reach )_+ / (1 - reach),    u(x) = k(x, x) - k(x, U) k(U, U)^-1 k(U, x)

        Zero among the rows, and one far from all of them, where t is zero.
        """
        L = _root(self.kernel, self.points)
        u = np.empty(len(X))
        for rows in row_blocks(len(X)):
            Z = _features(self.kernel, self.points, L, X[rows])
            u[rows] = 1.0 - np.einsum("nm,nm->n", Z, Z)
        beyond: FloatArray = np.maximum(u - self.reach, 0.0) / (1.0 - self.reach)
        return beyond


class FittedTrend(NamedTuple):
    """A trend, and what its rows did to it.

    Attributes
    ----------
    trend : Trend
    root : array of shape (m, m)
        C^-1 L^-1, with C C' = Z'SZ + alpha I.
    share : float
        Of all rows that were in the fit.
    """

    trend: Trend
    root: FloatArray
    share: float

    def leverage(self, X: FloatArray, s: FloatArray) -> FloatArray:
        """Return h_n = s_n z_n'(Z'SZ + alpha I)^-1 z_n, (N,), times the share of rows.

        y_n - t^-n(x_n) = (y_n - t(x_n)) / (1 - h_n)

        for the rows of the fit; the others have no leverage, and the share is what is
        expected of a row.
        """
        h = np.empty(len(X))
        for rows in row_blocks(len(X)):
            W = self.root @ self.trend.kernel(self.trend.points, X[rows])
            h[rows] = s[rows] * np.einsum("mn,mn->n", W, W)
        return np.minimum(self.share * h, _MOST)


def fit_trend(X: FloatArray, Y: FloatArray, s: FloatArray) -> FittedTrend:
    """Fit a trend to rows X (N, d), Y (N, T) around its mean, sample weights s (N,).

        min_c  sum_n s_n ( y_n - z_n'c )^2 + alpha ||c||^2,    z_n = L^-1 k(U, x_n)

        t(x) = c'L^-1 k(U, x),    L L' = k(U, U)

    A Gaussian kernel on U, random rows, one in 50 and up to 300: Nystroem features. Gamma
    and alpha have the smallest leave-one-out error.
    """
    Y = Y - np.average(Y, axis=0, weights=s)
    order = np.random.default_rng(0).permutation(len(X))
    kernel, alpha = _chosen(X, Y, s, order[:_FEW_ROWS])
    U = X[order[: min(_POINTS, max(1, len(X) // ROWS_PER_POINT))]]
    some = equal_steps(len(X), _ROWS)
    X, Y, s = X[some], Y[some], s[some]
    L, root = _root(kernel, U), np.sqrt(s)
    Z = _features(kernel, U, L, X)
    reach = 1.0 - np.einsum("nm,nm->n", Z, Z).min()
    Z *= root[:, None]
    G = dsyrk(1.0, Z.T, lower=1)
    G[np.diag_indices_from(G)] += alpha
    C = cholesky(G, lower=True, check_finite=False)
    c = cho_solve((C, True), Z.T @ (root[:, None] * Y))
    t = (Z @ c) / root[:, None]
    inverse = solve_triangular(L, np.eye(len(U)), lower=True)
    trend = Trend(
        kernel,
        U,
        inverse.T @ c,
        np.average(t**2, axis=0, weights=s),
        float(np.clip(reach, 0.0, _MOST)),
    )
    share = len(X) / len(order)
    return FittedTrend(trend, solve_triangular(C, inverse, lower=True), share)


def _chosen(
    X: FloatArray, Y: FloatArray, s: FloatArray, rows: IntArray
) -> tuple[Kernel, float]:
    """Return the kernel and the ridge with the smallest leave-one-out error on some rows.

    y_n - t^-n(x_n) = (y_n - t(x_n)) / (1 - h_n),    h_n = s_n z_n'(Z'SZ + alpha I)^-1 z_n
    """
    middle, weight = median_gamma(X), float(s.mean())
    X, Y, s = X[rows], Y[rows], s[rows]
    n_points = min(_FEW_POINTS, max(1, len(X) // 10))
    U, root = X[:n_points], np.sqrt(s)[:, None]
    best = (np.inf, Kernel("rbf", middle), weight)
    for step in _GAMMAS:
        kernel = Kernel("rbf", step * middle)
        Z = root * _features(kernel, U, _root(kernel, U), X)
        values, V = eigh(Z.T @ Z, driver="evd", check_finite=False)
        values, Z = np.maximum(values, 0.0), Z @ V
        squares, h = Z**2, Z.T @ (root * Y)
        for alpha in (weight * alpha for alpha in _ALPHAS):
            residual = root * Y - Z @ (h / (values + alpha)[:, None])
            left_out = residual / (1.0 - squares @ (1.0 / (values + alpha)))[:, None]
            best = min(best, (float(np.mean(left_out**2)), kernel, alpha), key=_error)
    return best[1], best[2]


def _error(candidate: tuple[float, Kernel, float]) -> float:
    return candidate[0]


def _root(kernel: Kernel, U: FloatArray) -> FloatArray:
    """Return L of k(U, U) with a little added to its diagonal, so that it is definite."""
    K = kernel(U, U)
    K[np.diag_indices_from(K)] += _JITTER * np.trace(K)
    L: FloatArray = cholesky(K, lower=True)
    return L


def _features(
    kernel: Kernel, U: FloatArray, L: FloatArray, X: FloatArray
) -> FloatArray:
    """Return z of each row, (N, m)."""
    # Columns of the transpose are contiguous: nothing is copied.
    K = kernel(X, U).T
    Z: FloatArray = solve_triangular(
        L, K, lower=True, overwrite_b=True, check_finite=False
    )
    return Z.T
