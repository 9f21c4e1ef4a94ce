"""The logarithmic opinion pool: weights for the members' log-probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from operator import add
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import Interval, StrOptions
from committee.bayes.fit_log_pool import (
    PoolPrior,
    PoolSums,
    fit_log_pool,
    loo_scores,
    row_sums,
)
from committee.combiners.ballots import votes_tags
from committee.combiners.base import Combiner
from committee.probabilities import pooled_terms
from committee.votes import Sums, Votes


@dataclass(eq=False, repr=False)
class LogPool(Combiner):
    """Weigh log-probabilities to minimise the log-loss (a logarithmic opinion pool).

        z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk + b_k )
        min  - sum_n s_n log p(y_n | x_n) + rho N / 2 ||w - 1/M||^2 + 2 ||b||^2,   w >= 0

    This is a product of experts: confident members count more. The weights need not sum
    to one. Their sum acts as an inverse temperature, so fitting the weights also
    calibrates. The offsets b correct errors that all members share, for example a class
    whose probability all of them underestimate. The problem is convex; Newton's method
    solves it in about five passes over the rows, with exact zeros. One more pass
    computes leave-one-out sums and fits a slope to them. The slope is needed because
    the fitted weights are too large for new rows, especially after few rows or few
    mistakes.

    Use it for probabilities of models of different kinds, as in a `Pool`, if log-loss,
    ranking or thresholds matter. F must contain probabilities or votes; with votes
    alone the sums are weighted log-odds.

    Parameters
    ----------
    offsets : bool, default=True
        Whether to fit offsets b, one for each class.
    signed : bool, default=False
        Whether to allow negative weights, which divide by a member's probabilities.
        Weights are then shrunk towards the non-negative solution instead of 1/M, and
        none is zero.
    floor : float or "auto", default="auto"
        Lower bound eps of the members' probabilities. "auto" is 1 / (N + K), because N
        rows cannot distinguish rarer events, or 4, 16 or 64 times this value, up to
        0.1, if that reduces the leave-one-out loss. Members such as nearest neighbours
        give probability 0 to classes that do occur.
    shrinkage : float or "loo", default="loo"
        Strength rho of the shrinkage towards the weights 1/M. "loo" takes the value
        between 1e-4 and 10 with the smallest leave-one-out log-loss, estimated by
        Takeuchi's information criterion without another pass over the rows.

    Attributes
    ----------
    weights_ : array of shape (M,)
        slope_ times the minimiser. Non-negative unless `signed`; they need not sum to
        one.
    offsets_ : array of shape (K,) or None
        slope_ times b; None without offsets.
    floor_ : float
        eps.
    shrinkage_ : float
        rho.
    slope_ : float
        The t that minimises the log-loss of softmax(t s), where s are the leave-one-out
        sums and the targets give 1 / (N + K) to the wrong classes (Platt).
    log_loss_ : float
        Mean log-loss of these leave-one-out probabilities.
    support_ : array
        Indices of the members with a nonzero weight.

    Notes
    -----
    With `held_out`, a member that abstains adds nothing to the sum, and the sum over
    the other members is multiplied by M and divided by their number. For a committee
    made by `prune`, a separate slope is fitted on rows that were not used to choose the
    members. `to_sklearn` and `to_onnx` export log pools, `to_native` those of boosters.

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
    >>> bool(np.abs(pool.offsets_).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "offsets": ["boolean"],
        "signed": ["boolean"],
        "floor": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "shrinkage": [StrOptions({"loo"}), Interval(Real, 0, None, closed="neither")],
    }
    takes_chunks: ClassVar[bool] = True
    refits_fast: ClassVar[bool] = False

    shrinkage_: float = field(init=False)
    slope_: float = field(init=False)
    log_loss_: float = field(init=False)

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    _: KW_ONLY
    offsets: bool = True
    signed: bool = False
    floor: float | Literal["auto"] = "auto"
    shrinkage: float | Literal["loo"] = "loo"

    def _weigh(self, votes: Votes) -> FloatArray:
        K = check_classes(votes, self)
        M, start = votes.n_members, None
        if isinstance(self.floor, str):
            floor, start = least_probability(votes, self)
            start = start if self.offsets else start[:M]
        else:
            floor = float(self.floor)

        prior = PoolPrior.of(M, K if self.offsets else 0, votes.mean_weight())
        rho = None if isinstance(self.shrinkage, str) else float(self.shrinkage)
        found = weigh_logarithms(votes, floor, prior, rho, start=start)
        if self.signed:
            near = found.weights / found.slope
            prior = prior.near(near, signed=True)
            found = weigh_logarithms(votes, floor, prior, rho)
        self.floor_, self.shrinkage_ = floor, found.shrinkage
        self.slope_, self.log_loss_ = found.slope, found.log_loss
        self.offsets_ = found.offsets if self.offsets else None
        return found.weights


