"""Least squares on tall matrices, block by block.

    min_w  sum_b || y_b - F_b w ||^2

Each block is folded into one triangular factor, [F y] = Q R (a tall-skinny QR), so memory
is that of a block and the condition number is that of F and not its square, as it would
be with F'F. The rank is decided on the small factor, by singular values or by the pivots
of a basic solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq, qr, solve_triangular

from committee._typing import FloatArray

#: By so much, relatively, a column must be longer than one before it to be chosen
#: first. Of columns of equal length, such as votes, rounding would choose another
#: for every cut of the rows; this is above the rounding of lengths in LAPACK.
_TIE = 1e-8


class Triangle(NamedTuple):
    """R of [F y] = Q R for some rows, and their number: all that the weights need."""

    R: FloatArray
    n_rows: int

    @classmethod
    def of(cls, blocks: Iterable[tuple[FloatArray, FloatArray]]) -> Triangle | None:
        """Fold blocks of rows (F_b, y_b); None if there are none."""
        folded: Triangle | None = None
        for F, y in blocks:
            block = cls(np.column_stack([F, y]), len(F))
            folded = block._folded() if folded is None else folded.plus(block)
        return folded

    def plus(self, other: Triangle) -> Triangle:
        """Return the triangle of both sets of rows."""
        n_rows = self.n_rows + other.n_rows
        return Triangle(np.vstack([self.R, other.R]), n_rows)._folded()

    def _folded(self) -> Triangle:
        R = qr(self.R, mode="r", check_finite=False)[0][: self.R.shape[1]]
        return Triangle(R, self.n_rows)

    @property
    def rounding(self) -> float:
        """Return the part of a dependent column that rounding leaves, relative to the largest."""
        size = max(self.n_rows, self.R.shape[1] - 1)
        return float(size * np.finfo(np.float64).eps)

    def solve(self) -> FloatArray:
        """Return the weights of minimum norm."""
        R = self.R
        w: FloatArray = lstsq(
            R[:, :-1], R[:, -1], self.rounding, lapack_driver="gelsd"
        )[0]
        return w

    def solve_basic(self) -> FloatArray:
        """Return a basic solution: nonzero weights for rank(F) members at most.

            F P = Q R,    R_11 w_1 = Q_1' y,    w_2 = 0,    rank = #{k: |r_kk| > rounding |r_11|}

        QR with column pivoting takes the longest remaining column, of equal ones the
        first, as MATLAB's lscov does.
        """
        F, y = self.R[:, :-1], self.R[:, -1]
        first = 1.0 - _TIE * np.arange(F.shape[1])
        Q, R, order = qr(F * first, mode="economic", pivoting=True, check_finite=False)
        r = np.abs(np.diag(R))
        rank = int(np.sum(r > self.rounding * r[0]))
        w: FloatArray = np.zeros(F.shape[1])
        w[order[:rank]] = solve_triangular(R[:rank, :rank], Q[:, :rank].T @ y)
        return first * w
