"""Matrices that ought to be positive definite: factors, conjugate gradients, Lanczos."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigvalsh, get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from committee._typing import FloatArray

Operator = Callable[[FloatArray], FloatArray]

#: The largest relative jitter that is tried before giving up.
MAX_JITTER = 1e-6


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix is indefinite by more than rounding can explain."""


def jittered_cholesky(
    A: FloatArray, *, rcond: float | None = None
) -> tuple[FloatArray, float]:
    """Return the Cholesky factor of A, (n, n), with as little jitter as necessary.

        L L' = A + jitter diag(A)

    Returns L and the jitter, 0 if none was added. The jitter is relative to each
    diagonal entry, so the factor follows when rows and columns are scaled or permuted
    together. It grows tenfold until the scaled factor succeeds and its reciprocal
    condition number is at least `rcond`, by default n machine epsilons; beyond 1e-6
    it raises `NotPositiveDefiniteError`. Only the lower triangle of A is read.
    """
    n = len(A)
    if rcond is None:
        rcond = n * float(np.finfo(np.float64).eps)
    c = np.diag(A)
    if not np.all(c > 0):
        raise NotPositiveDefiniteError(
            f"{int(np.sum(~(c > 0)))} of {n} diagonal entries are not positive; the "
            f"smallest is {c.min():g}."
        )
    d = np.sqrt(c)
    R = np.tril(A) / np.outer(d, d)
    jitter = 0.0
    while jitter <= MAX_JITTER:
        L = _safe_factor(R, jitter, rcond)
        if L is not None:
            return d[:, None] * L, jitter
        jitter = max(10 * jitter, rcond)
    raise NotPositiveDefiniteError(
        f"The {n} x {n} matrix is not positive definite: scaled to a unit diagonal "
        f"its smallest eigenvalue is {eigvalsh(R)[0]:.3g}, and a jitter of "
        f"{MAX_JITTER:g} did not help."
    )


def _safe_factor(R: FloatArray, jitter: float, rcond: float) -> FloatArray | None:
    """Factor R + jitter I, or return None where that is not safe.

    R is the lower triangle of a matrix with a unit diagonal.
    """
    J = R + jitter * np.eye(len(R))
    potrf, pocon = get_lapack_funcs(("potrf", "pocon"), (J,))
    # The 1-norm of the whole matrix from its lower triangle; the diagonal counts once.
    norm = (np.abs(J).sum(axis=0) + np.abs(J).sum(axis=1)).max() - 1.0 - jitter
    L, failed = potrf(J, lower=True, clean=True)
    if failed:
        return None
    reciprocal, _ = pocon(L, norm, uplo="L")
    return L if reciprocal >= rcond else None


def conjugate_gradient(
    A: Operator,
    b: FloatArray,
    precondition: Operator,
    *,
    tol: float,
    max_iter: int,
    advice: str = "",
) -> tuple[FloatArray, int, float]:
    """Solve A x = b for a positive definite A and right-hand sides b, (n, T).

    All T advance together, each with its own step lengths. They stop when the last of
    them has ||A x - b|| <= tol ||b||; one whose residual has vanished takes no more
    steps. Returns x, the number of iterations and the largest relative residual. If
    `max_iter` ends the iterations, a ConvergenceWarning is raised that contains `advice`.

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
        r = r - step * Ap  # a new array: z may be r itself
        if n_iter % 50 == 0:
            r = b - A(x)  # rounding makes the recurrence drift
        residual = _relative(r, size)
        z = precondition(r)
        rz, previous = np.einsum("ij,ij->j", r, z), rz
        p = z + np.divide(rz, previous, where=previous > 0, out=0 * rz) * p
    if residual > tol:
        warnings.warn(
            f"Conjugate gradients stopped after {max_iter} iterations at a relative "
            f"residual of {residual:.3g}, above {tol:g}. {advice}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return x, n_iter, residual


def _relative(r: FloatArray, size: FloatArray) -> float:
    """Return the largest residual relative to its right-hand side."""
    norms = np.linalg.norm(r, axis=0)
    return float(np.divide(norms, size, where=size > 0, out=np.zeros_like(norms)).max())


def largest_eigenvalue(A: Operator, n: int) -> float:
    """Return the largest eigenvalue of a symmetric A, given as products with (n, 1)."""

    def product(v: FloatArray) -> FloatArray:
        return A(v.reshape(-1, 1))[:, 0]

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    if n < 3:  # Lanczos needs room for its vectors
        return float(np.linalg.eigvalsh(operator @ np.eye(n))[-1])
    # A fixed start: the same value at every call.
    start = np.random.default_rng(0).standard_normal(n)
    if not np.any(product(start)):
        return 0.0
    return float(eigsh(operator, 1, which="LA", v0=start, tol=1e-10)[0][0])
