"""Gaussian noise: exact, and from moments alone."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee.ep.checks import in_units
from committee.ep.gaussian import Array
from committee.ep.likelihood import Index
from committee.ep.loo import Score
from committee.ep.moments import Moments
from committee.ep.probit_rows import Messages
from committee.ep.targets import TargetRows
from committee.ep.truncated import Normal

# Noise below this share of the mean square of y is rounding of the moments.
_LEAST_NOISE = 1e-10


class GaussianLikelihood:
    """y_n = w'F_n + e with e ~ N(0, noise), from moments.

    L = G / noise,  h = g / noise,
    log scale = -N/2 log(2 pi noise) - y'y / (2 noise)

    Parameters
    ----------
    moments : Moments
        The normalised moments.
    noise : float, optional
        Noise variance in the units of the moments. Learned unless given, beginning
        with what the best single member leaves.
    rows : TargetRows, optional
        The rows, for leave-one-out; without them the scores are the generalised
        cross-validation of the moments.
    """

    exact: ClassVar[bool] = True

    def __init__(
        self,
        moments: Moments,
        noise: float | None = None,
        *,
        rows: TargetRows | None = None,
    ) -> None:
        self.moments = moments
        self.learn_noise = noise is None
        self.noise = _single_noise(moments) if noise is None else noise
        self.rows = rows
        self.unit = moments.unit
        self.active: Index = np.arange(0)

    @property
    def state(self) -> Any:
        """Return the active members and the noise."""
        return self.active, self.noise

    @state.setter
    def state(self, state: Any) -> None:
        self.active, self.noise = state

    @property
    def n_rows(self) -> float:
        """Return the total weight of the rows."""
        return self.moments.n

    @property
    def noise_variance(self) -> float:
        """Return the noise in the units of y."""
        scale = self.moments.y_scale
        return float(in_units(self.noise, scale, scale))

    @property
    def units(self) -> tuple[Array, float]:
        """Return the scale of F, column by column, and that of y."""
        return self.moments.scale, self.moments.y_scale

    @property
    def messages(self) -> Messages:
        """Return the exact messages of the rows."""
        G, noise = self.moments.G, self.noise
        return Messages(
            G[:, self.active] / noise, self.moments.g / noise, G.diagonal() / noise
        )

    def activate(self, active: Index) -> None:
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

    def adapt(self, q: Normal, alpha: Array) -> None:
        """Set noise to ||y - F m||^2 / (N - sum_i (1 - alpha_i V_ii))."""
        if not self.learn_noise:
            return
        used = float(np.sum(1.0 - alpha * q.cov.diagonal()))
        free = max(self.moments.n - used, 1.0)
        self.noise = max(self._rss(q.mean) / free, _least_noise(self.moments))

    def _rss(self, mean: Array) -> float:
        G, g = self.moments.G, self.moments.g
        a = self.active
        rss = self.moments.yy - 2.0 * g[a] @ mean + mean @ G[np.ix_(a, a)] @ mean
        return max(float(rss), 0.0)

    def score(self, q: Normal) -> Score:
        """Return the row scores, or generalised cross-validation without rows.

        GCV = rss / N / (1 - tr(V G) / (N noise))^2, standard error GCV sqrt(2 / N)
        """
        if self.rows is not None:
            return self.rows.score(self.active, q, self.noise, *self.units)
        m, n = self.moments, self.moments.n
        G = m.G[np.ix_(self.active, self.active)]
        leverage = float(np.sum(q.cov * G)) / self.noise / n
        kept = max(1.0 - leverage, 1.0 / n)
        error = self._rss(q.mean) / n / kept**2
        spread = max(self.noise / kept, _least_noise(self.moments))
        density = -0.5 * (np.log(2.0 * np.pi * spread) + error / spread)
        error = float(in_units(error, m.y_scale, m.y_scale))
        return Score(
            error, error * float(np.sqrt(2.0 / n)), float(density - np.log(m.y_scale))
        )


def _least_noise(moments: Moments) -> float:
    """Return the smallest noise that the moments can tell from zero."""
    return max(_LEAST_NOISE * moments.yy / moments.n, 1e-100)


def _single_noise(moments: Moments) -> float:
    """Return the mean square that the best single member leaves of y."""
    diagonal = moments.G.diagonal()
    explained = moments.g**2 / np.where(diagonal > 0.0, diagonal, 1.0)
    rest = moments.yy - explained.max()
    return max(float(rest) / moments.n, _least_noise(moments))
