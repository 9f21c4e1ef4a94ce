"""Intervals for regression by quantiles of stored residuals.

Functions of arrays. n held-out rows have residuals R_i; with F on new rows they become
intervals that cover a share c of all targets, for any distribution of the data, if new
rows are exchangeable with the held-out ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.predictions import weighted_sum

#: Numbers f_-i(x) in memory at once.
_BLOCK = 2**22
#: 0.9 * 10 may be a little above 9.
_ROUNDING = 1e-9


def check_coverage(coverage: Any) -> float:
    """Return the coverage, a number between 0 and 1."""
    is_number = isinstance(coverage, (float, int, np.number))
    if not is_number or isinstance(coverage, bool) or not 0 < coverage < 1:
        raise ValueError(
            "coverage must be a fraction of the rows above 0 and below 1, such as "
            f"0.9. Got {coverage!r}."
        )
    return float(coverage)


def order(n: int, coverage: float) -> int:
    """Return ceil(c (n + 1)), above n for too few scores."""
    return math.ceil(coverage * (n + 1) - _ROUNDING)


def rank(n: int, coverage: float) -> int:
    """Return k = ceil(c (n + 1)): the k-th smallest of n scores has coverage c.

    Examples
    --------
    >>> from committee.uncertainty.intervals import rank
    >>> rank(9, 0.9), rank(99, 0.9)
    (9, 90)
    """
    k = order(n, coverage)
    if k > n:
        needed = math.ceil(round(coverage / (1 - coverage), 6))
        raise ValueError(
            f"coverage={coverage:g} needs at least {needed} held-out rows, but there "
            f"are {n}: lower the coverage, or fit on more rows."
        )
    return k


def conformal_quantile(scores: FloatArray, coverage: float) -> float:
    """Return the k-th smallest of n scores, k = ceil(c (n + 1)).

    A further score is not above it with probability k / (n + 1) >= c, if all n + 1 are
    exchangeable and no two are equal.

    Parameters
    ----------
    scores : array of shape (n,)
    coverage : float

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import conformal_quantile
    >>> conformal_quantile(np.arange(1.0, 100.0), 0.9)
    90.0
    """
    k = rank(len(scores), check_coverage(coverage))
    return float(np.partition(scores, k - 1)[k - 1])


def constant_interval(f: FloatArray, R: FloatArray, coverage: float) -> FloatArray:
    """Return f(x) -+ the quantile of R: one width for all rows.

    Parameters
    ----------
    f : array of shape (N,)
        Predictions of the committee on new rows.
    R : array of shape (n,)
        R_i = |y_i - f_-i(x_i)|, on held-out rows.
    coverage : float

    Returns
    -------
    interval : array of shape (N, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import constant_interval
    >>> constant_interval(np.array([5.0]), np.arange(1.0, 10.0), 0.5).tolist()
    [[0.0, 10.0]]
    """
    q = conformal_quantile(R, coverage)
    return np.column_stack([f - q, f + q])


def member_spread(F: FloatArray, w: FloatArray) -> FloatArray:
    """Return s(x), the standard deviation of the members' predictions on each row.

        s(x)^2 = sum_m |w_m| (f_m(x) - f(x))^2 / sum_m |w_m|

    with f the mean by the same shares.

    Parameters
    ----------
    F : array of shape (N, M)
    w : array of shape (M,) or (N, M)
    """
    size = np.abs(w) if np.any(w) else np.ones_like(w)
    shares = size / size.sum(axis=-1, keepdims=True)
    mean = weighted_sum(F, shares)
    return np.sqrt(weighted_sum((F - mean[:, None]) ** 2, shares))


def scaled_interval(
    f: FloatArray, s: FloatArray, R: FloatArray, S: FloatArray, coverage: float
) -> FloatArray:
    """Return an interval that is wider where members differ.

        f(x) -+ q (s(x) + s0),   q the quantile of R_i / (S_i + s0),   s0 = mean S

    s0 gives rows on which members agree by chance a positive width. Without any spread
    the result equals `constant_interval`.

    Parameters
    ----------
    f, s : arrays of shape (N,)
        Predictions of the committee on new rows, and the spread of its members.
    R, S : arrays of shape (n,)
        Residuals and spreads on held-out rows.
    coverage : float

    Returns
    -------
    interval : array of shape (N, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import scaled_interval
    >>> f, s = np.zeros(2), np.array([1.0, 3.0])
    >>> scaled_interval(f, s, np.arange(1.0, 10.0), np.ones(9), 0.5).tolist()
    [[-5.0, 5.0], [-10.0, 10.0]]
    """
    s0 = float(S.mean()) if len(S) and S.any() else 1.0
    width = conformal_quantile(R / (S + s0), coverage) * (s + s0)
    return np.column_stack([f - width, f + width])


def jackknife_plus_interval(
    F: FloatArray,
    w: FloatArray,
    R: FloatArray,
    held_out: BoolArray | None,
    coverage: float,
) -> FloatArray:
    """Return the jackknife+ after bootstrap of Kim, Xu and Barber (2020).

        f_-i(x) = sum_m h_im w_m f_m(x) (sum_m w_m / sum_m h_im w_m)
        lower(x) = the (n + 1 - k)-th smallest of f_-i(x) - R_i
        upper(x) = the k-th smallest of f_-i(x) + R_i,   k = ceil(c (n + 1))

    over the n held-out rows i, with h the mask. At least 2c - 1 of all targets are covered
    for any data, in practice about c, and more if few members leave a row out. It computes
    N x n numbers, block by block.

    Parameters
    ----------
    F : array of shape (N, M)
        Predictions of the members on new rows.
    w : array of shape (M,)
        Their weights; none may be negative.
    R : array of shape (n,)
        R_i = |y_i - f_-i(x_i)|.
    held_out : bool array of shape (n, M) or None
        h, with at least one member with a weight in every row. None: all True.
    coverage : float

    Returns
    -------
    interval : array of shape (N, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import jackknife_plus_interval
    >>> F, w = np.array([[1.0, 3.0]]), np.array([0.5, 0.5])
    >>> held_out = np.array([[True, False], [False, True], [True, True]])
    >>> jackknife_plus_interval(F, w, np.ones(3), held_out, 0.75).tolist()
    [[0.0, 4.0]]
    """
    if np.any(w < 0):
        raise ValueError(
            "jackknife+ averages subsets of the members and needs non-negative "
            'weights: use method="constant" or "scaled".'
        )
    k = rank(len(R), check_coverage(coverage))
    if held_out is None:
        return constant_interval(F @ w, R, coverage)
    A = held_out * w
    A *= (w.sum() / A.sum(axis=1))[:, None]
    interval = np.empty((len(F), 2))
    size = max(1, _BLOCK // len(R))
    for rows in (slice(i, i + size) for i in range(0, len(F), size)):
        f = F[rows] @ A.T
        interval[rows, 0] = np.partition(f - R, len(R) - k, axis=1)[:, len(R) - k]
        interval[rows, 1] = np.partition(f + R, k - 1, axis=1)[:, k - 1]
    return interval