#: Slopes that are tried.
_SLOPES = np.exp(np.linspace(-3.5, 3.5, 71))


class LeftOut(NamedTuple):
    """Losses of rows by weights without them; sums over rows, which can be added up.

    Attributes
    ----------
    right, wrong : array of shape (T,)
        -log p of the right class, and in the mean of the others, at each of the slopes.
    errors : float
        Rows that are wrong.
    weight, n_rows : float
        Total weight and number of the rows.
    """

    right: FloatArray
    wrong: FloatArray
    errors: float
    weight: float
    n_rows: float

    @classmethod
    def of(cls, scores: FloatArray, y: IntArray, s: FloatArray) -> Self:
        """Return the sums of scores (N, K), class codes and row weights (N,)."""
        N, K = scores.shape
        z = scores - scores.max(axis=1, keepdims=True)
        own = z[np.arange(N), y]
        others = (z.sum(axis=1) - own) / (K - 1)
        shift = np.array([s @ np.log(np.exp(t * z).sum(axis=1)) for t in _SLOPES])
        right, wrong = (shift - _SLOPES * float(s @ part) for part in (own, others))
        errors = s @ (z.argmax(axis=1) != y)
        return cls(right, wrong, float(errors), float(s.sum()), float(N))

    def plus(self, other: Self) -> Self:
        """Return the sums over both sets of rows."""
        return type(self)(*map(add, self, other))

    def least(self, n_classes: int) -> tuple[float, float]:
        """Return the slope with the smallest log-loss, and that log-loss of a row.

        As in `fit_slope` the targets leave 1 / (N + K) to the wrong classes. The least of
        the slopes that are tried is refined by the parabola through its neighbours.
        """
        miss = 1.0 / (self.n_rows + n_classes)
        losses = (1 - miss) * self.right + miss * self.wrong
        i = int(np.clip(np.argmin(losses), 1, len(losses) - 2))
        a, b, c = losses[i - 1 : i + 2]
        bend = a - 2 * b + c
        shift = float(np.clip((a - c) / (2 * bend), -1.0, 1.0)) if bend > 0 else 0.0
        slope = _SLOPES[i] * (_SLOPES[1] / _SLOPES[0]) ** shift
        at = np.interp(i + shift, np.arange(len(losses)), self.right)
        return float(slope), float(at / self.weight)


class LogWeights(NamedTuple):
    """Weights of log-probabilities, and their losses on rows left out.

    Attributes
    ----------
    weights : array of shape (M,)
    offsets : array of shape (K,)
        Empty without.
    cov : array of shape (a, a)
        Posterior covariance of the weights that are not zero.
    slope, shrinkage : float
        t, by which weights and offsets are multiplied already, and rho.
    log_loss, error, error_se : float
        Mean log-loss of a row, share of wrong rows and its standard error, by weights
        without the row.
    point : array of shape (P,)
        Weights and offsets before they are multiplied by t.
    """

    weights: FloatArray
    offsets: FloatArray
    cov: FloatArray
    slope: float
    shrinkage: float
    log_loss: float
    error: float
    error_se: float
    point: FloatArray


