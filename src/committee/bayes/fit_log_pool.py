"""The logarithmic pool: weights of log-probabilities, and how far to shrink them.

    z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk + b_k )
    L(w, b) = -sum_n s_n log p(y_n | x_n) + lambda/2 ||w - 1/M||^2 + mu/2 ||b||^2,  w >= 0

L is convex. The offsets b are the weights of K further members, whose log-probabilities
are constant: e_k. So v = (w, b), (P,), is one vector: P = M + K with offsets, else M.
The fit needs only a few sums over the rows, at one point v after
the other: the log-likelihood, its gradient, and two matrices (P, P). The sum of the
weights is an inverse temperature, and too large on the rows that made it: `loo_scores`
returns the scores of each row without it, on which a slope can be fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import add
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_softmax, softmax

from committee._typing import BoolArray, FloatArray, IntArray
from committee.linalg import jittered_cholesky
from committee.linalg.simplex import solve_nnqp
from committee.probabilities import pooled_terms

#: lambda / N that are tried, dearest first: of equals the one nearest to equal weights.
SHRINKAGES = np.logspace(1.0, -4.0, 21)
#: mu, the precision of the offsets' prior.
OFFSET_PRECISION = 4.0
#: Steps after which lambda is no longer chosen anew, and all steps.
_CHOOSING, _STEPS = 10, 50
#: What a last step may bring, in units of N.
_TOLERANCE = 1e-13
#: Elements of F that are looked at at once.
_BLOCK = 2**20
#: What a row can have of the weights at most: one that made them alone leaves nothing.
_MOST_LEVERAGE = 0.9
_TINY = np.finfo(np.float64).tiny


class PoolSums(NamedTuple):
    """Sums over rows at a point v, (P,), with r_n = z_n.,y_n - E_p z_n.

    Attributes
    ----------
    weight : float
        N = sum_n s_n.
    value : float
        sum_n s_n log p(y_n | x_n).
    gradient : array of shape (P,)
        sum_n s_n r_n.
    hessian : array of shape (P, P)
        H = sum_n s_n Cov_p(z_n.).
    scatter : array of shape (P, P)
        J = sum_n s_n^2 r_n r_n', by how much single rows pull.
    """

    weight: float
    value: float
    gradient: FloatArray
    hessian: FloatArray
    scatter: FloatArray

    def plus(self, other: PoolSums) -> PoolSums:
        """Return the sums over both sets of rows."""
        return PoolSums(*map(add, self, other))

    def towards(self, d: FloatArray) -> PoolSums:
        """Return the sums at v + d by the quadratic at v, J as it is."""
        Hd = self.hessian @ d
        value = self.value + float(self.gradient @ d - d @ Hd / 2)
        return self._replace(value=value, gradient=self.gradient - Hd)


class PoolPrior(NamedTuple):
    """What v is shrunk to, and how.

    Attributes
    ----------
    target : array of shape (P,)
    precision : array of shape (P,)
        Fixed part of the ridge: mu for offsets, 0 for weights.
    share : array of shape (P,)
        Of lambda: 1 for weights, 0 for offsets.
    signed : bool array of shape (P,)
        False for what is kept at zero or above.
    """

    target: FloatArray
    precision: FloatArray
    share: FloatArray
    signed: BoolArray

    @classmethod
    def of(cls, n_members: int, n_offsets: int = 0, unit: float = 1.0) -> Self:
        """Return the prior of M weights >= 0 near 1/M, and of offsets near 0.

        mu is in units of the mean row weight.
        """
        counts = (n_members, n_offsets)
        return cls(
            np.repeat([1.0 / n_members, 0.0], counts),
            np.repeat([0.0, OFFSET_PRECISION * unit], counts),
            np.repeat([1.0, 0.0], counts),
            np.repeat([False, True], counts),
        )

    def signed_near(self, v: FloatArray) -> Self:
        """Return the prior of weights of either sign near w, offsets near 0 as before."""
        target = np.where(self.share > 0, v, self.target)
        return self._replace(target=target, signed=np.ones(len(v), dtype=bool))

    def ridge(self, lam: float) -> FloatArray:
        """Return the diagonal of the ridge, (P,)."""
        return self.precision + lam * self.share

    def penalty(self, v: FloatArray, lam: float) -> float:
        """Return lambda/2 ||w - 1/M||^2 + mu/2 ||b||^2."""
        return float(self.ridge(lam) @ (v - self.target) ** 2) / 2


class Pooled(NamedTuple):
    """Weights of a pool, and how they were shrunk.

    Attributes
    ----------
    point : array of shape (P,)
        v: weights, then offsets if there are any.
    shrinkage : float
        lambda / N.
    loo : float
        The leave-one-out log-loss of a row, see `loo`.
    cov : array of shape (a, a)
        V = A_cc^-1 of what is not zero.
    """

    point: FloatArray
    shrinkage: float
    loo: float
    cov: FloatArray


def row_sums(
    F: FloatArray,
    y: IntArray,
    v: FloatArray,
    floor: float,
    *,
    held_out: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> PoolSums:
    """Return the sums of rows F (N, M, K) and class codes y at weights and offsets v.

    A member that abstains has z = 0, and where H_n of M members vote the slope of the
    row grows by M / H_n, as if they stood for the others. Rows without votes do not
    count.
    """
    found = None
    for z, s, rows in _blocks(F, floor, held_out, sample_weight, len(v)):
        part = _sums(z, y[rows], s, v)
        found = part if found is None else found.plus(part)
    assert found is not None
    return found


def _blocks(
    F: FloatArray,
    floor: float,
    held_out: BoolArray | None,
    sample_weight: FloatArray | None,
    size: int,
) -> Iterator[tuple[FloatArray, FloatArray, slice]]:
    """Yield z (n, K, P) and s (n,) of some rows after the other, and which they are."""
    N, M, K = F.shape
    s = np.ones(N) if sample_weight is None else sample_weight
    if held_out is not None:
        s = s * held_out.any(axis=1)
    step = max(1, _BLOCK // (size * K))
    for rows in (slice(i, i + step) for i in range(0, N, step)):
        z = np.zeros((len(F[rows]), K, size))
        z[:, :, :M] = pooled_terms(F[rows], floor).transpose(0, 2, 1)
        if held_out is not None:
            z[:, :, :M] *= _slopes(held_out[rows])[:, None, :]
        z[:, np.arange(size - M), np.arange(M, size)] = 1.0  # constant members
        yield z, s[rows], rows


def _slopes(held_out: BoolArray) -> FloatArray:
    """Return M / H_n where a member has a vote, else 0, of shape (N, M)."""
    H = held_out.sum(axis=1, keepdims=True)
    slopes: FloatArray = held_out * (held_out.shape[1] / np.maximum(H, 1))
    return slopes


def _sums(z: FloatArray, y: IntArray, s: FloatArray, v: FloatArray) -> PoolSums:
    """Return the sums of rows z (N, K, P)."""
    log_p = log_softmax(z @ v, axis=1)
    B, r = _pulls(z, y, s, np.exp(log_p))
    value = float(s @ log_p[np.arange(len(y)), y])
    B = B.reshape(-1, len(v))
    return PoolSums(float(s.sum()), value, r.sum(axis=0), B.T @ B, r.T @ r)


def _pulls(
    z: FloatArray, y: IntArray, s: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return B (N, K, P) with s_n Cov_p(z_n.) = B_n'B_n, and s_n r_n (N, P)."""
    centred = z - np.einsum("nk,nkm->nm", p, z)[:, None, :]
    B = np.sqrt(s[:, None] * p)[:, :, None] * centred
    return B, s[:, None] * centred[np.arange(len(y)), y]


