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
from committee.linalg.programmes import solve_nnqp
from committee.probabilities import pooled_terms

#: lambda / N that are tried, dearest first: of equals the one nearest to equal weights.
SHRINKAGES = np.logspace(1.0, -4.0, 21)
#: mu, the precision of the offsets' prior.
OFFSET_PRECISION = 4.0
#: Steps after which lambda is no longer chosen anew, and all steps.
_CHOOSING, _STEPS = 10, 50
#: What a last step may bring by default.
_TOLERANCE = 1e-13
#: Elements of F that are looked at at once: what fits the cache of a core.
_BLOCK = 2**17
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
    """The prior of v: its mean and the parts of its precision.

    Attributes
    ----------
    target : array of shape (P,)
    precision : array of shape (P,)
        Fixed part of the ridge: mu for offsets, 0 for weights.
    share : array of shape (P,)
        Of lambda: 1 for weights, 0 for offsets.
    signed : bool array of shape (P,)
        False for entries that must not be negative.
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

    def near(self, w: FloatArray, *, signed: bool) -> Self:
        """Return the prior of weights near w, (M,), of either sign if `signed`."""
        target, either = self.target.copy(), self.signed.copy()
        target[: len(w)], either[: len(w)] = w, signed
        return self._replace(target=target, signed=either)

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
    for z, s, rows in _blocks(F, floor, held_out, sample_weight):
        part = _sums(z, y[rows], s, v)
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
        z = pooled_terms(F[rows].transpose(0, 2, 1).copy(), floor)
        if held_out is not None:
            z = z * _slopes(held_out[rows])[:, None, :]
        yield z, s[rows], rows


def _slopes(held_out: BoolArray) -> FloatArray:
    """Return M / H_n where a member has a vote, else 0, of shape (N, M)."""
    H = held_out.sum(axis=1, keepdims=True)
    slopes: FloatArray = held_out * (held_out.shape[1] / np.maximum(H, 1))
    return slopes


def _scores(z: FloatArray, v: FloatArray) -> FloatArray:
    """Return sum_m w_m z_nmk + b_k, (N, K), of z (N, K, M)."""
    M = z.shape[2]
    scores: FloatArray = z @ v[:M]
    return scores + v[M:] if len(v) > M else scores


class _Rows(NamedTuple):
    """B (N, K, P) with s_n Cov_p(z_n.) = B_n'B_n, and s_n r_n.

    Of the constant members B is known: no array has their columns.

    Attributes
    ----------
    members : array of shape (N, K, M)
        Their columns of B.
    root : array of shape (N, K)
        sqrt(s_n p_nk).
    p : array of shape (N, K)
    pull : array of shape (N, P)
        s_n r_n.
    """

    members: FloatArray
    root: FloatArray
    p: FloatArray
    pull: FloatArray

    @classmethod
    def of(
        cls, z: FloatArray, y: IntArray, s: FloatArray, p: FloatArray, offsets: bool
    ) -> Self:
        """Return those of rows z (N, K, M) with probabilities p."""
        n, root = np.arange(len(y)), np.sqrt(s[:, None] * p)
        centred = z - p[:, None, :] @ z
        pull = s[:, None] * centred[n, y]
        if offsets:
            missing = -p
            missing[n, y] += 1.0
            pull = np.concatenate([pull, s[:, None] * missing], axis=1)
        return cls(root[:, :, None] * centred, root, p, pull)

    @property
    def hessian(self) -> FloatArray:
        """Return sum_n B_n'B_n, (P, P)."""
        M, P = self.members.shape[2], self.pull.shape[1]
        B = self.members.reshape(-1, M)
        H = np.empty((P, P))
        H[:M, :M] = B.T @ B
        if P > M:
            sp = self.root**2
            H[:M, M:] = np.sum(self.root[:, :, None] * self.members, axis=0).T
            H[M:, :M] = H[:M, M:].T
            H[M:, M:] = np.diag(sp.sum(axis=0)) - sp.T @ self.p
        return H

    def times(self, x: FloatArray) -> FloatArray:
        """Return B_n x_n, (N, K), of x (N, P)."""
        M = self.members.shape[2]
        u = (self.members @ x[:, :M, None])[:, :, 0]
        if x.shape[1] > M:
            b = x[:, M:]
            u += self.root * (b - np.sum(self.p * b, axis=1, keepdims=True))
        return np.asarray(u)

    def back(self, u: FloatArray) -> FloatArray:
        """Return B_n'u_n, (N, P), of u (N, K)."""
        x = (u[:, None, :] @ self.members)[:, 0]
        if self.pull.shape[1] == x.shape[1]:
            return np.asarray(x)
        ru = self.root * u
        b = ru - self.p * ru.sum(axis=1, keepdims=True)
        return np.concatenate([x, b], axis=1)


