"""Samples of the exact posterior of non-negative weights, for fixed precisions.

A Gaussian kept above zero is sampled by Hamiltonian paths that are known in closed
form and bounce off the walls w_i = 0 (Pakman and Paninski, 2014): velocities are drawn
anew from their conditional, as in Gibbs sampling, and no path is ever refused.

With probit terms the paths follow a guide, and the end of a path is accepted by
how much more the posterior gained than the guide. There are two: the Gaussian of EP's
row sites, close to the posterior, and the prior, whose paths reach its tails. Neither
changes what is sampled, only how fast. Latent variables (Albert and Chib, 1993) would
do for rows of weight one only. All chains run side by side.

A weight that the rows press against its wall is all but exponential, and paths would
bounce there without end: such weights are proposed from that exponential instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import log_ndtr

from committee._parallel import one_thread
from committee._typing import BoolArray, FloatArray, IntArray
from committee.ep.posterior import classification_posterior
from committee.ep.sites import Normal, normal
from committee.linalg import solve_nnqp

LogDensity = Callable[[FloatArray], FloatArray]

# After a quarter of a period a free path has forgotten its start; over lengths that
# are uniform on half a period its end is uncorrelated with the start as well.
_QUARTER, _HALF = 0.5 * np.pi, np.pi
# Where rows are separable EP needs hundreds of sweeps, and many small steps that all
# point the same way look like none to a looser tolerance.
_GUIDE_TOL, _GUIDE_SWEEPS = 1e-4, 2000
# Slope of the log density at a wall, in conditional deviations, from which a weight is
# taken as exponential: the Gaussian's own bend is then a part of 1 / 100.
_PRESSED = 10.0
# Bounces off walls for each weight, after which a path is refused; paths get shorter
# during the warm-up where that happens.
_BOUNCES, _SHORTER = 30, 0.7


def sample_truncated(
    P: FloatArray,
    h: FloatArray,
    *,
    n_samples: int = 1000,
    n_chains: int = 4,
    n_warmup: int = 100,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw from a Gaussian that is kept above zero.

        p(w) ~ exp(-1/2 w'Pw + h'w) prod_i [w_i > 0]

    P (a, a) is the precision, h (a,) precision times mean of the Gaussian without the
    truncation. Returns (n_chains, n_samples, a), after n_warmup draws of each chain.
    """
    with one_thread():
        return _walk([_Guide(P, h)], None, (n_chains, n_warmup, n_samples), rng)


