"""The logarithmic opinion pool: weights for the members' log-probabilities."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import log_softmax, softmax

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
from committee.ep.sites import hazard
from committee.probabilities import pooled_terms
from committee.votes import Sums, Votes


class LogPool(Combiner):
    """Weigh log-probabilities, for the least log-loss (a logarithmic opinion pool).

        z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk + b_k )
        min  - sum_n s_n log p(y_n | x_n) + rho N / 2 ||w - 1/M||^2 + 2 ||b||^2,   w >= 0

    A product of experts: a member that is sure moves the committee more than one that
    is not, and the sum of the weights, which is free, is an inverse temperature, so that
    the committee is calibrated as it is weighed. The offsets b mend what the members have
    in common, such as a class that all of them give too little. They are no members and
    cost none. The problem is convex; it is solved by
    Newton's method in some five passes over the rows, with exact zeros. One more pass has
    the sums of every row by the weights without it, and the slope that these call for:
    on rows that made the weights their sum is too large, the more so the fewer the rows
    and the fewer mistakes there are.

    For probabilities of models of different kinds, as in a `Pool`: log-loss, ranking,
    thresholds. It needs F of probabilities or votes; of votes alone it makes weighted
    log-odds.

    Parameters
    ----------
    offsets : bool, default=True
        Whether there are offsets b, one for each class.
    signed : bool, default=False
        Allow weights below zero, which divide by a member's probabilities. They are
        shrunk towards the weights without, instead of 1/M, and none is zero.
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
        Not negative unless `signed`; they need not sum to one. slope_ times the minimiser.
    offsets_ : array of shape (K,) or None
        slope_ times b; None without offsets.
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
    `to_sklearn` and `to_onnx` export averages only and raise for a log pool.

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

    shrinkage_: float
    slope_: float
    log_loss_: float

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    def __init__(
        self,
        *,
        offsets: bool = True,
        signed: bool = False,
        floor: float | Literal["auto"] = "auto",
        shrinkage: float | Literal["loo"] = "loo",
    ) -> None:
        self.offsets = offsets
        self.signed = signed
        self.floor = floor
        self.shrinkage = shrinkage

    def _weigh(self, votes: Votes) -> FloatArray:
        least = least_probability(votes, self)
        floor = least if isinstance(self.floor, str) else float(self.floor)

        def at(v: FloatArray) -> PoolSums:
            sums: PoolSums = votes.total(_sums, v, floor)
            return sums

        M, K = votes.n_members, votes.n_classes
        assert K is not None
        prior = PoolPrior.of(M, K if self.offsets else 0, votes.mean_weight())
        rho = None if isinstance(self.shrinkage, str) else float(self.shrinkage)
        found = fit_log_pool(at, prior, rho)
        if self.signed:
            v = found.point
            found = fit_log_pool(at, prior.signed_near(v), rho, v)
        left_out = votes.total(_left_out, found.point, found.cov, floor)
        self.floor_, self.shrinkage_ = floor, found.shrinkage
        self.slope_, self.log_loss_ = least_slope(left_out, K)
        weights, offsets = np.split(self.slope_ * found.point, [M])
        self.offsets_ = offsets if self.offsets else None
        return weights

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return softmax(s) of s = sum_m w_m z_m + b, as `combine` returns it.

        Parameters
        ----------
        scores : array of shape (N, K)

        Returns
        -------
        p : array of shape (N, K)
        """
        p: FloatArray = softmax(scores, axis=1)
        return p


def _sums(votes: Votes, v: FloatArray, floor: float) -> PoolSums:
    check_probabilities(votes.F)
    return row_sums(**_arrays(votes), v=v, floor=floor)


def _left_out(votes: Votes, v: FloatArray, cov: FloatArray, floor: float) -> Sums:
    arrays = _arrays(votes)
    scores = loo_scores(**arrays, v=v, cov=cov, floor=floor)
    rows = slice(None) if votes.held_out is None else votes.held_out.any(axis=1)
    return slope_losses(scores[rows], arrays["y"][rows], votes.row_weights[rows])


def _arrays(votes: Votes) -> dict[str, Any]:
    return {
        "F": votes.F,
        "y": np.asarray(votes.y, dtype=np.intp),
        "held_out": votes.held_out,
        "sample_weight": votes.sample_weight,
    }


#: By how much rounding may take a probability out of [0, 1].
_ROUNDING = 1e-6
#: Slopes that are tried, in units of the slope of a logistic function like Phi.
_SLOPES = np.exp(np.linspace(-3.5, 3.5, 71))
#: Slope of the logistic function that is nearest to Phi.
_PROBIT = 1.702
#: What a case can have of the weights at most, in total.
_MOST_LEVERAGE = 0.9


def least_probability(votes: Votes, combiner: Any) -> float:
    """Return 1 / (N + K), N the rows with a vote: these cannot tell rarer events apart."""
    if votes.n_classes is None:
        raise ValueError(
            f"{combiner} weighs log-probabilities of classes, F of shape (N, M, K). For "
            "regression take RidgeWeights() or EPPruner()."
        )
    n_rows: int = votes.aside(_n_rows)
    return 1.0 / (n_rows + votes.n_classes)


def log_floor(pruner: Any, votes: Votes, *, equal: bool = False) -> float | None:
    """Return the floor of a log pool, None for votes; refuse what it cannot do.

    The pruner has `pool` and `likelihood`; `equal` is whether its votes are.
    """
    if pruner.pool != "log":
        return None
    if pruner.likelihood == "gaussian" or equal:
        raise ValueError(
            'pool="log" has probit rows and posterior weights: leave likelihood at '
            '"auto" or "probit" and votes at "posterior".'
        )
    return least_probability(votes, pruner)


def _n_rows(votes: Votes) -> int:
    mask = votes.held_out
    return len(votes.y) if mask is None else int(mask.any(axis=1).sum())


def check_probabilities(F: FloatArray) -> None:
    """Refuse scores, which have no logarithms."""
    if not (F.min() >= -_ROUNDING and F.max() <= 1 + _ROUNDING):
        raise ValueError(
            "A log pool takes logarithms of probabilities or votes, which lie between 0 "
            f"and 1. Got values from {F.min():.3g} to {F.max():.3g}: for scores, such as "
            "those of a booster's rounds, take EPPruner()."
        )


def in_logarithms(votes: Votes, floor: float | None) -> Votes:
    """Return some of the rows with log clip(F, floor, 1) for F, or as they are."""
    if floor is None:
        return votes
    check_probabilities(votes.F)
    return replace(votes, F=pooled_terms(votes.F, floor))


def loo_slope(
    votes: Votes, active: IntArray, w: FloatArray, cov: FloatArray, floor: float
) -> float:
    """Return the slope t of p = softmax(t s) of least log-loss, s with its row left out.

        S_nk = z_n.,y_n - z_n.,k,   mu_nk = w'S_nk,   r = phi / Phi,   G_kj = S_nk'V S_nj
        margin_n = mu_n - (I - G diag(h))^-1 G r(mu_n),    h = r (r + mu)

    That is a Newton step of the weights without the K - 1 rows of the case. Where members
    abstain the margin is scaled to a full vote. As in `fit_slope` the targets leave
    1 / (N + K) to the wrong classes. The least of the slopes that are tried is refined
    by the parabola through its neighbours: one pass over the rows.

    Parameters
    ----------
    votes : Votes
    active : array of shape (a,)
        Member numbers.
    w, cov : array of shape (a,), (a, a)
        Their weights and V.
    floor : float
    """
    if not len(active):
        return 1.0
    found = votes.total(_margin_losses, active, w, cov, floor)
    return least_slope(found, votes.n_classes, _PROBIT)[0]


def least_slope(
    found: Sums, n_classes: int | None, unit: float = 1.0
) -> tuple[float, float]:
    """Return the slope of least log-loss, of all that were tried, and that log-loss."""
    right, wrong, weight, n = found
    assert n_classes is not None
    miss = 1.0 / (n + n_classes)
    losses = (1 - miss) * right + miss * wrong
    i = int(np.clip(np.argmin(losses), 1, len(losses) - 2))
    a, b, c = losses[i - 1 : i + 2]
    bend = a - 2 * b + c
    shift = float(np.clip((a - c) / (2 * bend), -1.0, 1.0)) if bend > 0 else 0.0
    slope = unit * _SLOPES[i] * (_SLOPES[1] / _SLOPES[0]) ** shift
    at = np.interp(i + shift, np.arange(len(right)), right)
    return float(slope), float(at / weight)


def slope_losses(
    scores: FloatArray, y: IntArray, s: FloatArray, unit: float = 1.0
) -> Sums:
    """Return log-losses of softmax(t scores) at all slopes t, which can be added up.

    Of the right class, and in the mean of the others; then sum_n s_n and N.
    """
    N, K = scores.shape
    right, wrong = np.zeros(len(_SLOPES)), np.zeros(len(_SLOPES))
    for i, slope in enumerate(unit * _SLOPES):
        log_p = log_softmax(slope * scores, axis=1)
        right[i] = -s @ log_p[np.arange(N), y]
        wrong[i] = (-s @ log_p.sum(axis=1) - right[i]) / (K - 1)
    return Sums((right, wrong, float(s.sum()), float(N)))


def _margin_losses(
    votes: Votes, active: IntArray, w: FloatArray, cov: FloatArray, floor: float
) -> Sums:
    margins = _loo_margins(in_logarithms(votes, floor), active, w, cov)
    scores = np.concatenate([np.zeros((len(margins), 1)), -margins], axis=1)
    right = np.zeros(len(scores), dtype=np.intp)
    return slope_losses(scores, right, votes.row_weights, _PROBIT)


def _loo_margins(
    votes: Votes, active: IntArray, w: FloatArray, cov: FloatArray
) -> FloatArray:
    """Return the margins (N, K - 1) of rows of logarithms."""
    z, y = votes.F[:, active], np.asarray(votes.y, dtype=np.intp)
    N, _, K = z.shape
    S = z[np.arange(N), :, y][:, :, None] - z
    wrong = np.arange(K) != y[:, None]
    S = S.transpose(0, 2, 1)[wrong].reshape(N, K - 1, len(active))
    full = np.ones(N)
    if votes.held_out is not None:
        voting = votes.held_out[:, active]
        S = S * voting[:, None, :]
        present = voting @ np.abs(w)
        # Without any vote there is no margin: the row has no effect on the slope.
        full = np.divide(np.abs(w).sum(), present, out=np.zeros(N), where=present > 0)
    mu = S @ w
    r = hazard(mu)
    G = (S @ cov) @ S.transpose(0, 2, 1)
    leverage = G * (r * (r + mu))[:, None, :]
    share = np.trace(leverage, axis1=1, axis2=2)
    # A row that determines the weights alone would leave nothing to divide by.
    leverage *= np.minimum(1.0, _MOST_LEVERAGE / np.maximum(share, 1e-300))[
        :, None, None
    ]
    pull = np.linalg.solve(np.eye(K - 1) - leverage, G @ r[:, :, None])[:, :, 0]
    margins: FloatArray = (mu - pull) * full[:, None]
    return margins
