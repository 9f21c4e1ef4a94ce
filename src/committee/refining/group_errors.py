"""Errors of k trees that all vote, from groups of k trees that vote out of bag.

Trees whose leaves were fitted together correct each other, so a third of them has a larger
error than any k trees that all vote. The votes of a row tell by how much: trees of a group
are exchangeable, and those that vote are drawn from them without replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from committee._typing import BoolArray, FloatArray


class GroupVotes(NamedTuple):
    """Moments of the votes u_nm of one group of k trees, over the trees that vote.

    Attributes
    ----------
    n : array of shape (N,)
        H, the number of votes.
    w, squares : arrays of shape (N,)
        sum_m w_m and sum_m w_m^2.
    weighted : array of shape (N,)
        sum_m w_m u_nm.
    first, second : arrays of shape (N,)
        sum_m u_nm and sum_m u_nm^2.
    """

    n: FloatArray
    w: FloatArray
    squares: FloatArray
    weighted: FloatArray
    first: FloatArray
    second: FloatArray

    @classmethod
    def of(cls, u: FloatArray, held_out: BoolArray | None, w: FloatArray) -> GroupVotes:
        """Return the moments of votes (N, k); without a mask all vote."""
        held_out = np.ones(u.shape, dtype=bool) if held_out is None else held_out
        voting = held_out.astype(np.float64)
        v = np.where(held_out, u, 0.0)
        return cls(
            voting.sum(axis=1),
            voting @ w,
            voting @ w**2,
            v @ w,
            v.sum(axis=1),
            (v**2).sum(axis=1),
        )


def missing_variance(
    groups: Sequence[GroupVotes], w: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return s_n^2, and the variance delta_n that k trees would have more than the groups.

        u_g    weighted mean of the votes of group g,   a_g = sum w^2 / (sum w)^2 there,
        A      the same of all k trees: 1 / k for equal weights,
        s_n^2  variance of votes within the groups,
        Var u_g = B_n + s_n^2 (a_g - A),   B_n = rho s_n^2 A

    B is the variance of k trees that all vote; rho is 1 for trees that are independent and
    less for trees that were fitted together. It is one number, from all rows that have
    votes in every group. The mean of the groups, each with the weight pi_g ~ 1 / a_g, has

        Var = B_n sum pi_g^2 + s_n^2 sum pi_g^2 (a_g - A),   delta_n = B_n - Var

    Parameters
    ----------
    groups : sequence of G GroupVotes
    w : array of shape (k,)
        Weights of the trees of a group.
    weight : array of shape (N,)
        Of the rows.

    Returns
    -------
    s2, delta : arrays of shape (N,)
    """
    n, total, second = (
        np.array([getattr(group, name) for group in groups])
        for name in ("n", "first", "second")
    )
    within = (second - total**2 / np.maximum(n, 1)).sum(axis=0)
    free = np.maximum(n - 1, 0).sum(axis=0)
    some = free > 0
    usual = within[some].sum() / max(free[some].sum(), 1.0)
    s2 = np.where(some, np.maximum(within, 0.0) / np.maximum(free, 1), usual)
    heard = np.array([group.w for group in groups])
    there = (n > 0) & (heard > 0)
    a = np.array([group.squares for group in groups]) / np.where(there, heard, 1.0) ** 2
    A = float(w @ w / w.sum() ** 2)
    pi = np.where(there, 1 / np.where(there, a, 1.0), 0.0)
    pi /= np.maximum(pi.sum(axis=0), 1e-300)
    inside = (pi**2 * (a - A)).sum(axis=0) * s2
    if len(groups) == 1:
        return s2, -inside
    means = np.array([group.weighted for group in groups]) / np.where(there, heard, 1.0)
    rows = there.all(axis=0)
    between = means[:, rows].var(axis=0, ddof=1) - s2[rows] * (a[:, rows] - A).mean(
        axis=0
    )
    unit = float(weight[rows] @ s2[rows]) * A
    rho = max(float(weight[rows] @ between) / unit, 0.0) if unit > 0 else 1.0
    return s2, rho * s2 * A * (1 - (pi**2).sum(axis=0)) - inside


def p_wrong(margin: FloatArray, delta: FloatArray) -> FloatArray:
    """Return the probability that a margin is below zero if its variance changes by delta.

        delta > 0:   e(delta) = Phi(-D / sqrt(delta)),
        delta < 0:   2 e(0) - e(-delta),   e(0) = 1 if D < 0

    The second extrapolates in a straight line from variances that can be added to one that
    cannot be taken away (simulation extrapolation, Cook and Stefanski 1994). Single rows
    may be below zero or above one; only their mean is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.refining.group_errors import p_wrong
    >>> p_wrong(np.array([-1.0, 1.0, 1.0]), np.array([0.0, 1.0, -1.0])).round(3)
    array([ 1.   ,  0.159, -0.159])
    """
    now = np.where(margin == 0, 0.5, margin < 0)
    sd = np.sqrt(np.abs(delta))
    z = np.divide(-margin, sd, out=np.zeros_like(margin), where=sd > 0)
    more = np.where(sd > 0, ndtr(z), now)
    return np.where(delta > 0, more, 2 * now - more)
