"""EM for mixtures of experts, assignment="soft": every row belongs to each expert in part.

    E:  r_nm ~ g_m(x_n) p(y_n | f_m(x_n))
    M:  expert m is fitted with sample weights s_n r_nm, noise_m is its weighted mean
        squared error, and the gate is fitted to s_n r_nm

(Jacobs, Jordan, Nowlan and Hinton 1991; Jordan and Jacobs 1994.) The penalised likelihood
never falls if experts and gate are fitted to their optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.cluster import KMeans

from committee._typing import FloatArray, IntArray, Member
from committee.mixtures.gate_tree import GateTree
from committee.predictions import predict_all

#: Smallest probability of a class, and smallest noise as a share of the variance of y:
#: the likelihood of an expert that is certain and wrong stays finite.
_LEAST_PROBABILITY = 1e-9
_LEAST_NOISE = 1e-6
#: Share of equal responsibilities at the start, so that no expert begins without rows.
_EQUAL_SHARE = 0.1


@dataclass(frozen=True)
class Data:
    """Rows that a mixture is fitted on."""

    X: FloatArray
    #: The columns of X scaled, after a column of ones.
    Z: FloatArray
    y: FloatArray | IntArray
    #: Row weights.
    s: FloatArray
    #: The class codes 0..K-1; None for regression.
    classes: IntArray | None


@dataclass(frozen=True)
class Mixture:
    """Fitted experts and their gate."""

    experts: list[Member]
    #: Variance of the noise of each expert, (M,); None for classes.
    noise: FloatArray | None
    gate: GateTree

    def log_joint(self, data: Data) -> FloatArray:
        """Return log g_m(x_n) p(y_n | f_m(x_n)), (N, M): Gaussians, or classes."""
        F = predict_all(self.experts, data.X, classes=data.classes)
        log_g = self.gate.log_weights(data.Z)
        if self.noise is None:
            p = F[np.arange(len(data.y)), :, data.y]
            return log_g + np.log(np.maximum(p, _LEAST_PROBABILITY))
        e = F - data.y[:, None]
        log_p = -0.5 * (np.log(2.0 * np.pi * self.noise) + e * e / self.noise)
        return np.asarray(log_g + log_p)


@dataclass
class Trace:
    """The best mixture of an EM run, and the likelihood after each step."""

    mixture: Mixture
    #: Penalised log-likelihood of the rows of the fit.
    fitted: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def best(self) -> float:
        """The largest likelihood."""
        return max(self.fitted)


def maximise(
    data: Data,
    R: FloatArray,
    expert: Member,
    gate: GateTree,
    before: Mixture | None = None,
) -> Mixture:
    """Return the mixture of the M step, for responsibilities R (N, M).

    An expert without responsibility for any row stays as in the mixture `before`.
    """
    W = R * data.s[:, None]
    experts = []
    for m in range(R.shape[1]):
        if before is not None and W[:, m].sum() <= 1e-12 * data.s.sum():
            experts.append(before.experts[m])
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
    return Mixture(experts, noise, gate.fitted(data.Z, W))


def run_em(
    data: Data,
    start: FloatArray,
    expert: Member,
    gate: GateTree,
    *,
    max_iter: int,
    tol: float,
) -> Trace:
    """Return the trace of EM from responsibilities `start` (N, M).

    EM ends when a step gains less than `tol` per row. The trace has the best mixture.
    """
    mixture = maximise(data, start, expert, gate)
    trace = Trace(mixture)
    for _ in range(max_iter):
        joint = mixture.log_joint(data)
        row = logsumexp(joint, axis=1)
        trace.fitted.append(float(data.s @ row) - mixture.gate.price())
        if trace.fitted[-1] >= trace.best:
            trace.mixture = mixture
        gain = np.diff(trace.fitted[-2:])
        trace.converged = bool(np.any(gain < tol * data.s.sum()))
        if trace.converged:
            break
        R = np.exp(joint - row[:, None])
        mixture = maximise(data, R, expert, mixture.gate, mixture)
    return trace


def first_responsibilities(data: Data, n_experts: int, seed: int) -> FloatArray:
    """Return responsibilities (N, M) by the cells of k-means, softened."""
    points = data.Z[:, 1:]
    n_cells = min(n_experts, len(np.unique(points, axis=0)))
    means = KMeans(n_cells, n_init=1, random_state=seed)
    means.fit(points, sample_weight=data.s)
    # Cells are sorted along their main direction: the nodes of a tree begin with few cuts.
    centres = means.cluster_centers_ - means.cluster_centers_.mean(axis=0)
    along = centres @ np.linalg.svd(centres, full_matrices=False)[2][0]
    cells = np.argsort(np.argsort(along, kind="stable"))[means.labels_]
    R: FloatArray = (1.0 - _EQUAL_SHARE) * np.eye(n_experts)[cells]
    return R + _EQUAL_SHARE / n_experts


def run_from_cells(
    data: Data, seed: int, expert: Member, gate: GateTree, **options: Any
) -> Trace:
    """Run EM from the cells of k-means, all with the same seed; see `run_em`."""
    if gate.classifier is not None:
        gate = replace(gate, classifier=seeded(gate.classifier, seed))
    start = first_responsibilities(data, gate.n_experts, seed)
    return run_em(data, start, seeded(expert, seed), gate, **options)


def seeded(estimator: Member, seed: int) -> Member:
    """Return an unfitted clone with this seed, if it takes one."""
    made = clone(estimator)
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return made
