"""Committees of log-probabilities: their floor, and a slope from left-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import log_ndtr, log_softmax

from committee._typing import FloatArray, IntArray
from committee.probabilities import pooled_terms
from committee.votes import Sums, Votes

#: By how much rounding may take a probability out of [0, 1].
_ROUNDING = 1e-6
#: Slopes that are tried, in units of that of a logistic function like Phi.
_SLOPES = np.exp(np.linspace(-3.5, 3.5, 71))
#: Slope of the logistic function that is nearest to Phi.
_PROBIT = 1.702
#: What a case can have of the weights at most, in total.
_MOST_LEVERAGE = 0.9


def least_probability(problem: Votes, combiner: Any) -> float:
    """Return 1 / (N + K), N the rows with a vote: these cannot tell rarer events apart."""
    if problem.n_classes is None:
        raise ValueError(
            f"{combiner} weighs log-probabilities of classes, F of shape (N, M, K). For "
            "regression take LeastSquares, SimplexWeights or EPPruner()."
        )
    n_rows: int = problem.aside(_n_rows)
    return 1.0 / (n_rows + problem.n_classes)


def log_floor(pruner: Any, problem: Votes, *, equal: bool = False) -> float | None:
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
    return least_probability(problem, pruner)


def _n_rows(problem: Votes) -> int:
    mask = problem.held_out
    return len(problem.y) if mask is None else int(mask.any(axis=1).sum())


def check_probabilities(F: FloatArray) -> None:
    """Refuse scores, which have no logarithms."""
    if not (F.min() >= -_ROUNDING and F.max() <= 1 + _ROUNDING):
        raise ValueError(
            "A log pool takes logarithms of probabilities or votes, which lie between 0 "
            f"and 1. Got values from {F.min():.3g} to {F.max():.3g}: for scores, such as "
            "those of a booster's rounds, take EPPruner()."
        )


def in_logarithms(problem: Votes, floor: float | None) -> Votes:
    """Return some of the rows with log clip(F, floor, 1) for F, or as they are."""
    if floor is None:
        return problem
    check_probabilities(problem.F)
    return replace(problem, F=pooled_terms(problem.F, floor))


def loo_slope(
    problem: Votes, active: IntArray, w: FloatArray, cov: FloatArray, floor: float
) -> float:
    """Return the slope t of p = softmax(t s) of least log-loss, s with its row left out.

        S_nk = z_n.,y_n - z_n.,k,   mu_nk = w'S_nk,   r = phi / Phi,   G_kj = S_nk'V S_nj
        margin_n = mu_n - (I - G diag(h))^-1 G r(mu_n),    h = r (r + mu)

    That is a Newton step of the weights without the K - 1 rows of the case. Where members
    abstain the margin is that of a full vote. As in `fit_slope` the targets leave
    1 / (N + K) to the wrong classes. The least of the slopes that are tried is refined
    by the parabola through its neighbours: one pass over the rows.

    Parameters
    ----------
    problem : Votes
    active : array of shape (a,)
        Member numbers.
    w, cov : array of shape (a,), (a, a)
        Their weights and V.
    floor : float
    """
    if not len(active):
        return 1.0
    found = problem.total(_margin_losses, active, w, cov, floor)
    return least_slope(found, problem.n_classes, _PROBIT)[0]


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
    problem: Votes, active: IntArray, w: FloatArray, cov: FloatArray, floor: float
) -> Sums:
    margins = _loo_margins(in_logarithms(problem, floor), active, w, cov)
    scores = np.concatenate([np.zeros((len(margins), 1)), -margins], axis=1)
    right = np.zeros(len(scores), dtype=np.intp)
    return slope_losses(scores, right, problem.row_weights, _PROBIT)


def _loo_margins(
    problem: Votes, active: IntArray, w: FloatArray, cov: FloatArray
) -> FloatArray:
    """Return the margins (N, K - 1) of rows of logarithms."""
    z, y = problem.F[:, active], np.asarray(problem.y, dtype=np.intp)
    N, _, K = z.shape
    S = z[np.arange(N), :, y][:, :, None] - z
    wrong = np.arange(K) != y[:, None]
    S = S.transpose(0, 2, 1)[wrong].reshape(N, K - 1, len(active))
    full = np.ones(N)
    if problem.held_out is not None:
        voting = problem.held_out[:, active]
        S = S * voting[:, None, :]
        present = voting @ np.abs(w)
        # Without any vote there is no margin, and the row says nothing of a slope.
        full = np.divide(np.abs(w).sum(), present, out=np.zeros(N), where=present > 0)
    mu = S @ w
    r = np.exp(-0.5 * (mu**2 + np.log(2 * np.pi)) - log_ndtr(mu))
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
