"""Samples of the exact posterior of non-negative weights, for fixed precisions.

A Gaussian kept above zero is sampled by Hamiltonian paths that are known in closed form
and bounce off the walls w_i = 0 (Pakman and Paninski, 2014): velocities are drawn again
from their conditional, as in Gibbs sampling, and no path is ever rejected.

With probit terms the paths follow a guide, and the end of a path is accepted by
how much more the posterior gained than the guide. There are two: the Gaussian of EP's
row sites, close to the posterior, and the prior, whose paths reach its tails. Neither
changes what is sampled, only how fast. Latent variables (Albert and Chib, 1993) would
do for rows of weight one only. All chains run side by side.

A weight that the rows press against its wall is all but exponential, and paths would
bounce there without end: such weights are proposed from that exponential instead.

`split_r_hat` and `effective_sample_size` compare the chains. `votes_left_out` and
`targets_left_out` estimate leave-one-out errors by importance sampling:

    p(w | y without case n) ~ p(w | y) / p(y_n | w):    r_sn = 1 / p(y_n | w_s)

are weights of the draws s with which sums belong to the posterior without case n. Ratios
above sqrt(S) times their mean are cut off there, so that no single draw decides (Ionides,
2008). A case of weight s is left out once, or as a whole if s < 1, as in
`committee.ep.loo`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import log_ndtr, logsumexp, ndtri
from scipy.stats import rankdata
from sklearn.utils import gen_batches

from committee._parallel import one_thread
from committee._typing import BoolArray, FloatArray, IntArray
from committee.ep.loo import LeaveOneOut, Loss, target_loo, vote_loo
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
        return _log_gaussian(w, self.P, self.h)

    def spread(self, n_chains: int, rng: np.random.Generator) -> FloatArray:
        """Return starts for the chains, spread wider than their draws will be."""
        steps = np.abs(rng.normal(size=(n_chains, len(self.mode))))
        return np.asarray(self.mode + 2.0 * steps * self.unit)


def _log_gaussian(w: FloatArray, P: FloatArray, h: FloatArray) -> FloatArray:
    """Return h'w - 1/2 w'Pw for each row of w."""
    return np.asarray(w @ h - 0.5 * np.einsum("ci,ij,cj->c", w, P, w))


class _Paths:
    """Paths of some weights under a Gaussian with the other weights at zero."""

    def __init__(self, P: FloatArray, h: FloatArray, members: IntArray) -> None:
        self.P, self.h, self.members = P, h, members
        self.unit = 1.0 / np.sqrt(P.diagonal())
        self.q = normal(P * self.unit * self.unit[:, None], h * self.unit)
        self.reach = 1.0

    def log_density(self, w: FloatArray) -> FloatArray:
        """Return the log density of these weights at each chain, up to a constant."""
        return _log_gaussian(w[:, self.members], self.P, self.h)

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


def split_r_hat(draws: ArrayLike) -> FloatArray:
    """Return the rank-normalised split R-hat, one where the chains agree.

        R = sqrt( ((n - 1) / n W + B / n) / W ),    the larger of two

    W is the mean variance within the half chains and B / n the variance between
    their means, once for the normal scores of the draws and once for the scores of their
    distance from the median, which finds chains that differ in scale only. draws
    (chains, n, ...) with n >= 4; 1 for draws that never move.
    """
    x = _halves(draws)
    flat = x.reshape(-1, *x.shape[2:])
    folded = np.abs(x - np.median(flat, axis=0))
    return np.maximum(_r_hat(_normal_scores(x)), _r_hat(_normal_scores(folded)))


def effective_sample_size(draws: ArrayLike) -> FloatArray:
    """Return the number of independent draws whose mean is equally precise.

        ESS = C n / (1 + 2 sum_t rho_t)

    The sum over lags ends where pairs of neighbouring autocorrelations, made to
    decrease, reach zero (Geyer, 1992). Chains that disagree count for less. At most
    C n log10(C n), for draws that alternate around their mean.
    """
    x = _halves(draws)
    total = x.shape[0] * x.shape[1]
    within, pooled = _variances(x)
    covariance = _autocovariance(x).mean(axis=0)
    still = pooled == 0.0
    # Chains that differ raise every autocorrelation: the pooled variance holds both.
    rho = 1.0 - (within - covariance) / np.where(still, 1.0, pooled)
    rho[0] = 1.0
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2, *rho.shape[1:]).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    pairs = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(total))
    return np.where(still, float(total), total / time)


def _halves(draws: ArrayLike) -> FloatArray:
    """Return (2 C, n // 2, ...): both halves of each chain, a middle draw left out."""
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim < 2 or x.shape[1] < 4:
        raise ValueError(
            "draws must have shape (chains, n, ...) with n >= 4. "
            f"Got an array of shape {x.shape}."
        )
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _variances(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return W, and (n - 1) / n W + B / n."""
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    return within, (n - 1) / n * within + between


def _r_hat(x: FloatArray) -> FloatArray:
    within, pooled = _variances(x)
    diverged = np.where(pooled > 0.0, np.inf, 1.0)
    ratio = np.divide(pooled, within, out=diverged, where=within > 0.0)
    return np.asarray(np.sqrt(ratio))


def _normal_scores(x: FloatArray) -> FloatArray:
    """Return Phi^-1((rank - 3/8) / (S + 1/4)), ranks over all S draws."""
    flat = x.reshape(x.shape[0] * x.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape))


def _autocovariance(x: FloatArray) -> FloatArray:
    """Return the autocovariances of each chain at lags 0..n-1, divided by n - 1."""
    n = x.shape[1]
    # Padded to 2 n, so that the ends of a chain do not meet.
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    covariance = irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n]
    return np.asarray(covariance / (n - 1))


# Numbers in a table of draws by rows: 16 MB.
_ELEMENTS = 2_000_000


def votes_left_out(
    draws: FloatArray,
    S: FloatArray,
    *,
    weight: FloatArray | None = None,
    group: int = 1,
) -> LeaveOneOut:
    """Score probit votes without each case, of `group` consecutive rows.

    draws (n, a) are weights of the columns of S (N, a), the signed rows y_n F_n.
    """
    mean, var, density = _left_out(
        draws, S, lambda z, rows: log_ndtr(z), weight=weight, group=group
    )
    return vote_loo(mean, var, density, weight, group)


def targets_left_out(
    draws: FloatArray,
    F: FloatArray,
    y: FloatArray,
    noise: float,
    *,
    y_scale: float = 1.0,
    weight: FloatArray | None = None,
    loss: Loss | None = None,
) -> LeaveOneOut:
    """Score Gaussian rows, each left out.

    draws (n, a) are weights of the columns of F (N, a). All is in units of `y_scale`,
    the result is not; `loss` as in `residual_loo`.
    """

    def log_p(z: FloatArray, rows: slice) -> FloatArray:
        e = y[rows] - z
        return np.asarray(-0.5 * (np.log(2.0 * np.pi * noise) + e**2 / noise))

    mean, var, density = _left_out(draws, F, log_p, weight=weight)
    return target_loo(
        y, y - mean, var, density, y_scale=y_scale, weight=weight, loss=loss
    )


def _left_out(
    draws: FloatArray,
    X: FloatArray,
    log_p: Callable[[FloatArray, slice], FloatArray],
    *,
    weight: FloatArray | None,
    group: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and variance of w'X_n, and log E p(y_n | w), without each row's case.

    log_p(z, rows) returns log p(y_n | w_s), (n, rows), of z = w'X on some rows.
    """
    mean, var, density = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
    # Blocks of whole cases.
    size = group * max(1, _ELEMENTS // len(draws) // group)
    for rows in gen_batches(len(X), size):
        z = draws @ X[rows].T
        terms = log_p(z, rows)
        ratio = _ratios(terms, weight, rows, group)
        mean[rows] = np.sum(ratio * z, axis=0)
        var[rows] = np.sum(ratio * (z - mean[rows]) ** 2, axis=0)
        density[rows] = logsumexp(terms, b=ratio, axis=0)
    return mean, var, density


def _ratios(
    log_p: FloatArray, weight: FloatArray | None, rows: slice, group: int
) -> FloatArray:
    """Return the weights of the draws without each row's case, (n, rows), that sum to one."""
    n = len(log_p)
    log_r = -log_p.reshape(n, -1, group).sum(axis=2)
    if weight is not None:
        log_r = log_r * np.minimum(weight[rows][::group], 1.0)
    ratio = np.exp(log_r - log_r.max(axis=0))
    ratio = np.minimum(ratio, np.sqrt(n) * ratio.mean(axis=0))
    return np.repeat(ratio / ratio.sum(axis=0), group, axis=1)
