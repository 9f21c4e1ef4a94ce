"""The logarithmic pool: weights of log-probabilities, and how far to shrink them.

    z_nmk = log clip(F_nmk, eps, 1),    p(k | x_n) = softmax_k( sum_m w_m z_nmk )
    L(w)  = -sum_n s_n log p(y_n | x_n) + lambda/2 ||w - 1/M||^2,    w >= 0

L is convex. The fit needs only a few sums over the rows, at one point w after
the other: the log-likelihood, its gradient, and two matrices (M, M). The sum of the
weights is an inverse temperature, and too large on the rows that made it: `loo_scores`
returns the scores of each row without it, on which a slope can be fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import add
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_softmax, softmax

from committee._typing import BoolArray, FloatArray, IntArray
from committee.linalg import jittered_cholesky
from committee.linalg.simplex import solve_nnqp
from committee.probabilities import pooled_terms

#: lambda / N that are tried, dearest first: of equals the one nearest to equal weights.
SHRINKAGES = np.logspace(1.0, -4.0, 21)
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
    """Sums over rows at a point w, (M,), with r_n = z_n.,y_n - E_p z_n.

    Attributes
    ----------
    weight : float
        N = sum_n s_n.
    value : float
        sum_n s_n log p(y_n | x_n).
    gradient : array of shape (M,)
        sum_n s_n r_n.
    hessian : array of shape (M, M)
        H = sum_n s_n Cov_p(z_n.).
    scatter : array of shape (M, M)
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
        """Return the sums at w + d by the quadratic at w, J as it is."""
        Hd = self.hessian @ d
        value = self.value + float(self.gradient @ d - d @ Hd / 2)
        return self._replace(value=value, gradient=self.gradient - Hd)


class Pooled(NamedTuple):
    """Weights of a pool, and how they were shrunk.

    Attributes
    ----------
    weights : array of shape (M,)
    shrinkage : float
        lambda / N.
    loo : float
        The leave-one-out log-loss of a row, see `loo`.
    cov : array of shape (a, a)
        V = A_cc^-1 of the a weights above zero.
    """

    weights: FloatArray
    shrinkage: float
    loo: float
    cov: FloatArray


