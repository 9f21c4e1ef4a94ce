"""The two likelihoods, with the same methods.

A likelihood has the messages of its rows about the active members (`messages`), takes in
a new posterior of the weights (`absorb`), and returns its part of the evidence and the
leave-one-out scores. `state` is all that changes: to set it goes back to an earlier
committee. The Gaussian likelihood is exact and needs moments alone; the probit likelihood
has a site for each row.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ep.arrays import in_units
from committee.ep.chunked_rows import TargetRows
from committee.ep.gaussian_rows import Moments
from committee.ep.loo import LooScore
from committee.ep.probit_rows import Messages, SweepSums
from committee.ep.sites import Normal

# Noise below this share of the mean square of y is rounding of the moments.
_LEAST_NOISE = 1e-10


class GaussianLikelihood:
    """y_n = w'F_n + e with e ~ N(0, noise), from moments.

    L = G / noise,  h = g / noise,
    log scale = -N/2 log(2 pi noise) - y'y / (2 noise)

    `noise` is in the units of the moments, and learned if it is None, starting from
    the residual of the best single member, with a weight above zero if `truncated`. Without
    `rows` the leave-one-out scores are the generalised cross-validation of the moments.
    """

    #: True if the rows need no sites, so that a state is small.
    exact: ClassVar[bool] = True

    def __init__(
        self,
        moments: Moments,
        noise: float | None = None,
        *,
        rows: TargetRows | None = None,
        truncated: bool = True,
    ) -> None:
        self.moments = moments
        self.learn_noise = noise is None
        self.noise = _single_noise(moments, truncated) if noise is None else noise
        self.rows = rows
        self.unit, self.n_rows = moments.unit, moments.n
        self.active: IntArray = np.arange(0)

    @property
    def state(self) -> Any:
        """Return the active members and the noise."""
        return self.active, self.noise

    @state.setter
    def state(self, state: Any) -> None:
        self.active, self.noise = state

    @property
    def noise_variance(self) -> float:
        """Return the noise in the units of y."""
        scale = self.moments.y_scale
        return float(in_units(self.noise, scale, scale))

    @property
    def messages(self) -> Messages:
        """Return the exact messages of the rows."""
        G, noise = self.moments.G, self.noise
        return Messages(
            G[:, self.active] / noise, self.moments.g / noise, G.diagonal() / noise
        )

    def activate(self, active: IntArray) -> None:
        """Remember the active members."""
        self.active = active

    def absorb(self, q: Normal, step: float) -> float:
        """Do nothing: the Gaussian term is exact."""
        return 0.0

    def log_scale(self) -> float:
        """Return the log evidence of w = 0, in the units of y."""
        m = self.moments
        return -0.5 * (
            m.n * float(np.log(2.0 * np.pi * self.noise)) + m.yy / self.noise
        ) - m.n * float(np.log(m.y_scale))

    def adapt(self, q: Normal, alpha: FloatArray) -> None:
        """Set noise to ||y - F m||^2 / (N - sum_i (1 - alpha_i V_ii))."""
        if not self.learn_noise:
            return
        # 1 - alpha_i V_ii is the share of w_i that the rows determine (MacKay 1992).
        used = float(np.sum(1.0 - alpha * q.cov.diagonal()))
        free = max(self.moments.n - used, 1.0)
        self.noise = max(self._rss(q.mean) / free, _least_noise(self.moments))

    def _rss(self, mean: FloatArray) -> float:
        """Return ||y - F m||^2, which rounding of the moments can make negative."""
        G, g, a = self.moments.G, self.moments.g, self.active
        rss = self.moments.yy - 2.0 * g[a] @ mean + mean @ G[np.ix_(a, a)] @ mean
        return max(float(rss), 0.0)

    def score(self, q: Normal) -> LooScore:
        """Return the row scores, or generalised cross-validation without rows.

        GCV = rss / N / (1 - tr(V G) / (N noise))^2, standard error GCV sqrt(2 / N)
        """
        m, n = self.moments, self.moments.n
        if self.rows is not None:
            return self.rows.score(self.active, q, self.noise, m.units)
        G = m.G[np.ix_(self.active, self.active)]
        leverage = float(np.sum(q.cov * G)) / self.noise / n
        kept = max(1.0 - leverage, 1.0 / n)
        error = self._rss(q.mean) / n / kept**2
        spread = max(self.noise / kept, _least_noise(self.moments))
        density = -0.5 * (np.log(2.0 * np.pi * spread) + error / spread)
        error = float(in_units(error, m.y_scale, m.y_scale))
        return LooScore(
            error, error * float(np.sqrt(2.0 / n)), float(density - np.log(m.y_scale))
        )


def _least_noise(moments: Moments) -> float:
    """Return the smallest noise that the moments can distinguish from zero."""
    return max(_LEAST_NOISE * moments.yy / moments.n, 1e-100)


def _single_noise(moments: Moments, truncated: bool) -> float:
    """Return the mean square that the best single member leaves of y."""
    diagonal = moments.G.diagonal()
    able = (diagonal > 0.0) & ((moments.g > 0.0) | (not truncated))
    explained = moments.g[able] ** 2 / diagonal[able]
    rest = moments.yy - explained.max(initial=0.0)
    return max(float(rest) / moments.n, _least_noise(moments))


class ProbitLikelihood:
    """p(y_n | w) = Phi(w'S_n) of signed rows S_n = y_n F_n, all updated at once.

    `rows` are `SweptRows`, whose sites have a type of their own. `unit` is the factor from
    weights of S to the weights that are reported; `last` are the sums of the last `absorb`.
    """

    exact: ClassVar[bool] = False
    #: The latent noise is one by definition.
    noise_variance = 1.0

    last: SweepSums

    def __init__(self, rows: Any, *, unit: FloatArray | None = None) -> None:
        self.rows = rows
        self.n_rows = rows.n_rows
        self.sites: Any = self.rows.initial_sites()
        self.unit = np.ones(rows.n_members) if unit is None else unit
        self.active: IntArray = np.arange(0)
        self.messages: Messages = self.rows.messages(self.sites)

    @property
    def state(self) -> Any:
        """Return sites, active members, their messages, and the last sweep if any."""
        last = getattr(self, "last", None)
        return self.sites, self.active, self.messages, last

    @state.setter
    def state(self, state: Any) -> None:
        self.sites, self.active, self.messages, self.last = state

    def activate(self, active: IntArray) -> None:
        """Keep the columns of L that stay, and add columns for the new members.

        L is symmetric, so only products among the new members are missing. New columns
        are NaN at inactive members until the next `absorb`, which computes them anyway.
        """
        known = np.isin(active, self.active)
        old, new = active[known], active[~known]
        L = np.full((self.rows.n_members, len(active)), np.nan)
        L[:, known] = self.messages.L[:, np.isin(self.active, active)]
        if len(new):
            L[np.ix_(old, ~known)] = L[np.ix_(new, known)].T
            L[np.ix_(new, ~known)] = self.rows.products(self.sites, new)
        self.messages = self.messages._replace(L=L)
        self.active = active

    def absorb(self, q: Normal, step: float) -> float:
        """Run one parallel sweep over the rows; return the mismatch before it."""
        self.sites, self.last = self.rows.sweep(self.sites, self.active, q, step)
        self.messages = self.last.messages
        return self.last.mismatch

    def log_scale(self) -> float:
        """Return sum_n s_n log s_n of the sites before the last `absorb`."""
        return self.last.log_scales

    def adapt(self, q: Normal, alpha: FloatArray) -> None:
        """Do nothing: the noise is fixed."""

    def score(self, q: Normal) -> LooScore:
        """Return the leave-one-out scores of the last sweep."""
        return self.last.scores.score


Likelihood = GaussianLikelihood | ProbitLikelihood
