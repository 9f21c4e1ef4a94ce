"""Leave-one-out estimates, read off the cavities of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray
from committee.ep.arrays import in_units

# A row that the others leave less than this share of is known by rounding only.
_LEAST_KEPT = 1e-13

Loss = Callable[[FloatArray], FloatArray]


class LooScore(NamedTuple):
    """Mean loss, its standard error, and the mean log predictive density."""

    error: float
    standard_error: float
    density: float


class ScoreSums(NamedTuple):
    """Sums over some cases from which scores follow, so that sets of cases can be added.

    Losses are in units of `top`, the largest of them: squared errors of large targets
    must not be summed, nor squared again. Sums of votes that are wrong are exact, so
    that committees with as many of them stay equal.
    """

    weight: float
    top: float
    loss: float
    spread: float
    density: float

    @classmethod
    def of(
        cls, losses: FloatArray, log_density: FloatArray, weight: FloatArray | None
    ) -> ScoreSums:
        """Return the sums over cases: of losses, squares about their mean, densities."""
        top = float(losses.max()) or 1.0
        s = np.ones(len(losses)) if weight is None else weight
        share, total = losses / top, float(s.sum())
        loss = float(share @ s)
        spread = float((share - loss / total) ** 2 @ s)
        return cls(total, top, loss, spread, float(log_density @ s))

    def plus(self, other: ScoreSums) -> ScoreSums:
        """Return the sums over both sets of cases.

        spread = spread_1 + spread_2 + (mean_1 - mean_2)^2 s_1 s_2 / (s_1 + s_2)
        """
        top, total = max(self.top, other.top), self.weight + other.weight
        one, two = self.top / top, other.top / top
        gap = two * other.loss / other.weight - one * self.loss / self.weight
        between = gap**2 * self.weight * (other.weight / total)
        return ScoreSums(
            total,
            top,
            one * self.loss + two * other.loss,
            one**2 * self.spread + two**2 * other.spread + between,
            self.density + other.density,
        )

    @property
    def score(self) -> LooScore:
        """Return the averages over cases."""
        error = self.top * (self.loss / self.weight)
        standard_error = self.top * float(np.sqrt(self.spread)) / self.weight
        return LooScore(error, standard_error, self.density / self.weight)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of each case by a committee that has not seen it.

    Parameters
    ----------
    mean, var : arrays of shape (N,)
        Cavity mean and variance of w'F_n (regression) or w'S_n (classification).
    loss : array of shape (n_cases,)
        Squared error, or 0 / 1 error with one half for a tie.
    log_density : array of shape (n_cases,)
        Log predictive density of the target.
    weight : array of shape (n_cases,), default=None
        Case weights. None means all one.
    """

    mean: FloatArray
    var: FloatArray
    loss: FloatArray
    log_density: FloatArray
    weight: FloatArray | None = None

    @property
    def sums(self) -> ScoreSums:
        """Return the sums for the scores, which can be added to sums of other rows."""
        return ScoreSums.of(self.loss, self.log_density, self.weight)

    @property
    def score(self) -> LooScore:
        """Return the averages over cases."""
        return self.sums.score


def vote_loo(
    c_mean: FloatArray,
    c_var: FloatArray,
    log_z: FloatArray,
    weight: FloatArray | None,
    group: int,
) -> LeaveOneOut:
    """Score the cavities of signed rows; `group` consecutive rows are one case.

    A row is wrong where c_mean < 0 and half wrong at a tie; a case is as wrong as the
    worst of its rows, and its log density is their sum of log Phi.
    """
    wrong = np.where(c_mean < 0.0, 1.0, np.where(c_mean == 0.0, 0.5, 0.0))
    return LeaveOneOut(
        mean=c_mean,
        var=c_var,
        loss=wrong.reshape(-1, group).max(axis=1),
        log_density=log_z.reshape(-1, group).sum(axis=1),
        weight=None if weight is None else weight[::group],
    )


def residual_loo(
    y: FloatArray,
    prediction: FloatArray,
    leverage: FloatArray,
    noise: float,
    *,
    y_scale: float = 1.0,
    weight: FloatArray | None = None,
    loss: Loss | None = None,
) -> LeaveOneOut:
    """Score Gaussian rows by their leverage h_n = F_n'V F_n / noise.

    loo_n = y_n - (y_n - F_n'm) / (1 - h_n),   predictive variance noise / (1 - h_n)

    The arguments are in units of `y_scale`, the result is not. `loss` maps the N
    predictions loo_n to the losses of the cases. None means the squared error.
    """
    # A row of weight s is left out once, or as a whole when s < 1.
    share = leverage if weight is None else leverage * np.minimum(weight, 1.0)
    kept = np.maximum(1.0 - share, _LEAST_KEPT)
    residual = (y - prediction) / kept
    spread = noise / kept
    log_density = -0.5 * (np.log(2.0 * np.pi * spread) + residual**2 / spread)
    return target_loo(
        y,
        residual,
        spread - noise,
        log_density,
        y_scale=y_scale,
        weight=weight,
        loss=loss,
    )


def target_loo(
    y: FloatArray,
    residual: FloatArray,
    var: FloatArray,
    log_density: FloatArray,
    *,
    y_scale: float = 1.0,
    weight: FloatArray | None = None,
    loss: Loss | None = None,
) -> LeaveOneOut:
    """Score Gaussian rows by y_n - loo_n, the variance and log density of loo_n.

    Units and `loss` as in `residual_loo`.
    """
    mean = in_units(y - residual, y_scale)
    if loss is None:
        case_loss = in_units(residual**2, y_scale, y_scale)
    else:
        case_loss = loss(mean)
    group = len(y) // len(case_loss)
    return LeaveOneOut(
        mean=mean,
        var=in_units(var, y_scale, y_scale),
        loss=case_loss,
        log_density=(log_density - np.log(y_scale)).reshape(-1, group).sum(axis=1),
        weight=None if weight is None else weight[::group],
    )