def loo_scores(
    F: FloatArray,
    y: IntArray,
    v: FloatArray,
    cov: FloatArray,
    floor: float,
    *,
    held_out: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return sum_m w_m z_nmk + b_k of shape (N, K), by v = (w, b) without the row.

        v - v_without = (A - B'B)^-1 s r = V s r + V B'(I - B V B')^-1 B V s r

    A Newton step from the v of least loss, over those c that are not zero, V =
    A_cc^-1 their `cov`, with B'B = s Cov_p(z). The matrix in the middle counts by its
    quotient at u = B V s r, 1 - u'B V B'u / u'u, which for two classes is exact.
    """
    scores, c = np.empty((len(F), F.shape[2])), v != 0
    for z, s, rows in _blocks(F, floor, held_out, sample_weight, len(v)):
        scores[rows] = z @ v
        B, r = _pulls(z[:, :, c], y[rows], s, softmax(scores[rows], axis=1))
        first = r @ cov
        u = np.einsum("nkm,nm->nk", B, first)
        back = np.einsum("nkm,nk->nm", B, u)
        second = back @ cov
        h = np.sum(second * back, axis=1) / np.maximum(np.sum(u * u, axis=1), _TINY)
        second /= 1.0 - np.minimum(h, _MOST_LEVERAGE)[:, None]
        scores[rows] -= np.einsum("nkm,nm->nk", z[:, :, c], first + second)
    return scores


def fit_log_pool(
    at: Callable[[FloatArray], PoolSums],
    prior: PoolPrior,
    shrinkage: float | None = None,
    start: FloatArray | None = None,
) -> Pooled:
    """Return the v of least loss, with lambda = N times the shrinkage.

    Newton's method: from v it goes to the minimiser over w >= 0 and b of

        penalty + 1/2 (x - v)'H(x - v) - g'(x - v),    x = (w, b),

    with exact zeros, and half as far where that does not lower the loss. Without a
    shrinkage it is the one whose minimiser has the least leave-one-out loss (`loo`) by
    the same quadratic, without another pass over the rows.

    Parameters
    ----------
    at : callable
        `PoolSums` of all rows at v (P,).
    prior : PoolPrior
    shrinkage : float, optional
    start : array of shape (P,), optional
        Default: the target of the prior.
    """
    v = prior.target if start is None else start
    found, chosen = at(v), shrinkage
    for step in range(_STEPS):
        if shrinkage is None and step < _CHOOSING:
            chosen = min(SHRINKAGES, key=lambda rho: _loo_there(found, v, prior, rho))
        assert chosen is not None
        target = _minimiser(found, v, prior, chosen)
        there = found.towards(target - v)
        gain = _loss(found, v, prior, chosen) - _loss(there, target, prior, chosen)
        if gain <= _TOLERANCE * found.weight:
            # So near the quadratic is exact, and the last step needs no look.
            v, found = target, there
            break
        v, found = _lower(at, found, v, target, prior, chosen)
    assert chosen is not None
    V = _cov(found, v, prior, chosen)
    return Pooled(v, float(chosen), loo(found, v, V), V)


def _minimiser(
    found: PoolSums, v: FloatArray, prior: PoolPrior, rho: float
) -> FloatArray:
    """Return the point of least loss by the quadratic at v."""
    ridge = prior.ridge(rho * found.weight)
    A = found.hessian + np.diag(ridge)
    pull = found.gradient + found.hessian @ v + ridge * prior.target
    return solve_nnqp(A, pull, prior.signed)


def _lower(
    at: Callable[[FloatArray], PoolSums],
    found: PoolSums,
    v: FloatArray,
    target: FloatArray,
    prior: PoolPrior,
    rho: float,
) -> tuple[FloatArray, PoolSums]:
    """Return a point on the way to the target with a lower loss, and its sums."""
    before = _loss(found, v, prior, rho)
    for halvings in range(30):
        point = target if halvings == 0 else v + 0.5**halvings * (target - v)
        there = at(point)
        if _loss(there, point, prior, rho) <= before:
            return point, there
    return v, found


def _loss(found: PoolSums, v: FloatArray, prior: PoolPrior, rho: float) -> float:
    """Return L."""
    return prior.penalty(v, rho * found.weight) - found.value


def _loo_there(found: PoolSums, v: FloatArray, prior: PoolPrior, rho: float) -> float:
    """Return the leave-one-out loss of the minimiser, by the quadratic at v."""
    x = _minimiser(found, v, prior, rho)
    return loo(found.towards(x - v), x, _cov(found, x, prior, rho))


def loo(found: PoolSums, v: FloatArray, cov: FloatArray) -> float:
    """Return the leave-one-out log-loss of a row, at the v of least loss.

        (tr(A_cc^-1 J_cc) - sum_n s_n log p(y_n)) / N,   A = H + ridge,   c = {v != 0}

    Without row n the weights move by -A^-1 s_n r_n, and its own loss rises by
    s_n^2 r_n' A^-1 r_n, to first order: the information criterion of Takeuchi, or of
    Murata, Yoshizawa and Amari (1994). Weights at zero stay there. `cov` is A_cc^-1.
    """
    J = found.scatter[np.ix_(v != 0, v != 0)]
    return float(np.sum(cov * J) - found.value) / found.weight


def _cov(found: PoolSums, v: FloatArray, prior: PoolPrior, rho: float) -> FloatArray:
    """Return V = A_cc^-1."""
    c = np.ix_(v != 0, v != 0)
    A = (found.hessian + np.diag(prior.ridge(rho * found.weight)))[c]
    if not len(A):
        return A
    L, _ = jittered_cholesky(A)
    return np.asarray(cho_solve((L, True), np.eye(len(A))))