def sample_probit(
    S: FloatArray,
    alpha: FloatArray,
    *,
    sample_weight: FloatArray | None = None,
    n_samples: int = 1000,
    n_chains: int = 4,
    n_warmup: int = 100,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw from the posterior of non-negative weights of probit votes.

        p(w) ~ prod_n Phi(w'S_n)^{s_n} prod_i N(w_i | 0, 1/alpha_i) [w_i > 0]

    S (N, a) holds the signed rows y_n F_n, 0 for an abstention; sample_weight (N,) the
    powers s_n. Returns (n_chains, n_samples, a).
    """
    with one_thread():
        S = np.asarray(S, dtype=np.float64)
        s = np.ones(len(S)) if sample_weight is None else sample_weight
        sites = classification_posterior(
            S, alpha, sample_weight=s, tol=_GUIDE_TOL, max_iter=_GUIDE_SWEEPS
        ).row_sites
        assert sites is not None
        L, h = S.T @ (S * (s * sites.t)[:, None]), (s * sites.u) @ S

        def log_density(w: FloatArray) -> FloatArray:
            return np.asarray(log_ndtr(w @ S.T) @ s - 0.5 * (w * w) @ alpha)

        prior = np.diag(alpha)
        guides = [_Guide(prior + L, h), _Guide(prior, np.zeros_like(h))]
        return _walk(guides, log_density, (n_chains, n_warmup, n_samples), rng)


class _Guide:
    """A Gaussian whose paths are followed, in units of its conditional deviations.

    log density:  h'w - 1/2 w'Pw

    Weights are `pressed` where its slope at the mode is steep:  rate = P mode - h.
    """

    def __init__(self, P: FloatArray, h: FloatArray) -> None:
        self.P, self.h = P, h
        self.unit = 1.0 / np.sqrt(P.diagonal())
        self.mode = solve_nnqp(P, h)
        self.rate = P @ self.mode - h
        pressed = self.rate * self.unit > _PRESSED
        self.pressed, free = np.flatnonzero(pressed), np.flatnonzero(~pressed)
        self.moves: list[_Paths | _Exponentials] = []
        if len(free):
            self.moves.append(_Paths(P[np.ix_(free, free)], h[free], free))
        if len(self.pressed):
            self.moves.append(_Exponentials(self.rate[self.pressed], self.pressed))

    def log_density(self, w: FloatArray) -> FloatArray:
        """Return the log density at each chain, up to a constant."""
        return np.asarray(w @ self.h - 0.5 * np.einsum("ci,ij,cj->c", w, self.P, w))

    def spread(self, n_chains: int, rng: np.random.Generator) -> FloatArray:
        """Return starts for the chains, spread wider than their draws will be."""
        steps = np.abs(rng.normal(size=(n_chains, len(self.mode))))
        return np.asarray(self.mode + 2.0 * steps * self.unit)


class _Paths:
    """Paths of some weights under a Gaussian with the other weights at zero."""

    def __init__(self, P: FloatArray, h: FloatArray, members: IntArray) -> None:
        self.P, self.h, self.members = P, h, members
        self.unit = 1.0 / np.sqrt(P.diagonal())
        self.q = normal(P * self.unit * self.unit[:, None], h * self.unit)
        self.reach = 1.0

    def log_density(self, w: FloatArray) -> FloatArray:
        """Return the log density of these weights at each chain, up to a constant."""
        w = w[:, self.members]
        return np.asarray(w @ self.h - 0.5 * np.einsum("ci,ij,cj->c", w, self.P, w))

    def propose(
        self, w: FloatArray, time: FloatArray, rng: np.random.Generator, learn: bool
    ) -> FloatArray:
        """Return where paths with random velocities end."""
        # Velocities have the covariance of the Gaussian: all paths have period 2 pi.
        velocity = rng.normal(size=(len(w), len(self.h))) @ self.q.root.T
        start = w[:, self.members] / self.unit
        ends, arrived = follow(start, velocity, self.reach * time, self.q)
        if learn and not arrived.all():
            self.reach *= _SHORTER
        end = w.copy()
        end[:, self.members] = np.where(
            arrived[:, None], ends * self.unit, w[:, self.members]
        )
        return end


class _Exponentials:
    """Draws of weights that are pressed against their walls:  log q = -rate'w."""

    def __init__(self, rate: FloatArray, members: IntArray) -> None:
        self.rate, self.members = rate, members

    def log_density(self, w: FloatArray) -> FloatArray:
        """Return the log density of these weights at each chain, up to a constant."""
        return np.asarray(-w[:, self.members] @ self.rate)

    def propose(
        self, w: FloatArray, time: FloatArray, rng: np.random.Generator, learn: bool
    ) -> FloatArray:
        """Return new draws, whatever the weights were."""
        end = w.copy()
        end[:, self.members] = rng.exponential(
            1.0 / self.rate, size=(len(w), len(self.rate))
        )
        return end


def _walk(
    guides: Sequence[_Guide],
    log_density: LogDensity | None,
    size: tuple[int, int, int],
    rng: np.random.Generator,
) -> FloatArray:
    """Run all chains over a log density, or over the one guide itself without it.

    The end of a path is accepted with the probability that the density gained more
    than the guide's: min(1, exp(log p(end) - log q(end) - log p(w) + log q(w))).
    """
    n_chains, n_warmup, n_samples = size
    w = guides[0].spread(n_chains, rng)
    moves = [move for guide in guides for move in guide.moves]
    exact = log_density is None and len(moves) == 1 and not len(guides[0].pressed)
    if log_density is None:
        log_density = guides[0].log_density
    samples = np.empty((n_chains, n_samples, w.shape[1]))
    log_p = log_density(w)
    for step in range(-n_warmup, n_samples):
        for move in moves:
            if exact:
                w = move.propose(w, np.full(n_chains, _QUARTER), rng, step < 0)
                continue
            # Short paths get away from where long ones are refused.
            time = rng.uniform(0.0, _HALF, n_chains)
            end = move.propose(w, time, rng, step < 0)
            new = log_density(end)
            gain = new - move.log_density(end) - log_p + move.log_density(w)
            accept = np.log(rng.random(n_chains)) < gain
            w = np.where(accept[:, None], end, w)
            log_p = np.where(accept, new, log_p)
        if step >= 0:
            samples[:, step] = w
    return samples


def follow(
    w: FloatArray, velocity: FloatArray, time: FloatArray, q: Normal
) -> tuple[FloatArray, BoolArray]:
    """Return where the paths of a Gaussian's energy end, walls at zero.

        w(t) = m + (w - m) cos t + v sin t,    off wall i:  v - 2 v_i V_i / V_ii

    w >= 0 and velocity (chains, a), time (chains,) of at most pi; q is the Gaussian
    without walls. Never negative. Also returns which paths have arrived, (chains,):
    one of too many bounces may be refused, as the way back has as many.
    """
    chains = np.arange(len(w))
    x, v, left = w - q.mean, velocity, time
    for _ in range(_BOUNCES * (w.shape[1] + 3)):
        until = _time_to_walls(x, v, q.mean)
        wall = until.argmin(axis=1)
        t = np.minimum(until[chains, wall], left)
        cos, sin = np.cos(t)[:, None], np.sin(t)[:, None]
        x, v = x * cos + v * sin, v * cos - x * sin
        # Rounding must not carry a chain through a wall.
        x = np.maximum(x, -q.mean)
        left = left - t
        if not left.any():
            break
        hit = chains[left > 0.0]
        i = wall[hit]
        x[hit, i] = -q.mean[i]
        v[hit] -= (2.0 * v[hit, i] / q.cov[i, i])[:, None] * q.cov[i]
    return np.asarray(x + q.mean), left == 0.0


def _time_to_walls(x: FloatArray, v: FloatArray, mean: FloatArray) -> FloatArray:
    """Return when each weight next falls to zero, infinity if it never does.

    mean + r cos(t - phi) = 0 with r = |(x, v)|: on the way down t = phi + acos(-mean / r)
    """
    r = np.hypot(x, v)
    reach = r > mean
    cosine = np.divide(-mean, r, out=np.ones_like(r), where=reach & (r > 0.0))
    t = np.arctan2(v, x) + np.arccos(np.clip(cosine, -1.0, 1.0))
    falling = (x <= -mean) & (v < 0.0)
    return np.where(falling, 0.0, np.where(reach, np.maximum(t, 0.0), np.inf))