def _sums(z: FloatArray, y: IntArray, s: FloatArray, v: FloatArray) -> PoolSums:
    """Return the sums of rows z (N, K, M)."""
    log_p = log_softmax(_scores(z, v), axis=1)
    rows = _Rows.of(z, y, s, np.exp(log_p), len(v) > z.shape[2])
    value = float(s @ log_p[np.arange(len(y)), y])
    r = rows.pull
    return PoolSums(float(s.sum()), value, r.sum(axis=0), rows.hessian, r.T @ r)


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

    A Newton step from the v with the smallest loss, over those c that are not zero, V =
    A_cc^-1 their `cov`, with B'B = s Cov_p(z). The matrix in the middle counts by its
    quotient at u = B V s r, 1 - u'B V B'u / u'u, which for two classes is exact.
    """
    scores, M = np.empty((len(F), F.shape[2])), F.shape[1]
    c = v != 0
    V = np.zeros((len(v), len(v)))
    V[np.ix_(c, c)] = cov
    c[M:] = True
    V = V[np.ix_(c, c)]
    for z, s, at in _blocks(F, floor, held_out, sample_weight):
        scores[at] = _scores(z, v)
        z = z[:, :, c[:M]]
        p = softmax(scores[at], axis=1)
        rows = _Rows.of(z, y[at], s, p, len(v) > M)
        first = rows.pull @ V
        u = rows.times(first)
        back = rows.back(u)
        second = back @ V
        h = np.sum(second * back, axis=1) / np.maximum(np.sum(u * u, axis=1), _TINY)
        second /= 1.0 - np.minimum(h, _MOST_LEVERAGE)[:, None]
        moved = first + second
        n = z.shape[2]
        scores[at] -= np.einsum("nkm,nm->nk", z, moved[:, :n])
        if len(v) > M:
            scores[at] -= moved[:, n:]
    return scores


def fit_log_pool(
    at: Callable[[FloatArray], PoolSums],
    prior: PoolPrior,
    shrinkage: float | None = None,
    start: FloatArray | None = None,
    tol: float = _TOLERANCE,
) -> Pooled:
    """Return the v with the smallest loss, with lambda = N times the shrinkage.

    Newton's method: from v it goes to the minimiser over w >= 0 and b of

        penalty + 1/2 (x - v)'H(x - v) - g'(x - v),    x = (w, b),

    with exact zeros, and half as far where that does not lower the loss. Without a
    shrinkage it is the one whose minimiser has the smallest leave-one-out loss (`loo`) by
    the same quadratic, without another pass over the rows.

    Parameters
    ----------
    at : callable
        `PoolSums` of all rows at v (P,).
    prior : PoolPrior
    shrinkage : float, default=None
    start : array of shape (P,), default=None
        None means the target of the prior.
    tol : float
        What the last step may bring, in units of N.
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
        if gain <= tol * found.weight:
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
    """Return the point with the smallest loss by the quadratic at v."""
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
    """Return the leave-one-out log-loss of a row, at the v with the smallest loss.

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