def weigh_logarithms(
    votes: Votes,
    floor: float,
    prior: PoolPrior,
    rho: float | None = None,
    members: Any = slice(None),
    **how: Any,
) -> LogWeights:
    """Return the weights and offsets with the smallest log-loss, for all or some members.

    `prior` is one of the M weights of these members, and of K or no offsets; `rho` None
    is found by leave-one-out. `how` are `start` and `tol` of `fit_log_pool`.
    """

    def at(v: FloatArray) -> PoolSums:
        sums: PoolSums = votes.total(_sums, members, v, floor)
        return sums

    K = votes.n_classes
    assert K is not None
    found = fit_log_pool(at, prior, rho, **how)
    left_out: LeftOut = votes.total(_left_out, members, found.point, found.cov, floor)
    slope, log_loss = left_out.least(K)
    weights, offsets = np.split(slope * found.point, [int(prior.share.sum())])
    a = np.count_nonzero(weights)
    error = left_out.errors / left_out.weight
    return LogWeights(
        weights,
        offsets,
        slope**2 * found.cov[:a, :a],
        slope,
        found.shrinkage,
        log_loss,
        error,
        float(np.sqrt(error * (1 - error) / left_out.weight)),
        found.point,
    )


def _sums(votes: Votes, members: Any, v: FloatArray, floor: float) -> PoolSums:
    arrays = _arrays(votes, members)
    check_probabilities(arrays["F"])
    return row_sums(**arrays, v=v, floor=floor)


def _left_out(
    votes: Votes, members: Any, v: FloatArray, cov: FloatArray, floor: float
) -> LeftOut:
    arrays = _arrays(votes, members)
    scores = loo_scores(**arrays, v=v, cov=cov, floor=floor)
    mask, y, s = arrays["held_out"], arrays["y"], votes.row_weights
    rows = slice(None) if mask is None else mask.any(axis=1)
    return LeftOut.of(scores[rows], y[rows], s[rows])


def _arrays(votes: Votes, members: Any) -> dict[str, Any]:
    mask = votes.held_out
    return {
        "F": votes.F[:, members],
        "y": np.asarray(votes.y, dtype=np.intp),
        "held_out": None if mask is None else mask[:, members],
        "sample_weight": votes.sample_weight,
    }


#: By how much rounding may take a probability out of [0, 1].
_ROUNDING = 1e-6


#: Floors that are tried, in units of 1 / (N + K), and the largest of them.
_FLOORS, _LARGEST_FLOOR = (1.0, 4.0, 16.0, 64.0), 0.1
#: rho while floors are tried, and the gain in log-loss of all rows that a larger one needs:
#: otherwise a floor that is better by chance would cut a calibrated member.
_FLOOR_SHRINKAGE, _STRONG = 0.01, 3.0
#: What the last step of the fit of a floor may bring to the log-loss of a row.
_FLOOR_TOLERANCE = 1e-7


def check_classes(votes: Votes, combiner: Any) -> int:
    """Return K. Raise ValueError for regression."""
    if votes.n_classes is None:
        raise ValueError(
            f"{combiner} weighs log-probabilities of classes, F of shape (N, M, K). For "
            "two classes use F = np.stack([1 - p, p], axis=2), where p (N, M) holds the "
            "probabilities of the second. For regression use RidgeWeights() or EPPruner()."
        )
    return votes.n_classes


def least_probability(votes: Votes, combiner: Any) -> tuple[float, FloatArray]:
    """Return eps, the least probability that a member can mean, and where to begin.

    N rows cannot tell events rarer than 1 / (N + K) apart; a member that is wrong where
    it says 0, as a few neighbours or trees are, means less than that. Of four floors it
    is the least whose `LogPool` has the smallest leave-one-out loss, up to 3 / N. Each begins
    at the weights and offsets (M + K,) of the one before; those of eps are returned.
    """
    K, N = check_classes(votes, combiner), n_rows_with_votes(votes)
    prior = PoolPrior.of(votes.n_members, K, votes.mean_weight())
    floors = [c / (N + K) for c in _FLOORS]
    floors = [e for e in floors if e <= _LARGEST_FLOOR] or floors[:1]
    found, start = [], None
    for e in floors:
        how = {"start": start, "tol": _FLOOR_TOLERANCE}
        found.append(weigh_logarithms(votes, e, prior, _FLOOR_SHRINKAGE, **how))
        start = found[-1].point
    losses = np.array([one.log_loss for one in found])
    best = int((losses <= losses.min() + _STRONG / max(N, 1)).argmax())
    return floors[best], found[best].point


