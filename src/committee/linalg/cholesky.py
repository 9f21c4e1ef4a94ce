"""One place for factorising matrices that ought to be positive definite."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, get_lapack_funcs

from committee._typing import FloatArray

#: The largest relative jitter that is tried before giving up.
MAX_JITTER = 1e-6


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix is indefinite by more than rounding can explain."""


def jittered_cholesky(
    A: FloatArray, *, rcond: float | None = None
) -> tuple[FloatArray, float]:
    """Factor A, (n, n), adding as little to its diagonal as makes that safe.

        L L' = A + jitter diag(A)

    Returns L and the jitter, 0 where nothing was added. The jitter is relative to each
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
