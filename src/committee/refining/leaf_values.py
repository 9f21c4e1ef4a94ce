"""Leaf values by least squares: functions of arrays.

With Z (N, L) the incidence of rows and leaves, k entries in a row,

    c = argmin sum_n s_n |y_n - Z_n c|^2 + mu sum_s |T_s - Q_s c|^2 + lambda |c - c0|^2
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from committee._typing import FloatArray, IntArray

#: Residual of the normal equations, as a share of the right-hand side.
TOLERANCE = 1e-6
_MOST_STEPS = 500


class Squares(NamedTuple):
    """Weighted squares |y_n - Z_n c|^2 of some rows.

    Attributes
    ----------
    Z : sparse array of shape (N, L)
        Zeros and ones.
    y : array of shape (N, T)
    weight : array of shape (N,) or (N, T)
        Row weights, for each column of y if they differ.
    """

    Z: Any
    y: FloatArray
    weight: FloatArray


def leaf_incidence(leaves: IntArray, n_leaves: int) -> Any:
    """Return Z (N, L): 1 if a row falls into a leaf, with k ones in each row.

    Parameters
    ----------
    leaves : int array of shape (N, k)
        Leaves numbered through all trees, 0..L-1.
    n_leaves : int
        L.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.refining.leaf_values import leaf_incidence
    >>> leaf_incidence(np.array([[0, 2], [1, 2]]), 3).toarray()
    array([[1., 0., 1.],
           [0., 1., 1.]])
    """
    N, k = leaves.shape
    ends = np.arange(N + 1) * k
    return csr_array((np.ones(N * k), leaves.ravel(), ends), shape=(N, n_leaves))


def refit(
    parts: list[Squares],
    ridge: float,
    start: FloatArray,
    guess: FloatArray | None = None,
    *,
    tol: float = TOLERANCE,
) -> FloatArray:
    """Return c (L, T) with the smallest sum of squares, by preconditioned conjugate gradients.

        (sum_p Z_p' S_p Z_p + lambda I) (c - c0) = sum_p Z_p' S_p (y_p - Z_p c0)

    All T columns go together, each with its own step lengths; the preconditioner is the
    diagonal.

    Parameters
    ----------
    parts : list of Squares
    ridge : float
        lambda > 0; infinity returns c0.
    start : array of shape (L, T)
        c0.
    guess : array of shape (L, T), default=None
        Where to start, for example the solution for a similar ridge. None means c0.
    tol : float, default=1e-6
        Of the residual, as a share of the right-hand side, in every column.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import eye_array
    >>> from committee.refining.leaf_values import Squares, refit
    >>> part = Squares(eye_array(2, format="csr"), np.array([[1.0], [3.0]]), np.ones(2))
    >>> refit([part], 1.0, np.zeros((2, 1))).ravel()
    array([0.5, 1.5])
    """
    if np.isinf(ridge):
        return start.copy()
    equations = _Equations(parts, ridge)
    product, inverse = equations.product, 1 / equations.diagonal()
    right = equations.right(start)
    d = np.zeros_like(start) if guess is None else guess - start
    r = right - product(d) if guess is not None else right.copy()
    limit = tol * np.linalg.norm(right, axis=0)
    z = inverse * r
    p, rz = z.copy(), (r * z).sum(axis=0)
    for _ in range(_MOST_STEPS):
        if np.all(np.linalg.norm(r, axis=0) <= limit):
            break
        q = product(p)
        curvature = (p * q).sum(axis=0)
        step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        d += step * p
        r -= step * q
        z = inverse * r
        rz, before = (r * z).sum(axis=0), rz
        p = z + np.divide(rz, before, out=np.zeros_like(rz), where=before > 0) * p
    return np.asarray(start + d)


class _Equations:
    """The normal equations A (c - c0) = r, A = sum_p Z_p' S_p Z_p + lambda I."""

    def __init__(self, parts: list[Squares], ridge: float) -> None:
        self.ridge = ridge
        # Z.T shares the memory of Z and is the faster one for several columns.
        self.parts = [
            (part.Z, part.Z.T, part.y, part.weight.reshape(len(part.y), -1))
            for part in parts
        ]

    def product(self, d: FloatArray) -> Any:
        """Return A d."""
        return self.ridge * d + sum(Zt @ (s * (Z @ d)) for Z, Zt, _, s in self.parts)

    def right(self, start: FloatArray) -> Any:
        """Return r = sum_p Z_p' S_p (y_p - Z_p c0)."""
        return sum(Zt @ (s * (y - Z @ start)) for Z, Zt, y, s in self.parts)

    def diagonal(self) -> Any:
        """Return the diagonal of A, for each column where they differ; Z is 0 or 1."""
        return self.ridge + sum(Zt @ s for _, Zt, _, s in self.parts)
