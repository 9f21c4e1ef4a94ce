"""The kernel machine of one cell: its coefficients, and its values on border points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from committee._typing import FloatArray
from committee.kernels import GramKernel
from committee.linalg import NotPositiveDefiniteError

#: Columns of A that are made together, and stay in the cache.
_PANEL = 128
#: Rows whose kernel values with the points of a machine are in memory together.
_BLOCK = 4096

#: Above this reciprocal condition single precision moves predictions by a thousandth
#: of the targets' spread at most: measured on 1,500 rows, four kernels, six ridges.
_RCOND = 1e-5


class Border(NamedTuple):
    """Values of a cell's machine on its border points B, before any coupling.

    Attributes
    ----------
    values : array of shape (b, T)
        m(B).
    covariance : array of shape (b, b)
        V(B, B), the posterior covariance of a Gaussian process with noise alpha.
    response : array of shape (n, b)
        Q = A^-1 k(X, B): V(x_n, B) = r_n Q_n, and minus a border point's coefficient
        times its column moves the coefficients of the rows.
    """

    values: FloatArray
    covariance: FloatArray
    response: FloatArray


class CellFit(NamedTuple):
    """The solution of one cell.

    Attributes
    ----------
    coef : array of shape (n, T)
        a.
    energy : array of shape (T,)
        y'A^-1 y.
    inverse_diagonal : array of shape (n,) or None
        Of A^-1: y_n minus the leave-one-out prediction is a_n / (A^-1)_nn.
    border : Border or None
    single : bool
        Whether single precision was good enough.
    """

    coef: FloatArray
    energy: FloatArray
    inverse_diagonal: FloatArray | None
    border: Border | None
    single: bool

    @property
    def precisions(self) -> FloatArray:
        """(A^-1)_nn, (n,), of a fit with `leave_one_out`."""
        assert self.inverse_diagonal is not None
        return self.inverse_diagonal


def row_blocks(n: int) -> list[slice]:
    """Return n rows in blocks whose kernel values fit into memory."""
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]


class Factor:
    """A = K + diag(r) of one cell, factorised once.

    In single precision where the condition of A allows it and `precision` is "auto",
    in double precision elsewhere.

    Parameters
    ----------
    kernel : GramKernel
    X : array of shape (n, d)
    ridge : array of shape (n,)
        r, alpha over the sample weights.
    precision : {"auto", "double"}
    """

    def __init__(
        self,
        kernel: GramKernel,
        X: FloatArray,
        ridge: FloatArray,
        precision: str = "auto",
    ) -> None:
        self.kernel = kernel
        # Distances keep their digits near the middle of the cell; other kernels would
        # become others.
        distances = kernel.of_distances
        self.centre = X.mean(axis=0) if distances else np.zeros(X.shape[1])
        single = precision == "auto" and distances
        # What is too large or too small for single precision is done in double.
        with np.errstate(over="ignore", invalid="ignore"):
            done = single and self._factorised(X, ridge, np.float32)
        if not done:
            self._factorised(X, ridge, np.float64)

    def _factorised(self, X: FloatArray, ridge: FloatArray, dtype: Any) -> bool:
        """Factor A; return whether single precision is good enough for it."""
        self.dtype, self.X = dtype, self.points(X, dtype)
        A = lower_gram(self.kernel, self.X)
        A[np.diag_indices_from(A)] += ridge.astype(dtype)
        single = dtype == np.float32
        potrf, pocon = get_lapack_funcs(("potrf", "pocon"), (A,))
        norm = _norm(A) if single else 0.0
        self.L, info = potrf(A, lower=1, overwrite_a=1, clean=0)
        if info == 0 and single:
            return bool(pocon(self.L, norm, uplo="L")[0] >= _RCOND)
        if info and not single:
            raise NotPositiveDefiniteError(
                "The kernel matrix of a cell is not positive definite: increase alpha "
                f"(the smallest ridge is {ridge.min():g}), or use another kernel."
            )
        return bool(info == 0)

    @property
    def single(self) -> bool:
        """True where single precision was good enough."""
        return bool(self.dtype == np.float32)

    def points(self, X: FloatArray, dtype: Any = None) -> FloatArray:
        """Return points as the kernel takes them here."""
        moved: FloatArray = (X - self.centre).astype(dtype or self.dtype)
        return moved

    def solve(self, B: FloatArray) -> FloatArray:
        """Return A^-1 B."""
        (potrs,) = get_lapack_funcs(("potrs",), (self.L,))
        x: FloatArray = potrs(self.L, B.astype(self.dtype), lower=1)[0]
        return x.astype(np.float64)

    def half_solve(self, B: FloatArray, *, transposed: bool = False) -> FloatArray:
        """Return L^-1 B, or L'^-1 B; B'A^-1 B is the product of W = L^-1 B with itself."""
        (trtrs,) = get_lapack_funcs(("trtrs",), (self.L,))
        B = B.astype(self.dtype, copy=False)
        x: FloatArray = trtrs(self.L, B, lower=1, trans=int(transposed))[0]
        return x

    def cross(self, B: FloatArray) -> FloatArray:
        """Return k(X, B)."""
        return self.kernel(self.X, self.points(B))

    def inverse_diagonal(self) -> FloatArray:
        """Return the diagonal of A^-1, the sums of squares of the columns of L^-1."""
        (trtri,) = get_lapack_funcs(("trtri",), (self.L,))
        inverse = trtri(self.L, lower=1)[0]
        squares = np.empty(len(inverse))
        for panel in _panels(len(inverse)):
            low = np.tril(inverse[panel.start :, panel])  # above is what was there
            squares[panel] = np.einsum("mn,mn->n", low, low, dtype=np.float64)
        return squares


def lower_gram(kernel: GramKernel, X: FloatArray) -> FloatArray:
    """Return k(X, X) in Fortran's order; above the blocks of its diagonal are zeros.

    A Cholesky factor reads the lower triangle only.
    """
    K = np.zeros((len(X), len(X)), dtype=X.dtype, order="F")
    for panel in _panels(len(X)):
        # The transpose is written along the columns of K.
        K.T[panel, panel.start :] = kernel(X[panel], X[panel.start :])
    return K


def _panels(n: int) -> list[slice]:
    return [slice(start, start + _PANEL) for start in range(0, n, _PANEL)]


def _norm(A: FloatArray) -> float:
    """Return the largest sum of a column, of what `lower_gram` made of a distance."""
    sums = np.zeros(len(A))
    for panel in _panels(len(A)):
        sums[panel] += A[panel.start :, panel].sum(axis=0)
        sums[panel.stop :] += A[panel.stop :, panel].sum(axis=1)
    return float(sums.max())


def solve_cell(
    kernel: GramKernel,
    X: FloatArray,
    Y: FloatArray,
    ridge: FloatArray,
    *,
    border_points: FloatArray | None = None,
    precision: str = "auto",
    leave_one_out: bool = False,
) -> CellFit:
    """Fit one cell, and predict at its border points.

        min_f  sum_n (y_n - f(x_n))^2 / r_n + ||f||^2,    f(x) = a'k(X, x),  A a = y

        A = K + diag(r),    m(B) = k(B, X) a,    V(B, B) = k(B, B) - k(B, X) A^-1 k(X, B)

    Parameters
    ----------
    kernel : GramKernel
    X : array of shape (n, d)
    Y : array of shape (n, T)
    ridge : array of shape (n,)
        r, alpha over the sample weights.
    border_points : array of shape (b, d), default=None
        B.
    precision : {"auto", "double"}
    leave_one_out : bool, default=False
        Return the diagonal of A^-1, at twice the price of the factor.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.cells import solve_cell
    >>> from committee.kernels import Kernel
    >>> X = np.array([[0.0], [9.0]])
    >>> fit = solve_cell(Kernel("rbf"), X, np.array([[1.0], [3.0]]), np.ones(2))
    >>> fit.coef.round(3).tolist()
    [[0.5], [1.5]]
    """
    factor = Factor(kernel, X, ridge, precision)
    a = factor.solve(Y)
    border = None
    if border_points is not None and len(border_points):
        cross = factor.cross(border_points)
        half = factor.half_solve(cross)
        W = half.astype(np.float64)
        points = factor.points(border_points, np.float64)
        border = Border(
            cross.T.astype(np.float64) @ a,
            kernel(points, points) - W.T @ W,
            factor.half_solve(half, transposed=True),
        )
    return CellFit(
        a,
        np.einsum("nt,nt->t", Y, a),
        factor.inverse_diagonal() if leave_one_out else None,
        border,
        factor.single,
    )
