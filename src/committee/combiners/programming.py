"""Weights by linear programming: the largest soft margin."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray
from committee._validation import Interval
from committee.combiners.base import Combiner
from committee.combiners.likelihoods import signed_rows
from committee.linalg.soft_margin import largest_soft_margin
from committee.votes import Votes


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

    def _weigh(self, problem: Votes) -> FloatArray:
        A, s = _margin_rows(problem)
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


def _margin_rows(problem: Votes) -> tuple[FloatArray, FloatArray]:
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
