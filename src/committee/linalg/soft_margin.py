"""The largest soft margin over convex combinations: a linear programme, by sifting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, csr_array

from committee._typing import BoolArray, FloatArray, IntArray

#: Rows of the first programme; most of the others stay far from the margin.
_FIRST = 2000
#: Gap between the bounds, relative to the largest vote, at which the sifting ends.
_GAP = 1e-9


class SoftMargin(NamedTuple):
    """The solution of the programme and of its dual.

    w (M,) are the weights, rho the margin, objective the mean margin of the worst rows,
    u (N, R) the multipliers of the rows, with sum one, n_iter the programmes solved.
    """

    w: FloatArray
    rho: float
    objective: float
    u: FloatArray
    n_iter: int


def largest_soft_margin(A: FloatArray, cost: FloatArray) -> SoftMargin:
    """Maximise rho - sum_n cost_n (rho - min_r A_nr w)_+ over the simplex, and rho.

    A has shape (N, R, M), cost (N,) and a sum of one at least. Beyond 2,000 rows, those
    far above rho are left out and those far below have their multiplier fixed at its
    bound; rows that end on the other side come in until there are none. With rows left out, or their loss replaced by a linear part of it, the programme
    has a larger maximum: once that is the value of w on all rows, w is best.
    """
    N, R, M = A.shape
    free = np.ones(N, dtype=bool)
    w, n_iter = np.full(M, 1.0 / M), 0
    if N > _FIRST:
        rows = np.random.RandomState(0).permutation(N)[:_FIRST]
        # A random sample finds where the margin is; its neighbours come first.
        start = largest_soft_margin(
            A[rows], cost[rows] * (cost.sum() / cost[rows].sum())
        )
        w, n_iter = start.w, start.n_iter
        margin = (A @ w).min(axis=1)
        near = np.abs(margin - _quantile(margin, cost)).argsort()[:_FIRST]
        free = np.zeros(N, dtype=bool)
        free[near] = True
    known = np.zeros((N, R), dtype=bool)
    while True:
        margins = A @ w
        worst, margin = margins.argmin(axis=1), margins.min(axis=1)
        known[np.arange(N), worst] = True
        level = _quantile(margin, cost)
        free |= np.abs(margin - level) <= _GAP
        low = np.flatnonzero(~free & (margin < level))
        n, r = np.nonzero(known & free[:, None])
        fixed = cost[low] @ A[low, worst[low]]
        w, rho, bound, u = _solve(A[n, r], n, cost, fixed, float(cost[low].sum()))
        n_iter += 1
        margins = A @ w
        value = _mean_of_worst(margins.min(axis=1), cost)
        crossed = _crossed(margins, rho, free, low, worst)
        found = margins.argmin(axis=1)
        new = free & ~known[np.arange(N), found] & (margins.min(axis=1) < rho)
        if bound - value <= _GAP or not np.any(crossed | new):
            multipliers = np.zeros((N, R))
            multipliers[low, worst[low]], multipliers[n, r] = cost[low], u
            return SoftMargin(w, rho, value, multipliers, n_iter)
        free |= crossed


def _crossed(
    margins: FloatArray, rho: float, free: BoolArray, low: IntArray, worst: IntArray
) -> BoolArray:
    """Return the rows whose loss is not what the programme took it to be."""
    margin = margins.min(axis=1)
    crossed: BoolArray = ~free & (margin < rho)
    taken = margins[low, worst[low]]
    crossed[low] = (margin[low] > rho) | (taken > margin[low])
    return crossed


def _solve(
    A: FloatArray, row: IntArray, cost: FloatArray, fixed: FloatArray, mass: float
) -> tuple[FloatArray, float, float, FloatArray]:
    """Solve the dual and return w, rho, the value and u.

        min_{u, beta}  beta,   sum_p u_p A_p + fixed <= beta 1,
        sum u = 1 - mass,   sum_{p of row n} u_p <= cost_n,   u >= 0

    The weights are the multipliers of the first constraints, rho of the second.
    """
    P, M = A.shape
    beta = -np.ones((M, 1))
    rows, upper = block_array([[csr_array(A.T), beta]]), -fixed
    # A row with one constraint has only a bound.
    shared = np.flatnonzero(np.bincount(row)[row] > 1)
    if len(shared):
        which, place = np.unique(row[shared], return_inverse=True)
        shape = (len(which), P + 1)
        sums = coo_array((np.ones(len(shared)), (place, shared)), shape=shape)
        rows, upper = block_array([[rows], [sums]]), np.r_[upper, cost[which]]
    bounds = np.zeros((P + 1, 2))
    bounds[:-1, 1] = cost[row]
    bounds[-1] = -np.inf, np.inf
    found = linprog(
        np.r_[np.zeros(P), 1.0],
        A_ub=rows.tocsc(),
        b_ub=upper,
        A_eq=csr_array(np.r_[np.ones(P), 0.0][None]),
        b_eq=[1.0 - mass],
        bounds=bounds,
        method="highs-ds",
    )
    if found.status != 0:
        raise ValueError(f"HiGHS could not solve the linear programme: {found.message}")
    w = np.maximum(-found.ineqlin.marginals[:M], 0.0)
    rho = float(found.eqlin.marginals[0])
    return w / w.sum(), rho, float(found.fun), np.maximum(found.x[:-1], 0.0)


def _quantile(margin: FloatArray, cost: FloatArray) -> float:
    """Return the margin at which the costs of smaller ones reach one."""
    order = margin.argsort(kind="stable")
    reached = int(np.searchsorted(cost[order].cumsum(), 1.0 - 1e-12))
    return float(margin[order[min(reached, len(order) - 1)]])


def _mean_of_worst(margin: FloatArray, cost: FloatArray) -> float:
    """Return max_rho  rho - sum_n cost_n (rho - margin_n)_+."""
    rho = _quantile(margin, cost)
    return rho - float(cost @ np.maximum(rho - margin, 0.0))
