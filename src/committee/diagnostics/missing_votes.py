"""Errors of committees whose members do not vote on every row.

Out of bag a committee of k members has about 0.37 k votes on a row, so an error counted on
these votes is the error of a smaller committee. Here missing votes are filled with the mean
and the spread of the other members' votes on the row. The result estimates the error of k
members that all vote.

Losses of probabilities need more, and so do averages of few members. A few votes agree on a
wrong class far more often than all votes do: the log-loss of a bag of ten trees, counted on
present votes, is five times too high. `FilledProbabilities` draws missing votes from the
distribution of votes on similar rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import bdtrik, betaln, ndtr, softmax, xlog1py, xlogy

from committee._typing import BoolArray, FloatArray, IntArray
from committee.predictions import weighted_sum

#: Elements of F in memory at once.
_BLOCK = 2**22
#: Nodes and weights for means over a standard normal variable.
_NODES, _NODE_WEIGHTS = hermegauss(16)
#: Shares of votes, close together near 0 and 1, and what lies between two of them.
_ANGLES = np.pi / 2 * (np.arange(200) + 0.5) / 200
_SHARES = np.sin(_ANGLES) ** 2
_WIDTHS = np.sin(2 * _ANGLES)
#: Polynomials of the distribution, at most, and steps in which it is found.
_POLYNOMIALS, _STEPS = 40, 300
#: Counts of votes are rounded to this part of a vote to find the distribution.
_PART = 1 / 64
#: Votes that are told apart, at most: more vary too little to matter.
_VOTES = 500


@dataclass(frozen=True, eq=False)
class FilledVotes:
    """F, with missing votes filled from the row's own votes.

        h_n = {m : held_out[n, m]},   H_n = |h_n|
        mu_n, s_n^2 : mean and variance of F[n, m] over m in h_n
        f_n = b_n + sum_{m in h_n} w_m F[n, m] + a_n mu_n,   a_n = sum_{m not in h_n} w_m
        v_n = sum_{m not in h_n} w_m^2 - (a_n^2 + 2 a_n c_n) / H_n,   c_n = sum_{h_n} w_m

    If members vote on a row independently, the output of all members on row n is
    Normal(f_n, s_n^2 v_n). The second term of v_n is the noise that f_n already has,
    because mu_n is a mean of H_n votes. With it the total variance is s_n^2 sum_m w_m^2,
    as for a committee that votes. Weights may have any sign. Weights of a gate have the
    shape (N, M), g_nm in the place of w_m.

    Attributes
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Numbers, or class codes.
    held_out : bool array of shape (N, M) or None
        None: every member votes on every row.
    mean : array of shape (N,) or (N, K)
        mu_n, zero where no member votes.
    variance : array of shape (N,) or (N, K)
        s_n^2; for classes the variance of the margin over each class k, F[n, m, y_n] -
        F[n, m, k]. Rows with one vote take the mean over the other rows.
    n_votes : array of shape (N,)
        H_n.
    offset : float, or array of shape (N,) or (N, K)
        b_n, which a committee adds to its weighted sums.
    """

    F: FloatArray
    y: FloatArray | IntArray
    held_out: BoolArray | None
    mean: FloatArray
    variance: FloatArray
    n_votes: IntArray
    offset: Any = 0.0

    @classmethod
    def of(
        cls, F: FloatArray, y: FloatArray | IntArray, held_out: BoolArray | None
    ) -> Self:
        """Compute mean and variance of the votes on each row."""
        mean, variance = np.zeros((2, len(F), *F.shape[2:]))
        if held_out is None:
            return cls(F, y, None, mean, variance, np.full(len(F), F.shape[1]))
        H = held_out.sum(axis=1)
        size = max(1, _BLOCK // max(1, F[0].size))
        for rows in (slice(i, i + size) for i in range(0, len(F), size)):
            mean[rows], variance[rows] = _moments(F[rows], y[rows], held_out[rows])
        if (H > 1).any():
            variance[H <= 1] = variance[H > 1].mean(axis=0)
        return cls(F, y, held_out, mean, variance, H)

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return replace(
            self,
            F=self.F[rows],
            y=self.y[rows],
            held_out=None if self.held_out is None else self.held_out[rows],
            mean=self.mean[rows],
            variance=self.variance[rows],
            n_votes=self.n_votes[rows],
            offset=self.offset[rows] if np.ndim(self.offset) else self.offset,
        )

    def plus(self, offset: FloatArray | float) -> Self:
        """Return the votes of a committee with offset b, for each row or for all."""
        by_row = np.broadcast_to(offset, self.mean.shape) if np.any(offset) else 0.0
        return replace(self, offset=by_row)

    @property
    def counted(self) -> BoolArray:
        """False where no member of the ensemble votes."""
        return self.n_votes > 0

    def output(self, w: FloatArray) -> FloatArray:
        """Return f, the outputs of weights (M,) or (N, M), of shape (N,) or (N, K)."""
        if self.held_out is None:
            return np.asarray(weighted_sum(self.F, w) + self.offset)
        members = with_weight(w)
        voting = w[..., members] * self.held_out[:, members]
        filled = w.sum(axis=-1) - voting.sum(axis=1)
        filled = filled.reshape(-1, *[1] * (self.F.ndim - 2))
        present = np.einsum("nm...,nm->n...", self.F[:, members], voting)
        return np.asarray(present + filled * self.mean + self.offset)

    def drawn(
        self, w: FloatArray, members: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return outputs of weights (M,) or (N, M) and votes of members as if all voted.

            votes    F[n, m] where m votes, mu_n + s_n z_nm elsewhere,   z_nm ~ N(0, 1)
            outputs  f_n + s_n sqrt(v_n / sum_o w_m^2) sum_o w_m z_nm,   o = not in h_n

        for numbers. If v_n is negative, f_n is returned unchanged.

        Returns
        -------
        outputs : array of shape (N,)
        votes : array of shape (N, len(members))
        """
        f, votes = self.output(w), self.F[:, members]
        if self.held_out is None:
            return f, votes
        missing = ~self.held_out[:, members]
        noise = rng.standard_normal(missing.shape) * missing
        noise *= np.sqrt(self.variance)[:, None]
        votes = np.where(missing, self.mean[:, None] + noise, votes)
        w, v = w[..., members], np.maximum(self.open_share(w), 0.0)
        squares = weighted_sum(missing, w**2)
        share = np.divide(v, squares, out=np.zeros_like(v), where=squares > 0)
        return f + np.sqrt(share) * weighted_sum(noise, w), votes

    def losses(self, w: FloatArray) -> FloatArray:
        """Return the expected loss of weights (M,) or (N, M) by row.

            numbers:      (f_n - y_n)^2 + s_n^2 v_n
            two classes:  Phi(-D_n / sqrt(s_n^2 v_n)),   D_n the margin of f_n
            K classes:    1 - E_z prod_{k != y_n} Phi(sqrt(2) D_nk / (s_nk sqrt(v_n)) + z)

        with z ~ N(0, 1), by Gauss-Hermite quadrature: margins over the other classes
        share the votes for the right one, and have correlation 1/2, as with independent
        scores of equal variance. If v_n is negative, classes use the output as it is.
        Losses of numbers are not cut at zero, since this would bias their mean: single
        rows may be negative.

        Returns
        -------
        losses : array of shape (N,)
            Without a mask 1 for a wrong class, or the squared error. Rows that are not
            `counted` have no meaning.
        """
        f = self.output(w)
        if f.ndim == 1:
            return np.asarray((f - self.y) ** 2 + self.variance * self.open_share(w))
        v = self.open_share(w)
        wrong: FloatArray = (f.argmax(axis=1) != self.y).astype(np.float64)
        open_ = np.flatnonzero(v > 0)
        margin = _margins(f[open_], self.y[open_])
        sd = np.sqrt(self.variance[open_] * v[open_, None])
        wrong[open_] = _p_error(margin, sd, self.y[open_])
        return wrong

    def margin_variance(self, w: FloatArray) -> FloatArray:
        """Return the mean variance of the margins over the other classes, (N,)."""
        others = self.variance.sum(axis=1) / (self.variance.shape[1] - 1)
        return np.asarray(others * np.maximum(self.open_share(w), 0.0))

    def open_share(self, w: FloatArray) -> FloatArray:
        """Return v, (N,); negative where f varies more than the full committee would."""
        if self.held_out is None:
            return np.zeros(len(self.F))
        return open_share(w, self.held_out, self.n_votes)