#: Slope of the logistic function that is nearest to Phi.
_PROBIT = 1.702


def weigh_near(
    votes: Votes,
    members: IntArray,
    w: FloatArray,
    floor: float,
    *,
    signed: bool = False,
) -> LogWeights:
    """Return weights (M,) of these members, near w (M,), and offsets.

    The weights w are those of rows of log-odds under a probit, which has the slope of a
    logistic function at 1.702 w. Probit rows choose the members well; the log-loss is
    that of the softmax, which also has the offsets.
    """
    K = votes.n_classes
    assert K is not None
    prior = PoolPrior.of(len(members), K, votes.mean_weight())
    prior = prior.near(_PROBIT * w[members], signed=signed)
    found = weigh_logarithms(votes, floor, prior, members=members)
    if not found.weights.any():  # the rows speak against all: a committee has members
        near = prior.target[: len(members)]
        found = found._replace(weights=near, cov=np.eye(len(members)))
    weights = np.zeros(len(w))
    weights[members] = found.weights
    return found._replace(weights=weights)


def log_floor(pruner: Any, votes: Votes, *, averages: bool) -> float | None:
    """Return the floor of a log pool, None for votes; refuse what it cannot do.

    The pruner has `pool` and `likelihood`. With `averages` it cannot pool logarithms.
    """
    cannot = pruner.likelihood == "gaussian" or averages
    if pruner.pool == "auto" and (cannot or not holds_probabilities(votes)):
        return None
    if pruner.pool == "votes":
        return None
    if cannot:
        raise ValueError(
            'pool="log" needs likelihood="auto" or "probit", and votes="posterior".'
        )
    return least_probability(votes, pruner)[0]


def holds_probabilities(votes: Votes) -> bool:
    """Return True for probabilities of all members, False for votes, scores or bags.

    A member votes if 99 % of its predictions are 0 or 1; F holds votes if most members
    do. Members that abstain on some rows are a bag: out of bag, log-odds had the
    log-loss of votes with half as many members again.
    """
    if votes.n_classes is None or votes.masked:
        return False
    others, sure, n_rows = votes.total(_sure_predictions)
    return not others and np.mean(sure >= 0.99 * n_rows) <= 0.5


def _sure_predictions(votes: Votes) -> Sums:
    """Return 1 for rows without probabilities; for each member, predictions of 0 or 1."""
    F = votes.F
    fair = _in_range(F) and bool(np.abs(F.sum(axis=2) - 1).max() < 0.1)
    return Sums((float(not fair), (F.max(axis=2) == 1).sum(axis=0), len(F)))


def _in_range(F: FloatArray) -> bool:
    return bool(F.min() >= -_ROUNDING and F.max() <= 1 + _ROUNDING)


def n_rows_with_votes(votes: Votes) -> int:
    """Return the number of rows on which some member has a vote."""
    return int(votes.aside(_n_rows))


def _n_rows(votes: Votes) -> int:
    mask = votes.held_out
    return len(votes.y) if mask is None else int(mask.any(axis=1).sum())


def check_probabilities(F: FloatArray) -> None:
    """Refuse scores, which have no logarithms."""
    if not _in_range(F):
        raise ValueError(
            "A log pool takes logarithms of probabilities or votes, which lie between "
            f"0 and 1. Got values from {F.min():.3g} to {F.max():.3g}: for scores, "
            "such as the rounds of a booster, use EPPruner()."
        )


def in_logarithms(votes: Votes, floor: float | None) -> Votes:
    """Return some of the rows with log clip(F, floor, 1) for F, or as they are."""
    if floor is None:
        return votes
    check_probabilities(votes.F)
    return replace(votes, F=pooled_terms(votes.F, floor))