def row_sums(
    F: FloatArray,
    y: IntArray,
    w: FloatArray,
    floor: float,
    *,
    held_out: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> PoolSums:
    """Return the sums of rows F (N, M, K) and class codes y at weights w.

    A member that abstains has z = 0, and where H_n of M members vote the slope of the
    row grows by M / H_n, as if they stood for the others. Rows without votes do not
    count.
    """
    found = None
    for z, s, rows in _blocks(F, floor, held_out, sample_weight):
        part = _sums(z, y[rows], s, w)
        found = part if found is None else found.plus(part)
    assert found is not None
    return found


def _blocks(
    F: FloatArray,
    floor: float,
    held_out: BoolArray | None,
    sample_weight: FloatArray | None,
) -> Iterator[tuple[FloatArray, FloatArray, slice]]:
    """Yield z (n, K, M) and s (n,) of some rows after the other, and which they are."""
    N, M, K = F.shape
    s = np.ones(N) if sample_weight is None else sample_weight
    if held_out is not None:
        s = s * held_out.any(axis=1)
    size = max(1, _BLOCK // (M * K))
    for rows in (slice(i, i + size) for i in range(0, N, size)):
        z = pooled_terms(F[rows], floor).transpose(0, 2, 1)
        if held_out is not None:
            z = z * _slopes(held_out[rows])[:, None, :]
        yield z, s[rows], rows


def _slopes(held_out: BoolArray) -> FloatArray:
    """Return M / H_n where a member has a vote, else 0, of shape (N, M)."""
    H = held_out.sum(axis=1, keepdims=True)
    slopes: FloatArray = held_out * (held_out.shape[1] / np.maximum(H, 1))
    return slopes


def _sums(z: FloatArray, y: IntArray, s: FloatArray, w: FloatArray) -> PoolSums:
    """Return the sums of rows z (N, K, M)."""
    log_p = log_softmax(z @ w, axis=1)
    B, r = _pulls(z, y, s, np.exp(log_p))
    value = float(s @ log_p[np.arange(len(y)), y])
    B = B.reshape(-1, len(w))
    return PoolSums(float(s.sum()), value, r.sum(axis=0), B.T @ B, r.T @ r)


def _pulls(
    z: FloatArray, y: IntArray, s: FloatArray, p: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return B (N, K, M) with s_n Cov_p(z_n.) = B_n'B_n, and s_n r_n (N, M)."""
    centred = z - np.einsum("nk,nkm->nm", p, z)[:, None, :]
    B = np.sqrt(s[:, None] * p)[:, :, None] * centred
    return B, s[:, None] * centred[np.arange(len(y)), y]


def loo_scores(
    F: FloatArray,
    y: IntArray,
    w: FloatArray,
    cov: FloatArray,
    floor: float,
    *,
    held_out: BoolArray | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return sum_m w_m z_nmk of shape (N, K), by the weights without the row.

        w - w_without = (A - B'B)^-1 s r = V s r + V B'(I - B V B')^-1 B V s r

    A Newton step from the w of least loss, over the weights c that are above zero, V =
    A_cc^-1 their `cov`, with B'B = s Cov_p(z). The matrix in the middle counts by its
    quotient at u = B V s r, 1 - u'B V B'u / u'u, which for two classes is exact.
    """
    scores, c = np.empty((len(F), F.shape[2])), w > 0
    for z, s, rows in _blocks(F, floor, held_out, sample_weight):
        scores[rows] = z @ w
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
    at: Callable[[FloatArray], PoolSums], n_members: int, shrinkage: float | None = None
) -> Pooled:
    """Return the w of least loss, with lambda = N times the shrinkage.

    Newton's method: from w it goes to the minimiser over v >= 0 of

        lambda/2 ||v - 1/M||^2 + 1/2 (v - w)'H(v - w) - g'(v - w),

    with exact zeros, and half as far where that does not lower the loss. Without a
    shrinkage it is the one whose minimiser has the least leave-one-out loss (`loo`) by
    the same quadratic, without another pass over the rows.

    Parameters
    ----------
    at : callable
        `PoolSums` of all rows at weights (M,).
    n_members : int
        M.
    shrinkage : float, optional
    """
    w = np.full(n_members, 1.0 / n_members)
    found, chosen = at(w), shrinkage
    for step in range(_STEPS):
        if shrinkage is None and step < _CHOOSING:
            chosen = min(SHRINKAGES, key=lambda rho: _loo_there(found, w, rho))
        assert chosen is not None
        target = _minimiser(found, w, chosen)
        there = found.towards(target - w)
        gain = _loss(found, w, chosen) - _loss(there, target, chosen)
        if gain <= _TOLERANCE * found.weight:
            # So near the quadratic is exact, and the last step needs no look.
            w, found = target, there
            break
        w, found = _lower(at, found, w, target, chosen)
    assert chosen is not None
    return Pooled(w, float(chosen), loo(found, w, chosen), _cov(found, w, chosen))


def _minimiser(found: PoolSums, w: FloatArray, rho: float) -> FloatArray:
    """Return the v >= 0 of least loss by the quadratic at w."""
    M, lam = len(w), rho * found.weight
    A = found.hessian + lam * np.eye(M)
    return solve_nnqp(A, found.gradient + found.hessian @ w + lam / M)


def _lower(
    at: Callable[[FloatArray], PoolSums],
    found: PoolSums,
    w: FloatArray,
    target: FloatArray,
    rho: float,
) -> tuple[FloatArray, PoolSums]:
    """Return a point on the way to the target with a lower loss, and its sums."""
    before = _loss(found, w, rho)
    for halvings in range(30):
        point = target if halvings == 0 else w + 0.5**halvings * (target - w)
        there = at(point)
        if _loss(there, point, rho) <= before:
            return point, there
    return w, found


def _loss(found: PoolSums, w: FloatArray, rho: float) -> float:
    """Return L."""
    return rho * found.weight / 2 * float(np.sum((w - 1 / len(w)) ** 2)) - found.value


def _loo_there(found: PoolSums, w: FloatArray, rho: float) -> float:
    """Return the leave-one-out loss of the minimiser, by the quadratic at w."""
    v = _minimiser(found, w, rho)
    return loo(found.towards(v - w), v, rho)


def loo(found: PoolSums, w: FloatArray, rho: float) -> float:
    """Return the leave-one-out log-loss of a row, at the w of least loss.

        (tr(A_cc^-1 J_cc) - sum_n s_n log p(y_n)) / N,   A = H + lambda I,   c = {w > 0}

    Without row n the weights move by -A^-1 s_n r_n, and its own loss rises by
    s_n^2 r_n' A^-1 r_n, to first order: the information criterion of Takeuchi, or of
    Murata, Yoshizawa and Amari (1994). Weights at zero stay there.
    """
    J = found.scatter[np.ix_(w > 0, w > 0)]
    return float(np.sum(_cov(found, w, rho) * J) - found.value) / found.weight


def _cov(found: PoolSums, w: FloatArray, rho: float) -> FloatArray:
    """Return V = A_cc^-1."""
    c = np.ix_(w > 0, w > 0)
    A = (found.hessian + rho * found.weight * np.eye(len(w)))[c]
    if not len(A):
        return A
    L, _ = jittered_cholesky(A)
    return np.asarray(cho_solve((L, True), np.eye(len(A))))
