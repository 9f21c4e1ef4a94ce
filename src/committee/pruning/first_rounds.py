"""The first rounds of a booster: what a choice among its rounds has to beat.

Rounds are a sequence: round t corrects rounds 1 ... t - 1. So the first t rounds, which is
the booster stopped early, compete with every other choice of rounds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.combiners import Combiner
from committee.held_out import sizes_up_to
from committee.losses import log_losses, mean_and_se
from committee.path import Path
from committee.probabilities import fit_slope, slope_probabilities
from committee.votes import Votes


class FirstRounds(Combiner):
    """Keep the first t rounds, with one scale.

        f_t = start + c_t sum_{m <= t} h_m
            = (c_t / M) sum_{m <= t} F_m + (1 - c_t t / M) start,    F_m = start + M h_m

    For regression c_t has the smallest squared error, and errors are leave-one-out. For
    classes c_t = 1, and the log-loss is the one of softmax(b f_t) with its best slope b,
    which a calibration finds again. The number t with the smallest error is kept; up to 25 numbers
    in equal ratios are compared.

    Parameters
    ----------
    start : float or array of shape (K,)
        F without any round.
    limit : int, default=None
        Largest number that is kept; None is M. The path has all numbers.
    """

    def __init__(self, start: Any, limit: int | None = None) -> None:
        self.start = start
        self.limit = limit

    def _weigh(self, votes: Votes) -> FloatArray:
        M, start = votes.n_members, np.asarray(self.start)
        sizes = np.array(sizes_up_to(M))
        loss_of = _log_loss if start.ndim else _squared_error
        total: Any = 0.0
        found = []
        for before, t in pairwise([0, *sizes]):
            total = total + (votes.F[:, before:t] - start).sum(axis=1)
            found.append(loss_of(total / M, start, votes))
        c, error, se = np.array(found).T
        weights = (c / M)[:, None] * (np.arange(M) < sizes[:, None])
        left = 1.0 - c * sizes / M
        self.path_ = Path(
            weights,
            error,
            se,
            "log-loss" if start.ndim else "mean squared error",
            offsets=np.multiply.outer(left, start),
        )
        within = sizes <= (M if self.limit is None else self.limit)
        best = int(np.where(within, error, np.inf).argmin())
        if start.ndim:
            self.offsets_ = self.path_.offset(best)
        else:
            self.intercept_ = float(self.path_.offset(best))
        return np.array(weights[best])


def _log_loss(
    H: FloatArray, start: FloatArray, votes: Votes
) -> tuple[float, float, float]:
    """Return c = 1, and the log-loss of start + H with its standard error."""
    S, y = start + H, np.asarray(votes.y, dtype=np.intp)
    b = fit_slope(S, y, votes.sample_weight)
    losses = log_losses(slope_probabilities(S, b), y)
    return 1.0, *mean_and_se(losses, votes.sample_weight)


def _squared_error(
    H: FloatArray, start: FloatArray, votes: Votes
) -> tuple[float, float, float]:
    """Return c of least squares for start + c H, and its leave-one-out error.

    e_n / (1 - s_n H_n^2 / sum_i s_i H_i^2) is the error of row n for c without the row. Rounds
    that do not help have c = 1.
    """
    s, y = votes.row_weights, votes.y - start
    squares = s * H**2
    c = float(s @ (H * y) / squares.sum()) if squares.any() else 1.0
    if c <= 0:
        return 1.0, *mean_and_se((y - H) ** 2, s)
    others = np.maximum(1.0 - squares / squares.sum(), np.finfo(np.float64).eps)
    return c, *mean_and_se(((y - c * H) / others) ** 2, s)
