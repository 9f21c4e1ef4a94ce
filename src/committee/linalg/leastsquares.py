"""Least squares on tall matrices, block by block."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import lstsq, qr

from committee._typing import FloatArray


def solve_least_squares(
    blocks: Iterable[tuple[FloatArray, FloatArray]],
) -> FloatArray:
    """Minimise the squared residual over stacked row blocks.

        min_w  sum_b || y_b - F_b w ||^2,   of minimum norm when F is rank deficient

    Each block is folded into one triangular factor, [F y] = Q R (a tall-skinny
    QR), so memory is that of a block and the condition number is that of F and
    not its square, as it would be with F'F. The rank is decided on the small
    factor by a singular value decomposition.

    Parameters
    ----------
    blocks : iterable of (F_b, y_b)
        Arrays of shape (n_b, M) and (n_b,).

    Returns
    -------
    w : array of shape (M,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.linalg import solve_least_squares
    >>> F = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> np.round(solve_least_squares([(F, np.array([1.0, 2.0, 3.0]))]), 12).tolist()
    [0.5, 0.5]
    """
    R: FloatArray | None = None
    n_rows = 0
    for F, y in blocks:
        n_rows += len(F)
        rows = np.column_stack([F, y])
        stacked = rows if R is None else np.vstack([R, rows])
        R = qr(stacked, mode="r", check_finite=False)[0][: stacked.shape[1]]
    if R is None:
        raise ValueError("There are no rows to fit.")
    # Rounding leaves singular values of this size where the rank is deficient.
    cond = max(n_rows, R.shape[1] - 1) * np.finfo(np.float64).eps
    w: FloatArray = lstsq(R[:, :-1], R[:, -1], cond, lapack_driver="gelsd")[0]
    return w
