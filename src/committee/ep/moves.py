"""The gain of a move of one member, given the others: add, delete or re-estimate.

The data's message about w_i, once the other weights are integrated out, is a Gaussian
of precision r_i and precision x mean u_i (Tipping and Faul 2003). All that a member
can gain depends on q = u^2 / r and on the sign of u.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_ndtr

from committee._typing import BoolArray, FloatArray, IntArray
from committee.ep.posterior import Truncated
from committee.ep.probit_rows import Messages
from committee.ep.sites import hazard

# A message weaker than this share of the member's own information is rounding: the
# member lies in the span of the others.
_LEAST_MESSAGE = 1e-10
# Promises that differ by less than this share of the largest are equal.
_TIE = 1e-9
# log(alpha / r) is sought within these bounds, by bisection.
_BOUND = 50.0
_BISECTIONS = 48


def member_messages(
    messages: Messages, active: IntArray, alpha: FloatArray, fit: Truncated
) -> tuple[FloatArray, FloatArray]:
    """Return r and u of every member.

    outside:  r_i = L_ii - L_ia V L_ai,            u_i = h_i - L_ia m
    active:   r_i = 1/V_ii - alpha_i - tau_i,      u_i = m_i / V_ii - nu_i
    """
    q = fit.normal
    half = messages.L @ q.root
    r = messages.diagonal - np.einsum("ma,ma->m", half, half)
    u = messages.h - messages.L @ q.mean
    precision = 1.0 / q.cov.diagonal()
    r[active] = precision - alpha - fit.tau
    u[active] = q.mean * precision - fit.nu
    spanned = r <= _LEAST_MESSAGE * messages.diagonal
    return np.where(spanned, 0.0, r), np.where(spanned, 0.0, u)


def gain(
    alpha: FloatArray, r: FloatArray, u: FloatArray, *, truncated: bool
) -> FloatArray:
    """Return how much a member raises the log evidence, against its absence.

    l = 1/2 [ log alpha - log(alpha + r) + u^2 / (alpha + r) ]
        + log 2 + log Phi(u / sqrt(alpha + r))

    The second line belongs to the truncated prior.
    """
    total = alpha + r
    value = 0.5 * (np.log(alpha / total) + u * u / total)
    if truncated:
        value = value + np.log(2.0) + log_ndtr(u / np.sqrt(total))
    return np.asarray(value)


def best_alpha(r: FloatArray, u: FloatArray, *, truncated: bool) -> FloatArray:
    """Return the alpha of largest gain; infinity where no finite one gains.

    Without truncation alpha = r^2 / (u^2 - r) if u^2 > r. With it the derivative of
    the gain vanishes where, with x^2 = r / (alpha + r) and q = u^2 / r,

        q x + sqrt(q) r(sqrt(q) x) = x / (1 - x^2),

    which has a root for every u > 0.
    """
    alpha = np.full(r.shape, np.inf)
    able = (r > 0.0) & ((u > 0.0) if truncated else (u * u > r))
    r, u = r[able], u[able]
    if truncated:
        alpha[able] = r * np.exp(_log_ratio(u / np.sqrt(r)))
    else:
        alpha[able] = r * (r / (u * u - r))
    # The best prior of a message that is all but certain is beyond the range of floats.
    alpha[able] = np.clip(alpha[able], r * np.exp(-_BOUND), r * np.exp(_BOUND))
    return alpha


def _log_ratio(z: FloatArray) -> FloatArray:
    """Return log(alpha / r) of the largest gain, given z = u / sqrt(r) > 0.

    Interpolated between 2,000 roots: the gain is flat at its top, so an error of 1e-5
    here is one of 1e-10 there. Beyond them the hazard is zero.
    """
    log_z, root = _roots()
    inside = np.interp(np.log(z), log_z, root)
    return np.where(z > np.exp(log_z[-1]), -2.0 * np.log(z), inside)


@cache
def _roots() -> tuple[FloatArray, FloatArray]:
    """Bisect for the roots on a grid of log z."""
    log_z = np.linspace(-7.0, 7.0, 2000)
    z = np.exp(log_z)
    low, high = np.full(z.shape, -_BOUND), np.full(z.shape, _BOUND)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        x = np.sqrt(expit(-middle))
        slope = z * z * x + z * hazard(z * x) - x / expit(middle)
        low = np.where(slope > 0.0, low, middle)
        high = np.where(slope > 0.0, middle, high)
    return log_z, 0.5 * (low + high)


class Moves(NamedTuple):
    """The best move of every member by itself: its new alpha, and what that promises.

    alpha is infinite outside the committee. A move that keeps a member out, or that
    cannot gain, promises nothing.
    """

    alpha: FloatArray
    promise: FloatArray


def best_moves(
    alpha: FloatArray, r: FloatArray, u: FloatArray, *, price: float, truncated: bool
) -> Moves:
    """Weigh for every member to enter, to leave, or to change its alpha.

    A member is worth its gain less `price`. It belongs in the committee where the
    largest worth is positive.
    """
    best = best_alpha(r, u, truncated=truncated)
    worth = worth_of(best, r, u, price=price, truncated=truncated)
    best = np.where(worth > 0.0, best, np.inf)
    present = worth_of(alpha, r, u, price=price, truncated=truncated)
    return Moves(best, np.maximum(np.maximum(worth, 0.0) - present, 0.0))


def worth_of(
    alpha: FloatArray,
    r: FloatArray,
    u: FloatArray,
    *,
    price: float = 0.0,
    truncated: bool,
) -> FloatArray:
    """Return the gain of each member less the price; 0 for members outside."""
    worth = np.zeros(alpha.shape)
    inside = np.isfinite(alpha)
    worth[inside] = -price + gain(
        alpha[inside], r[inside], u[inside], truncated=truncated
    )
    return worth


def choose_moves(alpha: FloatArray, moves: Moves, *, share: float) -> FloatArray:
    """Return the alphas after all re-estimates and the best entries and exits.

    At most `share` of the committee, and at least one member, may enter, and as many
    may leave; those that enter must promise at least a quarter of the best.
    """
    inside, wanted = np.isfinite(alpha), np.isfinite(moves.alpha)
    limit = max(1, int(share * inside.sum()))
    leaving = _most_promising(moves.promise, inside & ~wanted, limit)
    entering = _most_promising(moves.promise, ~inside & wanted, limit)
    first = moves.promise[entering].max(initial=0.0)
    entering = entering[moves.promise[entering] >= 0.25 * first]
    result = np.where(inside & wanted, moves.alpha, alpha)
    result[entering] = moves.alpha[entering]
    result[leaving] = np.inf
    return np.asarray(result)


def single_move(alpha: FloatArray, moves: Moves, *, barred: IntArray) -> FloatArray:
    """Return the alphas after the one move that promises most."""
    promise = moves.promise.copy()
    promise[barred] = 0.0
    best = int(ranked(promise)[0])
    result = alpha.copy()
    if promise[best] > 0.0:
        result[best] = moves.alpha[best]
    return result


def initial_alphas(moves: Moves, u: FloatArray, n_members: int) -> FloatArray:
    """Return the alphas of the members that promise most with a weight above zero."""
    promise = np.where(u > 0.0, moves.promise, 0.0)
    first = ranked(promise)[:n_members]
    first = first[promise[first] > 0.0]
    result = np.full(len(u), np.inf)
    result[first] = moves.alpha[first]
    return result


def _most_promising(promise: FloatArray, candidates: BoolArray, limit: int) -> IntArray:
    index = np.flatnonzero(candidates)
    return index[ranked(promise[index])][:limit]


def ranked(promise: FloatArray) -> IntArray:
    """Return positions, the largest first; what differs by rounding goes by number.

    Members can be exchangeable to the last digit but one. Which of them comes first
    must not depend on the order in which rows were summed.
    """
    order = np.argsort(-promise, kind="stable")
    falls = -np.diff(promise[order]) > _TIE * np.abs(promise[order[:1]])
    group = np.concatenate([[0], np.cumsum(falls)])[: len(order)]
    return np.asarray(order[np.lexsort((order, group))])
