"""Weights by linear programming: the largest soft margin."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, csr_array

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.base import Combiner
from committee.combiners.likelihoods import signed_rows
from committee.combiners.problem import Problem

#: Rows of the first programme; most of the others stay far from the margin.
_FIRST = 2000
#: Gap between the bounds, relative to the largest vote, at which the sifting ends.
_GAP = 1e-9


class LPBoostWeights(Combiner):
    """Maximise the soft margin over convex combinations of the members.

        max_{w, rho, xi}  rho - 1 / (nu N) sum_n xi_n
        S_nk w + xi_n >= rho,   xi >= 0,   sum w = 1,  w >= 0

    S_nk is how far each member prefers the right class of row n to the wrong class
    k: y_n F_n for two classes. The linear programme of Demiriz, Bennett and
    Shawe-Taylor on given members: it maximises the mean margin of the share nu of
    the rows where it is least. At most that share is below rho. The solution is
    sparse; votes of a member that abstains are zero.

    For regression it minimises the mean of the share nu of the largest errors:

        min_{w, epsilon, xi}  epsilon + 1 / (nu N) sum_n xi_n
        |y_n - F_n w| <= epsilon + xi_n,   xi >= 0,   sum w = 1,  w >= 0

    which is the mean absolute error for nu = 1. There a member that abstains is taken
    to predict the mean of the others.

    The dual is solved by HiGHS, whose time grows with the rows. Beyond 2,000, rows
    far above rho are left out and rows far below have their multiplier fixed at its
    bound; those that end on the other side come in until there are none, and so do
    wrong classes as they become the worst of their row. The solution is that of all
    rows and classes.

    Parameters
    ----------
    nu : float, default=0.5
        Share of rows that the weights look at, in (0, 1]. Below the share of rows
        that are wrong in any case, these alone decide.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        Members with a nonzero weight.
    rho_ : float
        The margin; for regression minus the half-width epsilon of the tube.
    objective_ : float
        Mean margin, or minus the mean absolute error, of the worst share nu of rows.
    n_iter_ : int
        Linear programmes that were solved.

    References
    ----------
    A. Demiriz, K. P. Bennett, J. Shawe-Taylor. Linear programming boosting via column
    generation. Machine Learning 46, 2002.

    Examples
    --------
    Each of three members is wrong on another row; their vote is right on all:

    >>> import numpy as np
    >>> from committee import LPBoostWeights
    >>> votes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> lp = LPBoostWeights(nu=0.1).fit(np.eye(2)[votes], [0, 0, 0])
    >>> lp.weights_.round(6).tolist(), round(lp.rho_, 6)
    ([0.333333, 0.333333, 0.333333], 0.333333)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "nu": [Interval(Real, 0, 1, closed="right")]
    }

    needs_all: ClassVar[str] = "solves a linear programme in all rows"
    rho_: float
    objective_: float
    n_iter_: int

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def _weigh(self, problem: Problem) -> FloatArray:
        A, s = _margin_rows(problem)
        unit = float(np.abs(A).max()) or 1.0
        A /= unit
        # Costs of the dual: s_n / (nu sum s), 1 / (nu N) without row weights.
        cost = s / s.max()
        cost /= self.nu * cost.sum()
        found = _sift(A, cost)
        self.n_iter_ = found.n_iter
        self.rho_ = found.rho * unit
        self.objective_ = found.objective * unit
        return found.w


def _margin_rows(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return A of shape (N, R, M) and the row weights.

    The margin of row n is min_r A[n, r] w; rows without votes are left out.
    """
    mask = problem.held_out
    s = problem.row_weights
    if problem.n_classes is not None:
        rows = signed_rows(problem)
        A = rows.F.reshape(-1, rows.group, problem.n_members)
    else:
        # Halved, so that a difference of large numbers stays in range.
        E = problem.F / 2 - np.asarray(problem.y)[:, None] / 2
        if mask is not None:
            E *= mask
            mean = E.sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
            E = np.where(mask, E, mean[:, None])
        A = 2 * np.stack([E, -E], axis=1)
    if mask is not None:
        counted = mask.any(axis=1)
        A, s = A[counted], s[counted]
    return A, s


class _Found(NamedTuple):
    """Weights, margin, mean margin of the worst rows, and number of programmes."""

    w: FloatArray
    rho: float
    objective: float
    n_iter: int


def _sift(A: FloatArray, cost: FloatArray) -> _Found:
    """Maximise rho - sum_n cost_n (rho - min_r A_nr w)_+ over the simplex, and rho.

    With rows left out, or their loss replaced by a linear part of it, the programme
    has a larger maximum: once that is the value of w on all rows, w is best.
    """
    N, R, M = A.shape
    free = np.ones(N, dtype=bool)
    w, n_iter = np.full(M, 1.0 / M), 0
    if N > _FIRST:
        rows = np.random.RandomState(0).permutation(N)[:_FIRST]
        # A random sample finds where the margin is; its neighbours come first.
        start = _sift(A[rows], cost[rows] * (cost.sum() / cost[rows].sum()))
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
        w, rho, bound = _solve(A[n, r], n, cost, fixed, float(cost[low].sum()))
        n_iter += 1
        margins = A @ w
        value = _mean_of_worst(margins.min(axis=1), cost)
        crossed = _crossed(margins, rho, free, low, worst)
        found = margins.argmin(axis=1)
        new = free & ~known[np.arange(N), found] & (margins.min(axis=1) < rho)
        if bound - value <= _GAP or not np.any(crossed | new):
            return _Found(w, rho, value, n_iter)
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
) -> tuple[FloatArray, float, float]:
    """Solve the dual and return w, rho and the value.

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
    return w / w.sum(), float(found.eqlin.marginals[0]), float(found.fun)


def _quantile(margin: FloatArray, cost: FloatArray) -> float:
    """Return the margin at which the costs of smaller ones reach one."""
    order = margin.argsort(kind="stable")
    reached = int(np.searchsorted(cost[order].cumsum(), 1.0 - 1e-12))
    return float(margin[order[min(reached, len(order) - 1)]])


def _mean_of_worst(margin: FloatArray, cost: FloatArray) -> float:
    """Return max_rho  rho - sum_n cost_n (rho - margin_n)_+."""
    rho = _quantile(margin, cost)
    return rho - float(cost @ np.maximum(rho - margin, 0.0))
