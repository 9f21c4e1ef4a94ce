"""Sections 3.5 and 3.6 of Chen, Tino and Yao, step by step, and nothing else.

Slow and plain: sequential EP, N x N covariances of the targets, one member after the
other. The misprints of the appendix are corrected: C_i = Lambda + sum F_j F_j' / alpha_j.
"""

from typing import NamedTuple

import numpy as np

from tests.reference import ep


class Step(NamedTuple):
    """A committee of the sequence: members, their alphas and weights, eq. 8 or 9."""

    active: list
    alpha: list
    weights: np.ndarray
    noise: float
    loo: float


def regression(F, y, noise=None, *, least, first=(), max_iter=200, n_sweeps=30):
    """Return the committees of a regression; the noise is learned unless given.

    first has the members to begin with.
    """
    learn, noise = noise is None, noise or _what_one_member_leaves(F, y)
    alpha, steps = {}, []
    for _ in range(max_iter):
        target, variance = y, np.full(len(y), noise)
        moves = _first_moves(F, target, variance, first if not alpha else ())
        move = moves or _best_move(F, alpha, target, variance, least)
        if not move:
            return steps
        if alpha and learn:
            noise = _mackay(F, y, alpha, noise)
        _make(move, alpha)
        active = sorted(alpha)
        G = F[:, active]
        m, V, _ = ep.regression(G, y, [alpha[i] for i in active], noise, n_sweeps)
        left_out = [
            ep.without(m, V, x, (noise, t))[0] @ x for x, t in zip(G, y, strict=True)
        ]
        loo = np.mean((left_out - y) ** 2)
        steps.append(Step(active, [alpha[i] for i in active], m, noise, loo))
    return steps


def classification(S, *, least, first=(), max_iter=200, n_sweeps=30):
    """Return the committees of votes; S holds the rows y_n F_n."""
    alpha, steps = {}, []
    # EP without members: Phi(w'S_n) at w = 0 has the slope r(0) and curvature r(0)^2.
    target, variance = np.full(len(S), np.sqrt(np.pi / 2)), np.full(len(S), np.pi / 2)
    for _ in range(max_iter):
        moves = _first_moves(S, target, variance, first if not alpha else ())
        move = moves or _best_move(S, alpha, target, variance, least)
        if not move:
            return steps
        _make(move, alpha)
        active = sorted(alpha)
        G = S[:, active]
        m, V, variance, target = ep.virtual_targets(
            G, [alpha[i] for i in active], n_sweeps
        )
        left_out = [
            ep.without(m, V, x, site)[0] @ x
            for x, site in zip(G, zip(variance, target, strict=True), strict=True)
        ]
        loo = np.mean(np.array(left_out) <= 0.0)
        steps.append(Step(active, [alpha[i] for i in active], m, 1.0, loo))
    return steps


def _first_moves(F, target, variance, first):
    """Return (member, alpha) of eq. 15 for each of the first members, alone."""
    moves = [_best_move(F[:, [i]], {}, target, variance, 0.0) for i in first]
    return [(i, alpha) for i, [(_, alpha)] in zip(first, moves, strict=True)]


def _best_move(F, alpha, target, variance, least):
    """Return [(member, alpha)] of the largest rise of l, [] if it is below `least`."""
    best, move = least, []
    for i in range(F.shape[1]):
        C = np.diag(variance)
        for j in alpha:
            if j != i:
                C = C + np.outer(F[:, j], F[:, j]) / alpha[j]
        r = F[:, i] @ np.linalg.solve(C, F[:, i])
        u = F[:, i] @ np.linalg.solve(C, target)
        eta = u * u - r
        now = _l(alpha[i], r, u) if i in alpha else 0.0
        if eta > 0:
            new, rise = r * r / eta, _l(r * r / eta, r, u) - now
        else:
            new, rise = np.inf, -now
        if np.isinf(new) and len(alpha) == 1:
            continue
        if rise > best:
            best, move = rise, [(i, new)]
    return move


def _l(alpha, r, u):
    """The part of eq. 13 that depends on one alpha."""
    return 0.5 * (np.log(alpha) - np.log(alpha + r) + u * u / (alpha + r))


def _make(moves, alpha):
    for member, new in moves:
        alpha.pop(member, None)
        if np.isfinite(new):
            alpha[member] = new


def _mackay(F, y, alpha, noise):
    """Eqs 11 and 12, and ||y - F mu||^2 / (N - sum_i (1 - alpha_i Sigma_ii))."""
    active = sorted(alpha)
    G, A = F[:, active], np.array([alpha[i] for i in active])
    Sigma = np.linalg.inv(np.diag(A) + G.T @ G / noise)
    mu = Sigma @ G.T @ y / noise
    return np.sum((y - G @ mu) ** 2) / (len(y) - np.sum(1 - A * np.diag(Sigma)))


def _what_one_member_leaves(F, y):
    """Where the noise begins: the mean square that the best member leaves of y."""
    explained = [(f @ y) ** 2 / (f @ f) for f in F.T if f @ y > 0]
    return (y @ y - max(explained)) / len(y)
