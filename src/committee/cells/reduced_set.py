"""Fewer points for the same function: a kernel expansion on some rows of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import (
    LinAlgError,
    cho_factor,
    cho_solve,
    cholesky,
    solve_triangular,
)

from committee._parallel import in_threads
from committee._typing import FloatArray
from committee.cells.choose import Part
from committee.cells.model import CellModel
from committee.kernels import Kernel

#: How far predictions may move, relative to the root of the leave-one-out error, which
#: grows by about a four hundredth.
TOLERANCE = 0.05
#: Shares of the points that are tried, the least first.
_SHARES = (1 / 16, 1 / 8, 1 / 4)
#: A cell whose least share is so many tolerances away is not smooth enough for the others.
_HOPELESS = 8.0
#: On the diagonals of k(U, U) and of Z'Z, relative to their traces: far below what the
#: tolerance sees, and they keep coefficients of nearly singular ones from growing.
_JITTER, _RIDGE = 1e-12, 1e-12
#: Cells of fewer points are as they are.
_LEAST_POINTS = 64


def reduced_cells(
    model: CellModel,
    rows: Sequence[Part],
    alpha: float,
    error: FloatArray,
    n_jobs: int | None = None,
) -> CellModel:
    """Return a model that predicts the same, up to its error, from fewer points.

    Parameters
    ----------
    model : CellModel
        Its points are the rows of the cells, each with its border points after them.
    rows : sequence of Part
        Of each cell; Y without the offset.
    alpha : float
    error : array of shape (T,)
        Mean squared errors of leave-one-out; without them nothing is changed.
    n_jobs : int, default=None
    """
    if not np.all(error > 0.0):
        return model
    tolerance = TOLERANCE * np.sqrt(error)
    arguments = ((model, c, part, alpha, tolerance) for c, part in enumerate(rows))
    found = list(in_threads(_reduced_cell, arguments, n_jobs))
    sizes = [len(coef) for _, coef in found]
    if sum(sizes) == len(model.points):
        return model
    points, coef = (np.concatenate(part) for part in zip(*found, strict=True))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return replace(
        model, points=points, coef=coef, starts=starts, n_rows=np.array(sizes)
    )


def _reduced_cell(
    model: CellModel, c: int, rows: Part, alpha: float, tolerance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return points and coefficients of one cell, fewer where that is good enough."""
    points, coef = model.points[model.part(c)], model.coef[model.part(c)]
    n = len(rows.X)
    if n < _LEAST_POINTS:
        return points, coef
    # The equations of the cell give f on its rows: f(x_n) = y_n - r_n a_n.
    f = rows.Y - (alpha / rows.s)[:, None] * coef[:n]
    if n < len(points):
        f = np.concatenate([f, model.cell_values(c, points[n:])])
    found = reduced_set(model.kernel, points, f, n, tolerance)
    return (points, coef) if found is None else found


def reduced_set(
    kernel: Kernel,
    points: FloatArray,
    f: FloatArray,
    n_rows: int,
    tolerance: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Return a few of the points U and b, or None where few are not good enough.

        min_b  sum_p ( f(p) - sum_{u in U} b_u k(u, p) )^2

    over all points p, with U drawn from the first `n_rows`, as few as keep the root mean
    square difference of each target below its tolerance: a reduced set (Burges 1996).
    Rows drawn at random were as good as the pivots of a Cholesky factor on nine
    generated sets.

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (P, d)
    f : array of shape (P, T)
    n_rows : int
    tolerance : array of shape (T,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.cells.reduced_set import reduced_set
    >>> from committee.kernels import Kernel
    >>> x = np.linspace(0, 1, 160)[:, None]
    >>> U, b = reduced_set(Kernel("rbf", 2.0), x, np.sin(3 * x), 160, np.array([1e-3]))
    >>> U.shape, bool(np.abs(Kernel("rbf", 2.0)(x, U) @ b - np.sin(3 * x)).max() < 0.01)
    ((10, 1), True)
    """
    P = len(points)
    order = np.random.default_rng(0).permutation(n_rows)
    centre = points.mean(axis=0) if kernel.of_distances else 0.0
    points = points - centre
    before = 0.0
    K = np.empty((P, 0))
    for share in _SHARES:
        U = points[order[: max(1, round(share * P))]]
        K = np.hstack([K, kernel(points, U[K.shape[1] :])])
        b = _fitted(K, kernel(U, U), f)
        if b is None:
            return None
        squares = np.mean((f - K @ b) ** 2, axis=0)
        # As many coefficients as were fitted hide that much of the difference.
        away = float((np.sqrt(squares) / tolerance).max()) * P / (P - len(U))
        if away <= 1.0:
            return U + centre, b
        # The next share takes off as large a part of the difference as this one did.
        expected = away**2 / before if before else away / _HOPELESS
        if expected > 1.0:
            return None
        before = away
    return None


def _fitted(K: FloatArray, K_U: FloatArray, f: FloatArray) -> FloatArray | None:
    """Return b of least squares, K b = f; None where k(U, U) is singular.

        b = L'^-1 c,   Z'Z c = Z'f,   Z = K L'^-1,   L L' = k(U, U)

    Z'Z has the condition of k(U, U), and K'K its square.
    """
    K_U[np.diag_indices_from(K_U)] += _JITTER * np.trace(K_U)
    try:
        L = cholesky(K_U, lower=True, check_finite=False)
        Z = solve_triangular(L, K.T, lower=True, check_finite=False)
        G = Z @ Z.T
        G[np.diag_indices_from(G)] += _RIDGE * np.trace(G)
        factor = cho_factor(G, lower=True, check_finite=False)
    except LinAlgError:
        return None
    c = cho_solve(factor, Z @ f, check_finite=False)
    b: FloatArray = solve_triangular(L, c, lower=True, trans=1, check_finite=False)
    return b
