"""Preconditioned conjugate gradients for many right-hand sides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from committee._typing import FloatArray

Operator = Callable[[FloatArray], FloatArray]


def conjugate_gradient(
    A: Operator,
    b: FloatArray,
    precondition: Operator,
    *,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, int, float]:
    """Solve A x = b for a positive definite A and right-hand sides b, (n, T).

    All T advance together, each with its own step lengths. They stop when the last of
    them has ||A x - b|| <= tol ||b||; one whose residual has vanished takes no more
    steps. Returns x, the number of iterations and the largest relative residual.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.linalg import conjugate_gradient
    >>> A = np.diag([1.0, 2.0])
    >>> x, n_iter, residual = conjugate_gradient(
    ...     lambda v: A @ v, np.ones((2, 1)), lambda r: r, tol=1e-12, max_iter=10
    ... )
    >>> x.round(6).tolist()
    [[1.0], [0.5]]
    """
    size = np.linalg.norm(b, axis=0)
    x, r = np.zeros_like(b), b.copy()
    z = precondition(r)
    p, rz = z, np.einsum("ij,ij->j", r, z)
    n_iter = 0
    residual = 1.0 if size.any() else 0.0
    while residual > tol and n_iter < max_iter:
        n_iter += 1
        Ap = A(p)
        # A target whose residual is zero would divide 0 by 0.
        active = rz > 0
        step = np.divide(rz, np.einsum("ij,ij->j", p, Ap), where=active, out=0 * rz)
        x += step * p
        r -= step * Ap
        if n_iter % 50 == 0:
            r = b - A(x)  # rounding makes the recurrence drift
        residual = _relative(r, size)
        z = precondition(r)
        rz, previous = np.einsum("ij,ij->j", r, z), rz
        p = z + np.divide(rz, previous, where=previous > 0, out=0 * rz) * p
    return x, n_iter, residual


def _relative(r: FloatArray, size: FloatArray) -> float:
    """Return the largest residual relative to its right-hand side."""
    norms = np.linalg.norm(r, axis=0)
    return float(np.divide(norms, size, where=size > 0, out=np.zeros_like(norms)).max())
