"""Quadratic programmes with non-negative weights, solved exactly.

Both problems here reduce to a linear complementarity problem with a positive
definite matrix, which block principal pivoting solves in a handful of small
Cholesky solves: whole groups of variables change sides at once (Portugal, Judice
and Vicente, 1994). Where that makes no progress, as on some nearly singular
matrices, an active set that lowers the objective at every step takes over (Lawson
and Hanson, 1974).
At M = 500 this was measured at 2 times the speed of piqp, 2 to 3 of SciPy's nnls
(`python -m benchmarks generate`), 11 of clarabel and 33 of quadprog, with exact
zeros. At M = 27, where quadprog, piqp and nnls win, it takes a quarter of a
millisecond.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from committee._typing import BoolArray, FloatArray
from committee.linalg.definite import jittered_cholesky

#: Relative ridge that makes the minimiser unique: equal members share equally.
_RIDGE = 1e-10
#: Rounds without progress in which whole groups may change sides.
_PATIENCE = 4


def solve_nnqp(
    A: FloatArray, b: FloatArray, signed: BoolArray | None = None
) -> FloatArray:
    """Minimise a quadratic over the non-negative orthant.

        min_z  1/2 z'Az - b'z,   z_i >= 0 for all i that are not `signed`

    A, (M, M), is positive definite up to rounding. Without `signed`, (M,), z >= 0,
    Az - b >= 0 and z'(Az - b) = 0 up to rounding; zeros are exact.
    """
    # With d = sqrt(diag A) the matrix has a unit diagonal and one tolerance fits.
    d = np.sqrt(np.diag(A))
    A, b = A / np.outer(d, d), b / d
    either = np.zeros(len(b), dtype=bool) if signed is None else signed
    free = either | (b > 0)
    best, patience = len(b) + 1, _PATIENCE
    while patience > 0:
        z, slack = _on_face(A, b, free)
        below = ~either & (z < 0)
        wrong = np.where(free, below, slack < -_rounding(b, z))
        n_wrong = int(wrong.sum())
        if n_wrong == 0:
            return z / d
        patience = _PATIENCE if n_wrong < best else patience - 1
        best = min(best, n_wrong)
        free = free ^ wrong
    return _descend(A, b, np.where(below, 0.0, z), either) / d


def solve_simplex(C: FloatArray) -> FloatArray:
    """Minimise a quadratic form over the probability simplex.

        min_w  w'Cw,   sum w = 1,  w >= 0

    C, (M, M), is positive semidefinite up to rounding. If z solves
    min 1/2 z'Cz - 1'z over z >= 0, then w = z / sum z. A relative ridge of 1e-10 makes
    the answer unique where C is singular: identical members get identical weights.
    """
    c = np.diag(C)
    largest = float(c.max())
    if largest == 0.0:
        return np.full(len(C), 1.0 / len(C))
    # A perfect member has c = 0; the floor keeps its weight finite and near one.
    ridge = np.maximum(_RIDGE * c, 1e-16 * largest)
    # Solve in the scale of the best member, so that z is near one.
    scale = float((c + ridge).min())
    A = C / scale
    A[np.diag_indices_from(A)] += ridge / scale
    z = solve_nnqp(A, np.ones(len(C)))
    w: FloatArray = z / z.sum()
    return w


def _on_face(
    A: FloatArray, b: FloatArray, free: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return z that solves A z = b on the free variables, and slack = A z - b."""
    z = np.zeros_like(b)
    if free.any():
        L, _ = jittered_cholesky(A[np.ix_(free, free)])
        z[free] = cho_solve((L, True), b[free], check_finite=False)
    slack = A @ z - b
    slack[free] = 0.0
    return z, slack


def _rounding(b: FloatArray, z: FloatArray) -> float:
    """Bound the rounding error of A z - b, for A with a unit diagonal."""
    size = max(float(np.abs(b).max()), float(np.abs(z).sum()))
    return len(b) * float(np.finfo(np.float64).eps) * size


def _descend(
    A: FloatArray, b: FloatArray, z: FloatArray, either: BoolArray
) -> FloatArray:
    """Minimise from z >= 0 by an active set, one variable freed at a time."""
    free = either | (z > 0)
    barred = np.zeros_like(free)
    for _ in range(20 * len(b)):
        target, slack = _on_face(A, b, free)
        ahead = np.full(len(b), np.inf)
        blocked = free & (target < 0) & ~either
        ahead[blocked] = z[blocked] / (z - target)[blocked]
        step = float(ahead.min())
        if step == 0.0:
            # Freed, and by rounding alone no better for it: leave it at zero.
            barred |= ahead == 0.0
            free &= ahead > 0.0
        elif step < 1.0:
            # Walk towards the face's minimiser until a variable reaches zero.
            free &= ahead > step
            z = np.where(free, z + step * (target - z), 0.0)
            barred[:] = False
        else:
            barred &= np.array_equal(z, target)
            z = target
            slack[barred] = 0.0
            if slack.min() >= -_rounding(b, z):
                break
            free[np.argmin(slack)] = True
    return z
