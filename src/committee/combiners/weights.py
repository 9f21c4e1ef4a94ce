"""Weights without pruning: equal, of least squares, and of the largest soft margin.

For classification the squared error is the error of the probability vectors against the
one-hot targets, summed over classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_solve

from committee._typing import FloatArray
from committee._validation import Interval, StrOptions
from committee.combiners.base import Combiner
from committee.combiners.likelihoods import signed_rows
from committee.diagnostics.correlation import error_blocks
from committee.linalg import jittered_cholesky, solve_simplex
from committee.linalg.leastsquares import Triangle
from committee.linalg.programmes import largest_soft_margin
from committee.probabilities import as_probabilities
from committee.votes import Largest, Votes, in_squared_units


class Average(Combiner):
    """Give every member the same weight (chapter 4.2, eq. 4.1).

        w_m = 1 / M

    It learns nothing, so it cannot overfit. Use it as the baseline for other combiners.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        All members.

    Examples
    --------
    >>> from committee import Average
    >>> Average().fit([[1.0, 3.0]], [2.0]).combine([[1.0, 3.0]]).tolist()
    [2.0]
    """

    needs_rows: ClassVar[bool] = False
    takes_chunks: ClassVar[bool] = True

    def _weigh(self, votes: Votes) -> FloatArray:
        return np.full(votes.n_members, 1.0 / votes.n_members)


#: C is taken as singular below this reciprocal condition number: beyond it the
#: weights would change by more than 1e-6 with the order of summation.
_RCOND = 1e-10


class OptimalWeights(Combiner):
    """Minimise the squared error over weights that sum to one (chapter 4.4).

        w = C^-1 1 / (1' C^-1 1),    C = E'E / N,   E = F - y 1'

    Weights may be negative, and large if members are nearly identical. If C is singular
    (identical members, fewer rows than members), a relative jitter of at least 1e-10 is
    added to its diagonal; identical members then get equal weights.

    Attributes
    ----------
    weights_ : array of shape (M,)
    error_ : float
        w'Cw, the squared error on the rows of the fit: J = 1 / (1' C^-1 1).
    support_ : array
        Indices of the members with a nonzero weight, usually all.

    See Also
    --------
    SimplexWeights : The same objective with non-negative weights.

    Examples
    --------
    >>> from committee import OptimalWeights
    >>> F = [[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 2.0]]
    >>> OptimalWeights().fit(F, [0.0, 0.0, 0.0, 0.0]).weights_.round(6).tolist()
    [0.8, 0.2]
    """

    takes_chunks: ClassVar[bool] = True
    error_: float

    def _weigh(self, votes: Votes) -> FloatArray:
        C, unit = votes.error_correlation()
        w = _optimal(C)
        self.error_ = in_squared_units(w @ C @ w, unit)
        return w


class SimplexWeights(Combiner):
    """Minimise the squared error over convex combinations of the members.

        min_w  w'Cw,   sum w = 1,  w >= 0,    C = E'E / N,   E = F - y 1'

    The solution is sparse: its nonzeros are the support models of Hamers,
    Suykens and De Moor (eq. 7). Solved exactly by an active-set method on the
    M x M matrix C (see `committee.linalg.solve_simplex`), after one pass over
    the rows.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Non-negative weights that sum to one; many are exactly zero.
    error_ : float
        w'Cw, the squared error on the rows of the fit.
    support_ : array
        Indices of the members with a nonzero weight.

    Examples
    --------
    >>> from committee import SimplexWeights
    >>> F = [[1.0, 0.0, 3.0], [0.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 3.0]]
    >>> simplex = SimplexWeights().fit(F, [0.0, 0.0, 0.0, 0.0])
    >>> simplex.weights_.round(6).tolist(), simplex.support_.tolist()
    ([0.8, 0.2, 0.0], [0, 1])
    """

    takes_chunks: ClassVar[bool] = True
    error_: float

    def _weigh(self, votes: Votes) -> FloatArray:
        C, unit = votes.error_correlation()
        w = solve_simplex(C)
        self.error_ = in_squared_units(w @ C @ w, unit)
        return w


class LeastSquares(Combiner):
    """Regress the targets on the members' predictions (Chen 2.2).

        min_w  || y - F w ||^2

    If F is rank deficient, many weights fit the training rows equally well. The
    minimum-norm solution spreads the weight over all members. A basic solution has at
    most rank(F) nonzero weights; the paper prunes with it. Weights may be negative and
    need not sum to one. For classification, F - 1/K is fitted to the one-hot targets
    minus 1/K, so an abstention is zero; with two classes this is the regression of
    targets +-1 on signed votes.

    With `held_out`, the members do not vote on the same rows. The objective is then
    written in moments, y - F w = y (1 - sum w) - E w, assuming that all errors are
    equally correlated with y. The weights are the `OptimalWeights` times the factor
    that minimises the squared error. C is then positive definite, and both solutions
    are the same.

    Parameters
    ----------
    solution : {"minimum-norm", "basic"}, default="minimum-norm"
        Solution to take if F is rank deficient. The basic solution chooses members by
        QR with column pivoting, as MATLAB's lscov does: first the longest column of F,
        then always the column with the largest part orthogonal to the chosen ones. Ties
        go to the first column, so the choice among identical members depends on their
        order.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        Indices of the members with a nonzero weight.

    Examples
    --------
    >>> from committee import LeastSquares
    >>> F = [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    >>> LeastSquares().fit(F, [1.0, 2.0, 4.0]).weights_.round(6).tolist()
    [0.5, 0.5, 4.0]
    >>> basic = LeastSquares(solution="basic").fit(F, [1.0, 2.0, 4.0])
    >>> basic.weights_.round(6).tolist()
    [1.0, 0.0, 4.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "solution": [StrOptions({"minimum-norm", "basic"})],
    }
    takes_chunks: ClassVar[bool] = True

    def __init__(self, *, solution: str = "minimum-norm") -> None:
        self.solution = solution

    def _weigh(self, votes: Votes) -> FloatArray:
        if not votes.masked:
            triangle: Triangle = votes.total(_triangle)
            if self.solution == "basic":
                return triangle.solve_basic()
            return triangle.solve()
        C, unit = votes.error_correlation()
        w = _optimal(C)
        return _held_out_scale(votes, float(w @ C @ w), unit) * w

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the fitted values, sum_m w_m F + (1 - sum w) / K, as probabilities."""
        return as_probabilities(scores + (1 - self.weights_.sum()) / scores.shape[1])


def _optimal(C: FloatArray) -> FloatArray:
    """Return C^-1 1 / (1' C^-1 1)."""
    c = np.diag(C)
    if not c.max() > 0:
        return np.full(len(C), 1.0 / len(C))
    # A perfect member has c = 0; the floor keeps its weight finite.
    A = C + np.diag(np.maximum(1e-16 * c.max() - c, 0.0))
    L, _ = jittered_cholesky(A, rcond=_RCOND)
    z: FloatArray = cho_solve((L, True), np.ones(len(C)), check_finite=False)
    w: FloatArray = z / z.sum()
    return w


def _triangle(votes: Votes) -> Triangle | None:
    """Return the triangle of [F y] of some rows."""
    return Triangle.of(_centred_blocks(votes))


def _centred_blocks(votes: Votes) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield (F_b, y_b), weighted; for classes from F - 1/K = E + y 1'."""
    Y = votes.centred_targets()
    for rows, E in error_blocks(votes.F, votes.y):
        y = Y[rows].reshape(-1)
        # E + y would lose the digits of predictions much smaller than y.
        F = votes.F[rows] if votes.n_classes is None else E + y[:, None]
        if votes.sample_weight is not None:
            root = np.sqrt(np.repeat(votes.sample_weight[rows], Y.shape[1]))
            F, y = F * root[:, None], y * root
        yield F, y


def _held_out_scale(votes: Votes, J: float, unit: float) -> float:
    """Return S that minimises S^2 J + 2 S (S - 1) c + (S - 1)^2 y2.

    This is the mean of (y - S f_ens)^2 with f_ens = y + e: J the mean of e^2, in
    squared units, c the mean of e y and y2 the mean of y^2 over held-out entries.
    """
    largest = max(unit, float(votes.aside(_largest_target).value))
    J *= (unit / largest) ** 2
    ey, yy, entries = votes.total(_entry_sums, largest, votes.mean_weight())
    c, y2 = ey / entries, yy / entries
    curvature = J + 2 * c + y2
    return float((c + y2) / curvature) if curvature > 0 and c + y2 > 0 else 1.0


def _largest_target(votes: Votes) -> Largest:
    return Largest(float(np.abs(votes.centred_targets()).max()))


def _entry_sums(votes: Votes, largest: float, mean_weight: float) -> FloatArray:
    """Return the sums over held-out entries of e y, y^2 and 1, in units of largest."""
    assert votes.held_out is not None
    Y = votes.centred_targets() / largest
    s = votes.row_weights / mean_weight
    entries = s * votes.held_out.sum(axis=1)
    ey = 0.0
    for rows, E in error_blocks(votes.F, votes.y):
        left_out = np.repeat(votes.held_out[rows], Y.shape[1], axis=0)
        y = (s[rows, None] * Y[rows]).reshape(-1)
        ey += float(y @ ((E / largest) * left_out).sum(axis=1))
    return np.array([ey, entries @ (Y**2).sum(axis=1), entries.sum()])


class LPBoostWeights(Combiner):
    """Maximise the soft margin over convex combinations of the members.

        max_{w, rho, xi}  rho - 1 / (nu N) sum_n xi_n
        S_nk w + xi_n >= rho,   xi >= 0,   sum w = 1,  w >= 0

    S_nk contains, for each member, its vote for the right class of row n minus its vote
    for the wrong class k; for two classes it is y_n F_n. This is the linear programme
    of Demiriz, Bennett and Shawe-Taylor for given members. It maximises the mean margin
    of the fraction nu of the rows with the smallest margins; at most this fraction of
    the rows has a margin below rho. The solution is sparse. A member that abstains has
    votes of zero.

    For regression it minimises the mean error of the fraction nu of the rows with the
    largest errors:

        min_{w, epsilon, xi}  epsilon + 1 / (nu N) sum_n xi_n
        |y_n - F_n w| <= epsilon + xi_n,   xi >= 0,   sum w = 1,  w >= 0

    which is the mean absolute error for nu = 1. The prediction of a member that
    abstains is replaced by the mean of the others.

    HiGHS solves the dual, in a time that grows with the number of rows. With more than
    2,000 rows, rows far above rho are left out at first, and rows far below have their
    multiplier fixed at its bound. Rows that end up on the other side, and wrong classes
    that become the worst of their row, are added until none remains. The result is the
    solution for all rows and classes.

    Parameters
    ----------
    nu : float, default=0.5
        Fraction of the rows whose margins are maximised, in (0, 1]. If a larger
        fraction is misclassified whatever the weights, these rows alone determine them.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        Indices of the members with a nonzero weight.
    rho_ : float
        The margin rho; for regression -epsilon, minus half the width of the tube.
    objective_ : float
        Mean margin, or minus the mean absolute error, of the worst fraction nu of the
        rows.
    n_iter_ : int
        Number of linear programmes solved.

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

    refits_fast: ClassVar[bool] = False
    needs_all: ClassVar[str] = "solves a linear programme in all rows"
    rho_: float
    objective_: float
    n_iter_: int

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def _weigh(self, votes: Votes) -> FloatArray:
        A, s = _margin_rows(votes)
        unit = float(np.abs(A).max()) or 1.0
        A /= unit
        # Costs of the dual: s_n / (nu sum s), 1 / (nu N) without row weights.
        cost = s / s.max()
        cost /= self.nu * cost.sum()
        found = largest_soft_margin(A, cost)
        self.n_iter_ = found.n_iter
        self.rho_ = found.rho * unit
        self.objective_ = found.objective * unit
        return found.w


def _margin_rows(votes: Votes) -> tuple[FloatArray, FloatArray]:
    """Return A of shape (N, R, M) and the row weights.

    The margin of row n is min_r A[n, r] w; rows without votes are left out.
    """
    mask = votes.held_out
    s = votes.row_weights
    if votes.n_classes is not None:
        rows = signed_rows(votes)
        A = rows.S.reshape(-1, rows.group, votes.n_members)
    else:
        # Halved, so that a difference of large numbers stays in range.
        E = votes.F / 2 - np.asarray(votes.y)[:, None] / 2
        if mask is not None:
            E *= mask
            mean = E.sum(axis=1) / np.maximum(mask.sum(axis=1), 1)
            E = np.where(mask, E, mean[:, None])
        A = 2 * np.stack([E, -E], axis=1)
    if mask is not None:
        counted = mask.any(axis=1)
        A, s = A[counted], s[counted]
    return A, s
