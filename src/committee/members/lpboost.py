"""LPBoost: members as columns of a linear programme, one after another."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import FloatArray, Member, Output, RandomState
from committee._validation import Interval
from committee.linalg.soft_margin import SoftMargin, largest_soft_margin
from committee.members.base import (
    Generation,
    Generator,
    Sample,
    TrainingData,
    draw_seeds,
)
from committee.members.boosting import refuse_regression
from committee.members.training import fit_member, run_in_turn
from committee.predictions import predict_one


class LPBoost(Generator):
    """Train each member on the rows that hold the margin of the others down.

        max_{w, rho, xi}  rho - 1 / (nu N) sum_n xi_n
        S_nk w + xi_n >= rho,   xi >= 0,   sum w = 1,  w >= 0

    S_nkm = [m votes for y_n] - [m votes for k], for every wrong class k. The multipliers
    u_nk of the constraints are the rows' weights for the next member, whose column enters
    if its edge sum u_nk S_nk is above that of all members before, which is the value of
    the programme. If it is not, no member that the learner finds can raise the soft
    margin, and training ends (column generation). Members vote with the programme's
    weights, many of them zero.

    With more than two classes the learner sees the sum of u_nk over the wrong classes, not
    which of them a row is mistaken for: a weak one may find no column of a larger edge
    though there is one, and training ends too early. Take a learner that can tell all
    classes apart there.

    No rows are left out: any other combiner weighs the members on their own training
    rows, which flatters them. Prefer a fraction as `weigh_on`, such as 0.25.

    Parameters
    ----------
    n_members : int, default=100
        Members at most.
    nu : float, default=0.2
        Share of the rows with the smallest margins that the programme looks at, in
        (0, 1]; rows that are always wrong should be fewer.
    tol : float, default=1e-6
        By how much an edge must rise.

    References
    ----------
    A. Demiriz, K. P. Bennett, J. Shawe-Taylor. Linear programming boosting via column
    generation. Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import CommitteeClassifier, LPBoost
    >>> X, y = make_classification(flip_y=0.1, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> committee = CommitteeClassifier(stump, generator=LPBoost(20), random_state=0)
    >>> 1 < committee.fit(X, y).n_members_ <= 20
    True
    """

    output: ClassVar[Output] = "hard"
    leaves_rows_out: ClassVar[bool] = False
    default_depth: ClassVar[int | None] = 6
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, n_members: int = 100, *, nu: float = 0.2, tol: float = 1e-6
    ) -> None:
        self.n_members = n_members
        self.nu = nu
        self.tol = tol

    def generate(
        self,
        estimator: Member,
        data: TrainingData,
        *,
        held_out: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> Generation:
        """Train the members; see `Generator.generate`. One at a time, by nature."""
        self._validate_params()
        refuse_regression(self, data)
        seeds = draw_seeds(check_random_state(random_state), self.n_members)
        programme = _Programme(data, self.nu)
        # A job is taken once the multipliers of the last programme are known.
        jobs = (
            (_fit_column, estimator, data, programme.row_weights, int(seed))
            for seed in seeds
        )
        members: list[Member] = []
        results = run_in_turn(jobs, self.n_members, label="boosting", verbose=verbose)
        for member, column in results:
            if members and programme.edge(column) <= programme.value + self.tol:
                break
            members.append(member)
            programme.add(column)
        assert programme.solution is not None
        return Generation(members, weights=programme.solution.w)


class _Programme:
    """The columns so far and the solution with them."""

    def __init__(self, data: TrainingData, nu: float) -> None:
        s = data.sample_weight
        s = np.ones(len(data)) if s is None else s
        self.cost: FloatArray = s / s.sum() / nu
        self.columns: list[FloatArray] = []
        self.solution: SoftMargin | None = None
        self.row_weights: FloatArray = s / s.sum()

    @property
    def value(self) -> float:
        """The largest edge of the members so far."""
        assert self.solution is not None
        return self.solution.objective

    def edge(self, column: FloatArray) -> float:
        """Return sum_nk u_nk S_nk of a column (N, K - 1)."""
        assert self.solution is not None
        return float((self.solution.u * column).sum())

    def add(self, column: FloatArray) -> None:
        """Solve the programme with one more member."""
        self.columns.append(column)
        A = np.stack(self.columns, axis=2)
        self.solution = largest_soft_margin(A, self.cost)
        u = self.solution.u.sum(axis=1)
        self.row_weights = u / u.sum()


def _fit_column(
    estimator: Member, data: TrainingData, u: FloatArray, seed: int
) -> tuple[Member, FloatArray]:
    """Train a member on weights of mean one, and return its column S (N, K - 1)."""
    N = len(data)
    member = fit_member(estimator, data, Sample(np.arange(N), u * N), seed)
    votes = predict_one(member, data.X, classes=data.classes, output="hard")
    K = votes.shape[1]
    own = votes[np.arange(N), data.y][:, None]
    others = np.ones((N, K), dtype=bool)
    others[np.arange(N), data.y] = False
    return member, own - votes[others].reshape(N, K - 1)
