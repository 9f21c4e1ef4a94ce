"""The logarithmic opinion pool: weights for the members' log-probabilities."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax

from committee._typing import FloatArray, IntArray
from committee._validation import Interval, StrOptions
from committee.bayes.log_pool import Sums, fit_log_pool, loo_scores, row_sums
from committee.combiners.base import Combiner
from committee.combiners.log_odds import (
    check_probabilities,
    least_probability,
    least_slope,
    slope_losses,
)
from committee.combiners.selection import votes_tags
from committee.votes import Sums as SlopeSums
from committee.votes import Votes


class LogPool(Combiner):
    """Weigh log-probabilities, for the least log-loss (a logarithmic opinion pool).

        z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk )
        min_w  - sum_n s_n log p(y_n | x_n) + rho N / 2 ||w - 1/M||^2,    w >= 0

    A product of experts: a member that is sure moves the committee more than one that
    is not, and the sum of the weights, which is free, is an inverse temperature, so that
    the committee is calibrated as it is weighed. The problem is convex; it is solved by
    Newton's method in some five passes over the rows, with exact zeros. One more pass has
    the sums of every row by the weights without it, and the slope that these call for:
    on rows that made the weights their sum is too large, the more so the fewer the rows
    and the fewer mistakes there are.

    For probabilities of unlike models, such as those of a `Pool`: log-loss, ranking,
    thresholds. It needs F of probabilities or votes; of votes alone it makes weighted
    log-odds.

    Parameters
    ----------
    floor : float or "auto", default="auto"
        eps, the least probability that a member can be believed to mean. "auto" is
        1 / (N + K): N rows cannot tell rarer events apart.
    shrinkage : float or "loo", default="loo"
        rho, by how much weights are drawn towards the mean of the logarithms. "loo"
        takes the value between 1e-4 and 10 of least leave-one-out log-loss, by
        Takeuchi's information criterion, which costs no further pass over the rows.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Not negative; they need not sum to one. slope_ times the minimiser.
    floor_ : float
        eps.
    shrinkage_ : float
        rho.
    slope_ : float
        t of the least log-loss of softmax(t s), s the leave-one-out sums, whose targets
        leave 1 / (N + K) to the wrong classes (Platt).
    log_loss_ : float
        The log-loss of a row by these.
    support_ : array
        Members with a nonzero weight.

    Notes
    -----
    With `held_out` a member that abstains adds nothing to the sum, and the sum of the
    others grows by M over their number. A committee made by `prune` has a slope of its
    own in place of the sum of the weights, fitted on rows that did not choose them.
    `to_sklearn` and `to_onnx` know averages only and refuse a log pool.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import LogPool
    >>> rng = np.random.default_rng(0)
    >>> logit = rng.normal(size=1000)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-logit))).astype(int)
    >>> shy, noise = logit / 2, rng.normal(size=1000)
    >>> p = 1 / (1 + np.exp(-np.column_stack([shy, noise])))
    >>> pool = LogPool().fit(np.stack([1 - p, p], axis=2), y)
    >>> pool.weights_.round(1).tolist()
    [1.7, 0.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "floor": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "shrinkage": [StrOptions({"loo"}), Interval(Real, 0, None, closed="neither")],
    }
    takes_chunks: ClassVar[bool] = True

    shrinkage_: float
    slope_: float
    log_loss_: float

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    def __init__(
        self,
        *,
        floor: float | Literal["auto"] = "auto",
        shrinkage: float | Literal["loo"] = "loo",
    ) -> None:
        self.floor = floor
        self.shrinkage = shrinkage

    def _weigh(self, problem: Votes) -> FloatArray:
        least = least_probability(problem, self)
        floor = least if isinstance(self.floor, str) else float(self.floor)

        def at(w: FloatArray) -> Sums:
            sums: Sums = problem.total(_sums, w, floor)
            return sums

        rho = None if isinstance(self.shrinkage, str) else float(self.shrinkage)
        found = fit_log_pool(at, problem.n_members, rho)
        left_out = problem.total(_left_out, found.weights, found.cov, floor)
        self.floor_, self.shrinkage_ = floor, found.shrinkage
        self.slope_, self.log_loss_ = least_slope(left_out, problem.n_classes)
        return self.slope_ * found.weights

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return softmax(s) of s = sum_m w_m z_m, as `combine` returns it.

        Parameters
        ----------
        scores : array of shape (N, K)

        Returns
        -------
        p : array of shape (N, K)
        """
        p: FloatArray = softmax(scores, axis=1)
        return p


def _sums(problem: Votes, w: FloatArray, floor: float) -> Sums:
    check_probabilities(problem.F)
    return row_sums(*_rows(problem), w, floor, **_counted(problem))


def _left_out(
    problem: Votes, w: FloatArray, cov: FloatArray, floor: float
) -> SlopeSums:
    F, y = _rows(problem)
    scores, s = (
        loo_scores(F, y, w, cov, floor, **_counted(problem)),
        problem.row_weights,
    )
    if problem.held_out is None:
        return slope_losses(scores, y, s)
    voting = problem.held_out.any(axis=1)
    return slope_losses(scores[voting], y[voting], s[voting])


def _rows(problem: Votes) -> tuple[FloatArray, IntArray]:
    return problem.F, np.asarray(problem.y, dtype=np.intp)


def _counted(problem: Votes) -> dict[str, Any]:
    return {"held_out": problem.held_out, "sample_weight": problem.sample_weight}
