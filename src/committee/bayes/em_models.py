"""What EM and the samplers ask of a likelihood, in units in which nothing overflows."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from committee._typing import FloatArray
from committee.ep.sites import hazard, truncated_variance
from committee.ep.targets import Moments
from committee.linalg import solve_nnqp

Index = NDArray[np.intp]

# Noise below this share of the mean square of y is rounding of the moments.
_LEAST_NOISE = 1e-10


class Model(Protocol):
    """What EM asks of a likelihood."""

    def at_zero(self) -> tuple[FloatArray, FloatArray]:
        """Return diag(L) and h of the first M-step from w = 0."""

    def maximise(self, active: Index, w: FloatArray, alpha: FloatArray) -> FloatArray:
        """Raise log p(y | w) - 1/2 sum alpha w^2 over w >= 0, from w."""

    def adapt(self, w: FloatArray) -> None:
        """Re-estimate what the likelihood itself has to learn."""

    def log_likelihood(self, w: FloatArray) -> float:
        """Return log p(y | w) up to a constant."""


class Gaussian:
    """y_n = w'F_n + e from moments: L = G / noise, h = g / noise."""

    def __init__(self, moments: Moments) -> None:
        self.moments = moments
        mean_square = moments.yy / moments.n
        self.least = max(_LEAST_NOISE * mean_square, 1e-100)
        self.noise = max(mean_square, self.least)

    def at_zero(self) -> tuple[FloatArray, FloatArray]:
        """Return diag(L) and h with all of y as noise."""
        noise = max(self.moments.yy / self.moments.n, self.least)
        return self.moments.G.diagonal() / noise, self.moments.g / noise

    def maximise(self, active: Index, w: FloatArray, alpha: FloatArray) -> FloatArray:
        """Solve the quadratic problem exactly, from anywhere."""
        L = self.moments.G[np.ix_(active, active)] / self.noise
        return solve_nnqp(L + np.diag(alpha), self.moments.g[active] / self.noise)

    def _rss(self, w: FloatArray) -> float:
        m = self.moments
        return max(float(m.yy - 2.0 * m.g @ w + w @ m.G @ w), 0.0)

    def adapt(self, w: FloatArray) -> None:
        """Set noise to ||y - F w||^2 / N."""
        self.noise = max(self._rss(w) / self.moments.n, self.least)

    def log_likelihood(self, w: FloatArray) -> float:
        """Return -N/2 log noise - ||y - F w||^2 / (2 noise)."""
        return -0.5 * float(
            self.moments.n * np.log(self.noise) + self._rss(w) / self.noise
        )


class Probit:
    """p(y_n | w) = Phi(w'S_n)^{s_n}, a row of weight s counting as s rows.

    With a latent z_n ~ N(w'S_n, 1), z_n > 0, of mean w'S_n + r(w'S_n), r = N / Phi:

        L = S' diag(s) S,   h = S' diag(s) (S w + r)

    This step never fails to climb but is short where rows are easy. The step with the
    curvature of the data itself, L = S' diag(s kappa) S, kappa = r (r + w'S_n), is
    tried first.
    """

    def __init__(self, S: FloatArray, weight: FloatArray | None = None) -> None:
        self.S = np.asarray(S, dtype=np.float64)
        self.weight = np.ones(len(S)) if weight is None else weight
        self.L = self._products(np.arange(self.S.shape[1]), self.weight)

    def _products(self, active: Index, t: FloatArray) -> FloatArray:
        S = self.S[:, active]
        products: FloatArray = S.T @ (S * t[:, None])
        return products

    def at_zero(self) -> tuple[FloatArray, FloatArray]:
        """Return diag(L) and h = sqrt(2 / pi) S' s."""
        return self.L.diagonal(), np.sqrt(2.0 / np.pi) * (self.weight @ self.S)

    def slope(self, active: Index, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return S' diag(s) r, the gradient of log p, and L = S' diag(s kappa) S."""
        margin = self.S[:, active] @ w
        r = hazard(margin)
        kappa = 1.0 - truncated_variance(margin, r)
        gradient: FloatArray = (self.weight * r) @ self.S[:, active]
        return gradient, self._products(active, self.weight * kappa)

    def maximise(self, active: Index, w: FloatArray, alpha: FloatArray) -> FloatArray:
        """Take one step with the data's curvature, or the latent Gaussian's."""

        def gain(v: FloatArray) -> float:
            margin = self.S[:, active] @ v
            return float(self.weight @ log_ndtr(margin) - 0.5 * (alpha * v) @ v)

        gradient, curvature = self.slope(active, w)
        for L in (curvature, self.L[np.ix_(active, active)]):
            new = solve_nnqp(L + np.diag(alpha), gradient + L @ w)
            if gain(new) >= gain(w):
                break
        return new

    def adapt(self, w: FloatArray) -> None:
        """Do nothing: the latent noise is one by definition."""

    def log_likelihood(self, w: FloatArray) -> float:
        """Return sum_n s_n log Phi(w'S_n)."""
        return float(self.weight @ log_ndtr(self.S @ w))
