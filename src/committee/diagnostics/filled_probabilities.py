"""Log-losses and Brier scores of committees whose members do not vote on every row.

Out of bag a committee has about 0.37 of its votes on a row, and so few votes agree on a
wrong class far more often than all would: counted on them, the log-loss of a bag is too
high, by a factor of five for ten trees that are sure of themselves. Votes that are missing
are drawn here from the distribution of votes on rows like this one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import betaln, gammaln, softmax, xlog1py, xlogy

from committee._typing import BoolArray, FloatArray, IntArray
from committee.diagnostics.filled_votes import FilledVotes

#: Shares of votes, close together near 0 and 1, and what lies between two of them.
_ANGLES = np.pi / 2 * (np.arange(200) + 0.5) / 200
_SHARES = np.sin(_ANGLES) ** 2
_WIDTHS = np.sin(2 * _ANGLES)
#: Polynomials of the distribution, at most; rows that it is found on, and steps.
_POLYNOMIALS, _ROWS, _STEPS = 40, 5000, 300
#: Votes that are told apart, at most: more vary too little to matter.
_VOTES = 500
#: Least probability whose logarithm is taken, as scikit-learn's `log_loss` has it.
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class FilledProbabilities:
    """Class probabilities that are weighted means, with missing votes filled.

        r_nm = F[n, m, y_n],   h_n = sum of r_nm over the H_n members that vote
        q_n : the mean of r_nm over all members that could be made, drawn from
        g(q) = sum_j c_j Beta(q; j, D + 1 - j),   D = 1 + mean H_n
        g(q | n) ~ g(q) q^(h_n / phi) (1 - q)^((H_n - h_n) / phi)

    phi is the variance of votes in units of q (1 - q): 1 for members that are sure of
    themselves; other votes count as the mean of 1 / phi such ones. c maximises the
    likelihood of all rows. The polynomials have the width that H_n votes can tell apart:
    that nobody has voted for a class says that q is small, not that it is zero.

    Attributes
    ----------
    votes : FilledVotes
        Of probabilities (N, M, K), with a mask.
    right : array of shape (N, M)
        r, zero where the member does not vote.
    variance : array of shape (N,)
        sum_k s_nk^2; rows with one vote take the mean of the others.
    phi : float
    prior : array of shape (G,)
        g, at shares of votes.
    """

    votes: FilledVotes
    right: FloatArray
    variance: FloatArray
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
        rows = np.flatnonzero(votes.counted)
        rows = rows[:: -(-len(rows) // _ROWS) or 1]
        D = int(min(round(H[rows].mean()) + 1, _POLYNOMIALS)) if len(rows) else 1
        L = _log_likelihood(h[rows] / phi, H[rows] / phi)
        return cls(votes, right, _variance(votes), phi, _prior(L, D))

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return replace(
            self,
            votes=self.votes.take(rows),
            right=self.right[rows],
            variance=self.variance[rows],
        )

    def log_losses(self, w: FloatArray) -> FloatArray:
        """Return -E log p_n by row, p_n = c_n + a_n T, for weights (M,) >= 0.

            c_n = sum_{m in h_n} w_m r_nm,   a_n = sum_{m not in h_n} w_m,   sum w = 1
            U T ~ Binomial(U, q),   q ~ g(q | n),   U = a_n^2 / (phi sum_{not in h_n} w_m^2)

        U is rounded. p_n is cut at `LEAST`.
        """
        assert self.votes.held_out is not None
        w = w / w.sum()
        c, a = self.right @ w, np.maximum(1.0 - self.votes.held_out @ w, 0.0)
        squares = ~self.votes.held_out @ w**2
        open_ = squares > 0
        U = np.zeros(len(c), dtype=np.intp)
        U[open_] = np.clip(
            np.rint(a[open_] ** 2 / (self.phi * squares[open_])), 1, _VOTES
        )
        losses = np.empty(len(c))
        for u in np.unique(U):
            rows = np.flatnonzero(u == U)
            P = self._posterior(rows) @ _binomial(int(u))
            T = np.arange(u + 1) / max(u, 1)
            p = c[rows, None] + np.where(u > 0, a[rows, None], 0.0) * T
            losses[rows] = np.sum(P * -np.log(np.clip(p, LEAST, 1.0)), axis=1)
        return losses

    def brier_losses(self, w: FloatArray) -> FloatArray:
        """Return the expected squared distance of p from the class, by row.

            sum_k (f_nk - [y_n = k])^2 + s_nk^2 v_n

        with f, s^2 and v of `FilledVotes`, s^2 that of the votes for each class; for two
        classes half of it. Single rows may be below zero, where f varies too much.
        """
        votes, w = self.votes, w / w.sum()
        K = votes.F.shape[2]
        distance = votes.output(w) - np.eye(K)[np.asarray(votes.y, dtype=np.intp)]
        losses = np.sum(distance**2, axis=1) + self.variance * votes.open_share(w)
        return np.asarray(losses / 2 if K == 2 else losses)

    def _posterior(self, rows: IntArray) -> FloatArray:
        """Return g(q | n) of some rows, (n, G)."""
        h, H = self.right[rows].sum(axis=1), self.votes.n_votes[rows]
        L = _log_likelihood(h / self.phi, H / self.phi)
        P: FloatArray = softmax(L + np.log(self.prior), axis=1)
        return P


def _variance(votes: FilledVotes) -> FloatArray:
    """Return the variances of the votes on each row, summed over classes, (N,)."""
    squares: FloatArray = np.zeros(len(votes.F))
    for m, here in enumerate(np.asarray(votes.held_out).T):
        squares += here * np.sum((votes.F[:, m] - votes.mean) ** 2, axis=1)
    s2 = squares / np.maximum(votes.n_votes - 1, 1)
    several = votes.n_votes > 1
    return np.where(several, s2, s2[several].mean() if several.any() else 0.0)


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


def _prior(L: FloatArray, D: int) -> FloatArray:
    """Return g at the shares, by EM for c from log-likelihoods (N, G)."""
    j = np.arange(1, D + 1)
    B = xlogy(j - 1, _SHARES[:, None]) + xlog1py(D - j, -_SHARES[:, None])
    B = np.exp(B - betaln(j, D + 1 - j)) * _WIDTHS[:, None]
    B /= B.sum(axis=0)
    c = np.full(D, 1.0 / D)
    A = np.exp(L - L.max(axis=1, keepdims=True)) @ B
    for _ in range(_STEPS if len(A) else 0):
        c = np.mean(A * c / (A @ c)[:, None], axis=0)
    g: FloatArray = np.maximum(B @ c, np.finfo(np.float64).tiny)
    return g


def _binomial(U: int) -> FloatArray:
    """Return the probabilities of 0..U votes of U, (G, U + 1)."""
    t = np.arange(U + 1)
    choose = gammaln(U + 1) - gammaln(t + 1) - gammaln(U - t + 1)
    q = _SHARES[:, None]
    P: FloatArray = np.exp(choose + xlogy(t, q) + xlog1py(U - t, -q))
    return P
