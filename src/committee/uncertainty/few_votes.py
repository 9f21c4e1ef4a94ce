"""Residuals of rows on which few members vote, as those of the whole committee."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from committee._typing import BoolArray, FloatArray

#: Shares t that are looked at.
_SHARES = (np.arange(1000) + 0.5) / 1000


def as_of_all_members(
    R: FloatArray,
    s2: FloatArray,
    v: FloatArray,
    squares: FloatArray,
    several: BoolArray,
) -> FloatArray:
    """Return residuals, scaled to those of all members where v_n is below zero.

        k_n = |w|^2 - v_n                  f_n has the variance s_n^2 k_n
        E R_n^2 = B + s_n^2 k_n,           that of all members B + s_n^2 |w|^2
        t = B / (B + k s^2),   k = max k_n
        R_n sqrt((t k + (1 - t) |w|^2) / (t k + (1 - t) k_n))

    B is what would remain with any number of members; with equal weights and rows of
    one vote t is the correlation of two members' errors. It is found on rows with
    several votes, the only ones that tell s_n^2 and B apart:

        t^ = sum c_n / sum d_n,   c_n = R_n^2 - s_n^2 k_n,   d_n = c_n + k s_n^2
        se^2 = sum (c_n - t^ d_n)^2 / (sum d_n)^2

    t is the mean of Normal(t^, se^2) between 0 and 1. Few such rows may well have t^
    below zero, as if the committee made no errors at all: t^ itself, or the difference of
    the sums over all rows, would then leave intervals without a width.

    Parameters
    ----------
    R, s2, v, squares : arrays of shape (n,)
        |y_n - f_n|, s_n^2 and v_n of `FilledVotes`, and |w|^2 of the row's weights.
    several : bool array of shape (n,)
        Whether more than one member votes. Without any such row nothing is scaled.
    """
    over = v < 0
    used = over & several
    if not used.any():
        return R
    k_n = squares - v
    k = k_n[over].max()
    t = _share(R[used] ** 2 - s2[used] * k_n[used], k * s2[used])
    scale = (t * k + (1 - t) * squares) / (t * k + (1 - t) * k_n)
    return np.where(over, R * np.sqrt(np.where(over, scale, 1.0)), R)


def _share(c: FloatArray, of_members: FloatArray) -> float:
    """Return t of c_n and k s_n^2."""
    d = c + of_members
    total = float(d.sum())
    if total <= 0:
        return 1.0
    t = float(c.sum()) / total
    se = float(np.sqrt(((c - t * d) ** 2).sum())) / total
    if se == 0:
        return min(max(t, 0.0), 1.0)
    return float(softmax(-0.5 * ((_SHARES - t) / se) ** 2) @ _SHARES)
