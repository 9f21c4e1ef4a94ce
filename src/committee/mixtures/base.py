"""What mixtures of experts share: EM from several starts, and what is kept of the best."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from committee._typing import FloatArray, Member, RandomState
from committee._validation import HasMethods, Interval, check_sample_weight
from committee.gates.base import centre_and_scale
from committee.members.base import draw_seeds
from committee.mixtures.em import Data, MixtureGate, Trace, run_em
from committee.mixtures.gated_experts import GatedExperts
from committee.mixtures.soft_gates import (
    ClassifierGate,
    GateTree,
    check_gate,
    empty_gates,
)

#: Share of equal responsibilities at the start, so that no expert begins without rows.
_EQUAL_SHARE = 0.1


class BaseMixture(GatedExperts):
    """Experts and gates by EM, from several starts."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expert": [HasMethods(["fit", "predict"]), None],
        "gate_penalty": [Interval(Real, 0, None, closed="left")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "random_state": ["random_state"],
    }

    _default_expert: ClassVar[Any]
    expert: Member | None
    gate_penalty: float
    n_restarts: int
    max_iter: int
    tol: float
    validation_fraction: float | None
    random_state: RandomState

    #: A classifier, for mixtures with one gate.
    gate: Member | None = None
    noise_: FloatArray | None

    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Return the depth of the tree of gates and its branching."""

    def _fit(self, X: FloatArray, y: Any, sample_weight: Any, classes: Any) -> Self:
        """Run EM from every start and keep the best."""
        expert = clone(self._default_expert if self.expert is None else self.expert)
        if not has_fit_parameter(expert, "sample_weight"):
            raise ValueError(
                "EM fits experts on weighted rows: expert must take sample_weight in "
                f"fit. {type(expert).__name__} does not."
            )
        if classes is not None and not hasattr(expert, "predict_proba"):
            raise ValueError(
                "EM needs the probabilities of classes: expert must have predict_proba. "
                f"{type(expert).__name__} does not."
            )
        if self.gate is not None:
            check_gate(self.gate)
        s = check_sample_weight(sample_weight, X)
        s = np.ones(len(X)) if s is None else s
        X, y, s = X[s > 0], y[s > 0], s[s > 0]
        self._centre, self._scale = centre_and_scale(X, s)
        data = Data(X, self._scaled(X), y, s, classes)
        rng = check_random_state(self.random_state)
        seeds = draw_seeds(rng, self.n_restarts)
        data, held_out = self._split(data, rng)
        traces = [self._run(data, held_out, expert, int(seed)) for seed in seeds]
        self._keep(max(traces, key=lambda trace: trace.best))
        return self

    def _split(
        self, data: Data, rng: np.random.RandomState
    ) -> tuple[Data, Data | None]:
        """Return rows to fit on, and rows to stop by."""
        if self.validation_fraction is None:
            return data, None
        n_held = round(self.validation_fraction * len(data.y))
        order = rng.permutation(len(data.y))
        train, held = np.sort(order[n_held:]), np.sort(order[:n_held])
        known = data.classes is None or len(np.unique(data.y[train])) == len(
            data.classes
        )
        if not n_held or not len(train) or not known:
            raise ValueError(
                f"validation_fraction={self.validation_fraction:g} of "
                f"{len(data.y)} rows leaves nothing to stop by, or not all classes to "
                "train on: give more rows, or None."
            )
        return data.at(train), data.at(held)

    def _run(
        self, data: Data, held_out: Data | None, expert: Member, seed: int
    ) -> Trace:
        """Run EM from the cells around some rows that the seed draws."""
        depth, branching = self._shape()
        expert = _seeded(expert, seed)
        M = branching**depth
        gate: MixtureGate
        if self.gate is None:
            empty = empty_gates(depth, branching, data.Z.shape[1])
            gate = GateTree(empty, float(self.gate_penalty))
        else:
            gate = ClassifierGate(_seeded(self.gate, seed), M)
        return run_em(
            data,
            _start(data, M, seed),
            expert,
            gate,
            max_iter=self.max_iter,
            tol=self.tol,
            held_out=held_out,
        )

    def _keep(self, trace: Trace) -> None:
        """Store the mixture, and how EM came to it."""
        self.experts_ = trace.mixture.experts
        self.noise_ = trace.mixture.noise
        gate = trace.mixture.gate
        self.gates_ = gate.gates if isinstance(gate, GateTree) else []
        self.gate_ = gate.model if isinstance(gate, ClassifierGate) else None
        if isinstance(gate, ClassifierGate) and self.gate_ is None:  # of one expert
            self.gates_ = empty_gates(1, 1, len(self._centre) + 1)
        self.log_likelihoods_ = np.array(trace.fitted)
        self.held_out_log_likelihoods_ = np.array(trace.held_out)
        self.n_iter_ = len(trace.fitted)
        self.converged_ = trace.converged
        if not trace.converged:
            steps = trace.fitted[-2:]
            warnings.warn(
                f"EM has not converged in max_iter={self.max_iter} steps: the last one "
                f"changed the log-likelihood by {steps[-1] - steps[0]:.3g}, with "
                f"tol={self.tol:g} for each row. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _seeded(estimator: Member, seed: int) -> Member:
    """Return an unfitted estimator with this seed, if it takes one."""
    made = clone(estimator)
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return made


def _start(data: Data, n_experts: int, seed: int) -> FloatArray:
    """Return responsibilities (N, M) by the cells of k-means, softened."""
    points = data.Z[:, 1:]
    n_cells = min(n_experts, len(np.unique(points, axis=0)))
    means = KMeans(n_cells, n_init=1, random_state=seed)
    means.fit(points, sample_weight=data.s)
    # Neighbours stand side by side, so that gates in a tree begin with few cuts.
    centres = means.cluster_centers_ - means.cluster_centers_.mean(axis=0)
    along = centres @ np.linalg.svd(centres, full_matrices=False)[2][0]
    cells = np.argsort(np.argsort(along, kind="stable"))[means.labels_]
    own = np.eye(n_experts)[cells]
    start: FloatArray = (1.0 - _EQUAL_SHARE) * own + _EQUAL_SHARE / n_experts
    return start
