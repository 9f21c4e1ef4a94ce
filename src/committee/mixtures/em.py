"""EM for mixtures of experts: responsibilities, then experts and gates.

    E:  r_nm ~ g_m(x_n) p(y_n | f_m(x_n))
    M:  expert m is fitted with sample weights s_n r_nm, its noise is their weighted mean
        squared error, and the gates are multinomial regressions on s_n r_nm

(Jacobs, Jordan, Nowlan and Hinton 1991; Jordan and Jacobs 1994.) The likelihood,
penalised by the gates, never falls where experts and gates are fitted to their optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from committee._typing import FloatArray, IntArray, Member
from committee.predictions import predict_all

#: The least probability of a class, and the least noise as a share of the variance of y:
#: an expert that is sure and wrong must not take all likelihood away.
_LEAST_PROBABILITY = 1e-9
_LEAST_NOISE = 1e-6


@dataclass(frozen=True)
class Data:
    """Rows: X, Z (columns scaled, after a column of ones), y, row weights s."""

    X: FloatArray
    Z: FloatArray
    y: FloatArray | IntArray
    s: FloatArray
    #: The class codes, None for regression.
    classes: IntArray | None

    def at(self, rows: Any) -> Data:
        """Return some of the rows."""
        return Data(
            self.X[rows], self.Z[rows], self.y[rows], self.s[rows], self.classes
        )


class MixtureGate(Protocol):
    """A gate that is fitted to responsibilities: `GateTree` or `ClassifierGate`."""

    def log_weights(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return log g (N, M)."""

    def fitted(self, X: FloatArray, Z: FloatArray, W: FloatArray) -> MixtureGate:
        """Return the gate of soft targets W (N, M)."""

    def price(self) -> float:
        """Return what is subtracted from the log-likelihood."""


@dataclass(frozen=True)
class Mixture:
    """Fitted experts, their noise variances (M,) or None for classes, and the gate."""

    experts: list[Member]
    noise: FloatArray | None
    gate: MixtureGate

    def log_joint(self, data: Data) -> FloatArray:
        """Return log g_m(x_n) p(y_n | f_m(x_n)), (N, M)."""
        F = predict_all(self.experts, data.X, classes=data.classes)
        log_g = self.gate.log_weights(data.X, data.Z)
        return log_g + log_densities(F, data.y, self.noise)


@dataclass
class Trace:
    """What an EM run came to: the best mixture, and the likelihood after each step."""

    mixture: Mixture
    #: Penalised log-likelihood of the rows that it was fitted on.
    fitted: list[float] = field(default_factory=list)
    #: Mean log-likelihood of rows that were held out, empty without any.
    held_out: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def best(self) -> float:
        """The largest likelihood, on held-out rows where there are some."""
        return max(self.held_out or self.fitted)


def log_densities(F: FloatArray, y: Any, noise: FloatArray | None) -> FloatArray:
    """Return log p(y_n | f_m(x_n)): Gaussian of variance `noise`, or of the class."""
    if noise is None:
        p = F[np.arange(len(y)), :, y]
        return np.log(np.maximum(p, _LEAST_PROBABILITY))
    e = F - y[:, None]
    log_p: FloatArray = -0.5 * (np.log(2.0 * np.pi * noise) + e * e / noise)
    return log_p


def maximise(
    data: Data,
    R: FloatArray,
    expert: Member,
    gate: MixtureGate,
    before: Mixture | None = None,
) -> Mixture:
    """Return the mixture of the M step, for responsibilities R (N, M)."""
    W = R * data.s[:, None]
    experts = []
    for m in range(R.shape[1]):
        if before is not None and W[:, m].sum() <= 1e-12 * data.s.sum():
            experts.append(before.experts[m])  # nothing to learn from
        else:
            weights = np.ascontiguousarray(W[:, m])
            experts.append(clone(expert).fit(data.X, data.y, sample_weight=weights))
    noise = None
    if data.classes is None:
        F = predict_all(experts, data.X)
        least = _LEAST_NOISE * np.average(
            (data.y - np.average(data.y, weights=data.s)) ** 2, weights=data.s
        )
        size = np.maximum(W.sum(axis=0), np.finfo(float).tiny)
        squares = (W * (F - data.y[:, None]) ** 2).sum(axis=0) / size
        noise = np.maximum(squares, max(least, np.finfo(float).tiny))
    return Mixture(experts, noise, gate.fitted(data.X, data.Z, W))


def run_em(
    data: Data,
    start: FloatArray,
    expert: Member,
    gate: MixtureGate,
    *,
    max_iter: int,
    tol: float,
    held_out: Data | None = None,
    patience: int = 5,
) -> Trace:
    """Return the mixture that EM finds from responsibilities `start` (N, M).

    It ends when a step gains less than `tol` for each row, or with `held_out` rows when
    their likelihood has not risen for `patience` steps; the best of them is returned.
    """
    mixture = maximise(data, start, expert, gate)
    trace = Trace(mixture)
    for _ in range(max_iter):
        joint = mixture.log_joint(data)
        row = logsumexp(joint, axis=1)
        trace.fitted.append(float(data.s @ row) - mixture.gate.price())
        if held_out is not None:
            others = logsumexp(mixture.log_joint(held_out), axis=1)
            trace.held_out.append(float(np.average(others, weights=held_out.s)))
        seen = trace.held_out or trace.fitted
        if seen[-1] >= trace.best:
            trace.mixture = mixture
        if _is_over(trace, tol * data.s.sum(), patience):
            trace.converged = True
            break
        R = np.exp(joint - row[:, None])
        mixture = maximise(data, R, expert, mixture.gate, mixture)
    return trace


def _is_over(trace: Trace, least: float, patience: int) -> bool:
    """Whether the last step, or the last few, have gained too little."""
    if trace.held_out:
        n_since = len(trace.held_out) - 1 - int(np.argmax(trace.held_out))
        return n_since >= patience
    return len(trace.fitted) > 1 and trace.fitted[-1] - trace.fitted[-2] < least
