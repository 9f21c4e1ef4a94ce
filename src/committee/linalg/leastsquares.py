"""Least squares on tall matrices, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq, qr

from committee._typing import FloatArray


def solve_least_squares(
    blocks: Iterable[tuple[FloatArray, FloatArray]],
) -> FloatArray:
    """Return the weights (M,) of least squared residual over blocks (F_b, y_b) of rows.

        min_w  sum_b || y_b - F_b w ||^2,   of minimum norm when F is rank deficient

    Each block is folded into one triangular factor, [F y] = Q R (a tall-skinny
    QR), so memory is that of a block and the condition number is that of F and
    not its square, as it would be with F'F. The rank is decided on the small
    factor by a singular value decomposition.
    """
    triangle = Triangle.of(blocks)
    if triangle is None:
        raise ValueError("There are no rows to fit.")
    return triangle.solve()


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

    def solve(self) -> FloatArray:
        """Return the weights of minimum norm."""
        R, M = self.R, self.R.shape[1] - 1
        # Rounding leaves singular values of this size where the rank is deficient.
        cond = max(self.n_rows, M) * np.finfo(np.float64).eps
        w: FloatArray = lstsq(R[:, :-1], R[:, -1], cond, lapack_driver="gelsd")[0]
        return w
