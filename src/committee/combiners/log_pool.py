"""The logarithmic opinion pool: weights for the members' log-probabilities."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax

from committee._typing import FloatArray
from committee._validation import Interval, StrOptions
from committee.bayes.log_pool import Sums, fit_log_pool, row_sums
from committee.combiners.base import Combiner
from committee.combiners.log_odds import check_probabilities, least_probability
from committee.combiners.problem import Problem
from committee.combiners.selection import votes_tags


class LogPool(Combiner):
    """Weigh log-probabilities, for the least log-loss (a logarithmic opinion pool).

        z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk )
        min_w  - sum_n s_n log p(y_n | x_n) + rho N / 2 ||w - 1/M||^2,    w >= 0

    A product of experts: a member that is sure moves the committee more than one that
    is not, and the sum of the weights, which is free, is a temperature, so that the
    committee is calibrated as it is weighed. The problem is convex; it is solved by
    Newton's method in some five passes over the rows, with exact zeros.

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
        Not negative; they need not sum to one.
    floor_ : float
        eps.
    shrinkage_ : float
        rho.
    log_loss_ : float
        The leave-one-out log-loss of a row, by the same criterion.
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

    def _weigh(self, problem: Problem) -> FloatArray:
        least = least_probability(problem, self)
        floor = least if isinstance(self.floor, str) else float(self.floor)

        def at(w: FloatArray) -> Sums:
            sums: Sums = problem.total(_sums, w, floor)
            return sums

        rho = None if isinstance(self.shrinkage, str) else float(self.shrinkage)
        found = fit_log_pool(at, problem.n_members, rho)
        self.floor_, self.shrinkage_ = floor, found.shrinkage
        self.log_loss_ = found.loo
        return found.weights

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


def _sums(problem: Problem, w: FloatArray, floor: float) -> Sums:
    check_probabilities(problem.F)
    return row_sums(
        problem.F,
        np.asarray(problem.y, dtype=np.intp),
        w,
        floor,
        held_out=problem.held_out,
        sample_weight=problem.sample_weight,
    )
