"""Errors of committees whose members do not vote on every row.

Out of bag a committee of k members has about 0.37 k votes on a row, so that an error
counted on these votes is that of a smaller committee. Here the votes that are
missing are filled with the mean and the spread of those of all other members on the
row, and the error is what k members would make if all of them voted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr

from committee._typing import BoolArray, FloatArray, IntArray
from committee.predictions import weighted_sum

#: Elements of F that are looked at at once.
_BLOCK = 2**22
#: Nodes and weights for means over a standard normal variable.
_NODES, _NODE_WEIGHTS = hermegauss(16)


@dataclass(frozen=True, eq=False)
class FilledVotes:
    """F, with missing votes filled from the row's own votes.

        h_n = {m : held_out[n, m]},   H_n = |h_n|
        mu_n, s_n^2 : mean and variance of F[n, m] over m in h_n
        f_n = sum_{m in h_n} w_m F[n, m] + a_n mu_n,   a_n = sum_{m not in h_n} w_m
        v_n = sum_{m not in h_n} w_m^2 - (a_n^2 + 2 a_n b_n) / H_n,   b_n = sum_{h_n} w_m

    The committee's output on row n, if all voted, is Normal(f_n, s_n^2 v_n) where members
    vote on a row independently of each other. The second term of v_n is the noise that
    f_n has already, because mu_n itself is a mean of H_n votes: with it f_n has the
    variance s_n^2 sum_m w_m^2 of a committee that votes, neither more nor less. No
    weight is divided by, so that weights may have any sign.

    Attributes
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Numbers, or class codes.
    held_out : bool array of shape (N, M) or None
        None: every member votes on every row.
    mean : array of shape (N,) or (N, K)
        mu_n, zero where nobody votes.
    variance : array of shape (N,) or (N, K)
        s_n^2; for classes that of the margin over each class k, F[n, m, y_n] -
        F[n, m, k]. Rows with one vote take the mean of the others.
    n_votes : array of shape (N,)
        H_n.
    """

    F: FloatArray
    y: FloatArray | IntArray
    held_out: BoolArray | None
    mean: FloatArray
    variance: FloatArray
    n_votes: IntArray

    @classmethod
    def of(
        cls, F: FloatArray, y: FloatArray | IntArray, held_out: BoolArray | None
    ) -> Self:
        """Find the mean and the spread of the votes on each row."""
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
        )

    @property
    def counted(self) -> BoolArray:
        """False where no member of the ensemble votes, and nothing can be told."""
        return self.n_votes > 0

    def output(self, w: FloatArray) -> FloatArray:
        """Return f, the outputs of weights (M,), of shape (N,) or (N, K)."""
        if self.held_out is None:
            return weighted_sum(self.F, w)
        members = np.flatnonzero(w)
        voting = w[members] * self.held_out[:, members]
        filled = (w.sum() - voting.sum(axis=1)).reshape(-1, *[1] * (self.F.ndim - 2))
        present = np.einsum("nm...,nm->n...", self.F[:, members], voting)
        return np.asarray(present + filled * self.mean)

    def drawn(
        self, w: FloatArray, members: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return outputs of weights (M,) and votes of members as if all voted.

            votes    F[n, m] where m votes, mu_n + s_n z_nm elsewhere,   z_nm ~ N(0, 1)
            outputs  f_n + s_n sqrt(v_n / sum_o w_m^2) sum_o w_m z_nm,   o = not in h_n

        for numbers. Where v_n is below zero f_n varies enough already.

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
        v, squares = np.maximum(self.open_share(w), 0.0), missing @ w[members] ** 2
        share = np.divide(v, squares, out=np.zeros_like(v), where=squares > 0)
        return f + np.sqrt(share) * (noise @ w[members]), votes

    def losses(self, w: FloatArray) -> FloatArray:
        """Return the expected loss of weights (M,) by row.

            numbers:      (f_n - y_n)^2 + s_n^2 v_n
            two classes:  Phi(-D_n / sqrt(s_n^2 v_n)),   D_n the margin of f_n
            K classes:    1 - E_z prod_{k != y_n} Phi(sqrt(2) D_nk / (s_nk sqrt(v_n)) + z)

        with z ~ N(0, 1), by Gauss-Hermite quadrature: margins over the other classes
        share the votes for the right one, and have correlation 1/2 as those of
        independent scores of one variance have. Below v_n = 0 the output of classes is
        taken as it is. Numbers are not cut there, which would make the mean too large:
        single rows may be below zero.

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
        """Return v, (N,); below zero where f varies more than the committee would."""
        if self.held_out is None:
            return np.zeros(len(self.F))
        members = np.flatnonzero(w)
        voting = self.held_out[:, members].astype(np.float64)
        b = voting @ w[members]
        a = w.sum() - b
        missing = (w**2).sum() - voting @ w[members] ** 2
        known = (a**2 + 2 * a * b) / np.maximum(self.n_votes, 1)
        # Where all vote nothing is open, but for rounding.
        return np.asarray(np.where(voting.all(axis=1), 0.0, missing - known))


def _moments(
    F: FloatArray, y: Any, held_out: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return mu and s^2 of some rows; s^2 is zero where less than two vote."""
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
