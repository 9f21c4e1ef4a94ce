"""The last block row of a ring: what its corner leaves behind in every column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.linalg.blas import dgemm, dsyrk, dtrsm

from committee._typing import FloatArray

#: Up to this size a triangle is solved in one call. OpenBLAS solves with a triangle of
#: 240 rows at a quarter of the speed of its products, so larger ones are halved.
_TRIANGLE = 32
#: Columns before the row is first compressed; from then on whenever they double.
_FIRST_COMPRESSION = 8


class Column(NamedTuple):
    """One block column of a factor, and of the row of right-hand sides.

    L is (n_j, n_j), above its diagonal are leftovers, not zeros; P below it is
    (n_{j+1}, n_j), without rows in the last column; z is z_j', (T, n_j).
    """

    L: FloatArray
    P: FloatArray
    z: FloatArray


class LastRow:
    """The blocks Z_j that a ring has in the last row of its factor, and a chain not.

        Z_j = V W_j,    W_j = rest_j L_j^-T,    rest_{j+1} = -W_j P_j'

    V is the identity at first and rest_0 the corner, (n_{q-1}, n_0), which is
    overwritten. After 8, 16, 32, ... columns V is cut to the directions in which the
    rest is still above the rounding of the corner: what is dropped is a change of the
    matrix by no more than that.
    """

    def __init__(self, corner: FloatArray) -> None:
        m = len(corner)
        self.rest = np.asfortranarray(corner, dtype=np.float64)
        self.rounding = float(np.finfo(np.float64).eps * np.linalg.norm(corner))
        self.V = [np.eye(m)]
        self.W: list[tuple[int, FloatArray]] = []  # which V, and W_j
        self.ZZ = np.zeros((m, m))
        # One row of zeros: the first column sets the number of right-hand sides.
        self.zZ = np.zeros((1, m))
        # The same sums over the columns of the current V in its coordinates.
        self.WW = np.zeros((m, m), order="F")
        self.zW = np.zeros((1, m))

    def eliminate(self, column: Column) -> None:
        """Go on by one column."""
        n = len(self.W)
        if n >= _FIRST_COMPRESSION and n.bit_count() == 1:
            self._compress()
        W = right_solve(column.L, self.rest)
        self.WW = dsyrk(1.0, W, 1.0, self.WW, lower=1, overwrite_c=1)
        self.zW = self.zW + column.z @ W.T
        self.rest = dgemm(-1.0, W, column.P, trans_b=1)
        self.W.append((len(self.V) - 1, W))

    def beside_diagonal(self) -> FloatArray:
        """Return -Z_{q-3} P_{q-3}', which A_{q-1,q-2} has to take up."""
        return self.V[-1] @ self.rest

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sum_j Z_j Z_j' and sum_j z_j' Z_j', (n_{q-1}, n_{q-1}) and (T, n_{q-1})."""
        V, lower = self.V[-1], np.tril(self.WW)
        inside = lower + np.tril(lower, -1).T
        return self.ZZ + V @ inside @ V.T, self.zZ + self.zW @ V.T

    def _compress(self) -> None:
        """Drop what is left of the corner below its own rounding."""
        self.ZZ, self.zZ = self.sums()
        Q, R, order = qr(self.rest, mode="economic", pivoting=True, check_finite=False)
        tails = np.sqrt(np.cumsum(np.sum(R**2, axis=1)[::-1]))[::-1]
        r = max(1, int(np.sum(tails > self.rounding)))
        self.V.append(self.V[-1] @ Q[:, :r])
        self.rest = np.empty((r, len(order)), order="F")
        self.rest[:, order] = R[:r]
        self.WW, self.zW = np.zeros((r, r), order="F"), np.zeros((1, r))


def row_times(
    x: FloatArray, V: list[FloatArray], W: list[tuple[int, FloatArray]]
) -> list[FloatArray]:
    """Return x' Z_j, (T, n_j), of all columns, for x' of shape (T, n_{q-1}).

    Z_j = V W_j as a `LastRow` keeps them: W has pairs, which V and W_j.
    """
    inside = [x @ basis for basis in V]
    return [inside[number] @ W_j for number, W_j in W]


def right_solve(L: FloatArray, B: FloatArray) -> FloatArray:
    """Return B L^-T in the place of B, (m, n) in Fortran order; L is lower triangular.

    X_1 = B_1 L_11^-T,    X_2 = (B_2 - X_1 L_21') L_22^-T
    """
    n = len(L)
    if min(B.shape) <= _TRIANGLE:
        # Assigning to itself is free, and right where BLAS had to work on a copy.
        B[:] = dtrsm(1.0, L, B, side=1, lower=1, trans_a=1, overwrite_b=1)
        return B
    left, right = B[:, : n // 2], B[:, n // 2 :]
    right_solve(L[: n // 2, : n // 2], left)
    L_21 = L[n // 2 :, : n // 2]
    right[:] = dgemm(-1.0, left, L_21, 1.0, right, trans_b=1, overwrite_c=1)
    right_solve(L[n // 2 :, n // 2 :], right)
    return B