def open_share(w: FloatArray, held_out: BoolArray, n_votes: IntArray) -> FloatArray:
    """Return v of `FilledVotes`, (N,), for weights (M,) or (N, M)."""
    members = with_weight(w)
    voting = held_out[:, members].astype(np.float64)
    c = weighted_sum(voting, w[..., members])
    a = w.sum(axis=-1) - c
    missing = (w**2).sum(axis=-1) - weighted_sum(voting, w[..., members] ** 2)
    known = (a**2 + 2 * a * c) / np.maximum(n_votes, 1)
    # With all votes v is zero up to rounding.
    return np.asarray(np.where(voting.all(axis=1), 0.0, missing - known))


def with_weight(w: FloatArray) -> IntArray:
    """Return the numbers of the members with a weight in some row of w, (M,) or (N, M)."""
    return np.flatnonzero(w if w.ndim == 1 else w.any(axis=0))


def _moments(
    F: FloatArray, y: Any, held_out: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return mu and s^2 of some rows; s^2 is zero with fewer than two votes."""
    H = held_out.sum(axis=1).reshape(-1, *[1] * (F.ndim - 2))
    mean = np.einsum("nm...,nm->n...", F, held_out) / np.maximum(H, 1)
    E = F - mean[:, None]
    if F.ndim == 3:
        E = np.take_along_axis(E, y[:, None, None], axis=2) - E
    squares = np.einsum("nm...,nm...,nm->n...", E, E, held_out)
    return mean, squares / np.maximum(H - 1, 1)


def _margins(f: FloatArray, y: Any) -> FloatArray:
    """Return D_nk = f[n, y_n] - f[n, k]."""
    return np.take_along_axis(f, y[:, None], axis=1) - f


def _p_error(D: FloatArray, sd: FloatArray, y: Any) -> FloatArray:
    """Return the probability that a margin (N, K) over another class is below zero."""
    certain = np.where(D == 0, 0.0, np.copysign(np.inf, D))
    t = np.divide(D, sd, out=certain, where=sd > 0)
    np.put_along_axis(t, y[:, None], np.inf, axis=1)
    if t.shape[1] == 2:
        return np.asarray(ndtr(-t.min(axis=1)))
    right = np.zeros(len(t))
    for z, weight in zip(_NODES, _NODE_WEIGHTS / _NODE_WEIGHTS.sum(), strict=True):
        right += weight * ndtr(np.sqrt(2) * t + z).prod(axis=1)
    return 1 - right


@dataclass(frozen=True, eq=False)
class FilledProbabilities:
    """Class probabilities that are weighted means, with missing votes filled.

        r_nm = F[n, m, y_n],   h_n = sum of r_nm over the H_n members that vote
        q_n : the mean of r_nm over all members that could be made, drawn from
        g(q) = sum_j c_j Beta(q; j, D + 1 - j),   D = 1 + 2 mean H_n / phi
        g(q | n) ~ g(q) q^(h_n / phi) (1 - q)^((H_n - h_n) / phi)

    phi is the variance of votes in units of q (1 - q): 1 for members that are sure of
    themselves; other votes count as the mean of 1 / phi such ones. c maximises the
    likelihood of all rows. The polynomials have the width that H_n votes can tell apart:
    that nobody has voted for a class says that q is small, not that it is zero. With D half
    as large, networks with two votes on a row had twice their log-loss where they err on
    2 %.

    Attributes
    ----------
    votes : FilledVotes
        Of probabilities (N, M, K), with a mask.
    right : array of shape (N, M)
        r, zero where the member does not vote.
    confusion : array of shape (K, K)
        e, shares of the wrong votes that go to each class, by the right class.
    phi : float
    prior : array of shape (G,)
        g, at shares of votes.
    """

    votes: FilledVotes
    right: FloatArray
    confusion: FloatArray
    phi: float
    prior: FloatArray

    @classmethod
    def of(cls, votes: FilledVotes) -> Self:
        """Find the distribution of votes for the right class over all rows."""
        assert votes.held_out is not None
        y = np.asarray(votes.y, dtype=np.intp)
        right = np.take_along_axis(votes.F, y[:, None, None], axis=2)[:, :, 0]
        right = np.where(votes.held_out, np.clip(right, 0.0, 1.0), 0.0)
        H, h = votes.n_votes, right.sum(axis=1)
        phi = _unit_of_votes(right, votes.held_out, h, H)
        counts = np.column_stack([h, H])[votes.counted] / phi
        D = min(1 + round(2 * counts[:, 1].mean()), _POLYNOMIALS) if len(counts) else 1
        # Rows with equal counts are one row of the likelihood.
        counts, s = np.unique(np.rint(counts / _PART), axis=0, return_counts=True)
        L = _log_likelihood(*(_PART * counts.T))
        return cls(votes, right, _confusion(votes), phi, _prior(L, s, D))

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return replace(self, votes=self.votes.take(rows), right=self.right[rows])

    def drawn(self, w: FloatArray, u: FloatArray) -> FloatArray:
        """Return weighted means as if all members voted, for weights >= 0, (M,) or (N, M).

            p_n = sum_{m in h_n} w_m F[n, m] + a_n T_n,   a_n = sum_{m not in h_n} w_m
            U T_ny ~ Binomial(U, q),   q ~ g(q | n),   U = a_n^2 / (phi sum_{not in h_n} w_m^2)
            T_nk = (1 - T_ny) d_nk,   d_n ~ Dirichlet(sum_{m in h_n} F[n, m, k] / phi + e_yk),

        for y = y_n, all k != y, and sum w = 1. U is rounded. Draws know y_n: means over
        rows of a loss are right, while a single row says nothing.

        Parameters
        ----------
        w : array of shape (M,) or (N, M)
        u : array of shape (J, 2, N)
            `uniform_numbers`, from which q and T follow.

        Returns
        -------
        p : array of shape (J, N, K)
        """
        votes, rng = self.votes, np.random.default_rng(0)
        assert votes.held_out is not None
        N, K = votes.mean.shape
        n, y = np.arange(N), np.asarray(votes.y, dtype=np.intp)
        w = w / w.sum(axis=-1, keepdims=True)
        a = np.maximum(1 - weighted_sum(votes.held_out, w), 0.0)
        squares = weighted_sum(~votes.held_out, w**2)
        U = np.divide(a**2, self.phi * squares, out=np.ones(N), where=squares > 0)
        U = np.clip(np.rint(U), 1, _VOTES)
        # The posteriors of all rows behind one another, in which one search finds q.
        posterior = np.cumsum(self._posterior(n), axis=1)
        posterior = (posterior / posterior[:, -1:] + n[:, None]).ravel()
        wrong = votes.mean * (votes.n_votes / self.phi)[:, None] + self.confusion[y]
        wrong[n, y] = 0.0
        present = votes.output(w) - a[:, None] * votes.mean
        p = np.empty((len(u), N, K))
        for j, (for_q, for_T) in enumerate(u):
            q = _SHARES[np.searchsorted(posterior, for_q + n) % len(_SHARES)]
            T = np.clip(np.ceil(bdtrik(for_T, U, q)), 0, U) / U
            d = rng.standard_gamma(wrong) if K > 2 else np.sign(wrong)
            d *= ((1 - T) / np.maximum(d.sum(axis=1), np.finfo(float).tiny))[:, None]
            d[n, y] = T
            p[j] = present + a[:, None] * d
        return np.clip(p, 0.0, 1.0)

    def _posterior(self, rows: IntArray) -> FloatArray:
        """Return g(q | n) of some rows, (n, G)."""
        h, H = self.right[rows].sum(axis=1), self.votes.n_votes[rows]
        L = _log_likelihood(h / self.phi, H / self.phi)
        P: FloatArray = softmax(L + np.log(self.prior), axis=1)
        return P


def uniform_numbers(n_draws: int, n_rows: int) -> FloatArray:
    """Return (J, 2, N) numbers between 0 and 1; the first of a row lie in J equal parts.

    They are the same for all committees, so that their differences vary less.
    """
    rng = np.random.default_rng(0)
    u = rng.random((n_draws, 2, n_rows))
    part = np.arange(n_draws)[:, None] + rng.integers(n_draws, size=n_rows)
    u[:, 0] = (u[:, 0] + part % n_draws) / n_draws
    return u


def _confusion(votes: FilledVotes) -> FloatArray:
    """Return e, (K, K): shares of the wrong votes of each class that go to each other."""
    K = votes.F.shape[2]
    e = (np.eye(K)[np.asarray(votes.y, dtype=np.intp)] * votes.n_votes[:, None]).T
    # A vote is added, shared by all classes: none may get nothing.
    e = (e @ np.clip(votes.mean, 0.0, 1.0) + 1 / K) * (1 - np.eye(K))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _unit_of_votes(
    right: FloatArray, held_out: BoolArray, h: FloatArray, H: IntArray
) -> float:
    """Return phi = sum s_n^2 / sum q_n (1 - q_n), over rows of several votes."""
    rows = H > 1
    mean = h[rows] / H[rows]
    squares = np.where(held_out[rows], (right[rows] - mean[:, None]) ** 2, 0.0)
    s2 = squares.sum(axis=1) / (H[rows] - 1)
    # A mean of H votes has itself the variance s^2 / H.
    whole = float(np.sum(mean * (1 - mean) + s2 / H[rows]))
    return float(np.clip(s2.sum() / whole, 0.01, 1.0)) if whole > 0 else 1.0


def _log_likelihood(h: FloatArray, H: FloatArray) -> FloatArray:
    """Return h log q + (H - h) log(1 - q), (N, G)."""
    missed = np.maximum(H - h, 0.0)
    L: FloatArray = xlogy(h[:, None], _SHARES) + xlog1py(missed[:, None], -_SHARES)
    return L


def _prior(L: FloatArray, s: IntArray, D: int) -> FloatArray:
    """Return g at the shares, by EM for c from log-likelihoods (n, G) of s rows each."""
    j = np.arange(1, D + 1)
    B = xlogy(j - 1, _SHARES[:, None]) + xlog1py(D - j, -_SHARES[:, None])
    B = np.exp(B - betaln(j, D + 1 - j)) * _WIDTHS[:, None]
    B /= B.sum(axis=0)
    c = np.full(D, 1.0 / D)
    A = np.exp(L - L.max(axis=1, keepdims=True)) @ B
    for _ in range(_STEPS if len(A) else 0):
        c *= (s / (A @ c)) @ A / s.sum()
    g: FloatArray = np.maximum(B @ c, np.finfo(np.float64).tiny)
    return g
