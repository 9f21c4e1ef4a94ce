"""Gates that are fitted to soft targets: regressions in a tree, or any classifier.

The gates of a tree with L leaves are a list of coefficients B (b, 1 + d), node by node
from the root downwards. Every leaf is an expert, and

    log g_leaf(x) = sum over the nodes on its way of log softmax(B z)_child

with z = (1, x). A tree of depth one is the gate of a plain mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee._typing import FloatArray, IntArray, Member

#: The least weight of an expert in the likelihood: a gate that rules one out for a row
#: must not rule it out for ever.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class GateTree:
    """The gates of a tree, and the penalty of their coefficients."""

    gates: list[FloatArray]
    penalty: float

    def log_weights(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return log g (N, M)."""
        return log_gates(Z, self.gates)

    def fitted(self, X: FloatArray, Z: FloatArray, W: FloatArray) -> GateTree:
        """Return the tree of soft targets W (N, M), from this one."""
        return GateTree(fit_gates(Z, W, self.gates, self.penalty), self.penalty)

    def price(self) -> float:
        """Return penalty |B|^2 / 2 of all gates, intercepts aside."""
        squares = sum(float(np.sum(B[:, 1:] ** 2)) for B in self.gates)
        return 0.5 * self.penalty * squares


def empty_gates(depth: int, branching: int, n_columns: int) -> list[FloatArray]:
    """Return gates that share equally, one for each node."""
    n_nodes = sum(branching**level for level in range(depth))
    return [np.zeros((branching, n_columns)) for _ in range(n_nodes)]


def log_gates(Z: FloatArray, gates: list[FloatArray]) -> FloatArray:
    """Return log g of every leaf, (N, L); Z (N, 1 + d) begins with ones."""
    log_g = np.zeros((len(Z), _n_leaves(gates)))
    for B, way in zip(gates, ways(gates), strict=True):
        below = way < len(B)
        log_g[:, below] += log_softmax(Z @ B.T, axis=1)[:, way[below]]
    return log_g


def ways(gates: list[FloatArray]) -> list[IntArray]:
    """Return for each node the child that leads to every leaf, b where none does."""
    b, L = len(gates[0]), _n_leaves(gates)
    found = []
    for leaves in _leaves(gates):
        way = np.full(L, b)
        way[leaves] = np.repeat(np.arange(b), (leaves.stop - leaves.start) // b)
        found.append(way)
    return found


def fit_gates(
    Z: FloatArray, R: FloatArray, gates: list[FloatArray], penalty: float
) -> list[FloatArray]:
    """Return the gates of largest likelihood of soft targets R (N, L), from given ones.

    The targets of a node are the sums of R over the leaves below each of its children.
    """
    b = len(gates[0])
    return [
        fit_multinomial(Z, R[:, leaves].reshape(len(R), b, -1).sum(axis=2), B, penalty)
        for B, leaves in zip(gates, _leaves(gates), strict=True)
    ]


def fit_multinomial(
    Z: FloatArray, H: FloatArray, B: FloatArray, penalty: float
) -> FloatArray:
    """Return B that maximises sum_nc H_nc log softmax(B z_n)_c - penalty |B|^2 / 2.

    Intercepts, the first column of B, are not penalised. H (N, b) need not sum to one.
    """
    if len(B) == 1:
        return B
    h = H.sum(axis=1, keepdims=True)
    total = max(float(h.sum()), np.finfo(float).tiny)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        C = flat.reshape(B.shape)
        log_p = log_softmax(Z @ C.T, axis=1)
        gradient = (h * np.exp(log_p) - H).T @ Z
        gradient[:, 1:] += penalty * C[:, 1:]
        value = 0.5 * penalty * np.sum(C[:, 1:] ** 2) - np.sum(H * log_p)
        return float(value) / total, gradient.ravel() / total

    options = {"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(objective, B.ravel(), jac=True, method="L-BFGS-B", options=options)
    # Never worse than where it began, so that EM never is.
    if found.fun > objective(B.ravel())[0]:
        return B
    fitted: FloatArray = found.x.reshape(B.shape)
    return fitted


def _n_leaves(gates: list[FloatArray]) -> int:
    """Return L: with one node more on the way, b - 1 leaves more."""
    return 1 + len(gates) * (len(gates[0]) - 1)


def _leaves(gates: list[FloatArray]) -> Iterator[slice]:
    """Yield the leaves below each node, level by level."""
    b, L = len(gates[0]), _n_leaves(gates)
    if b == 1:
        yield from [slice(0, 1)] * len(gates)
        return
    n_nodes = 1
    while n_nodes < L:
        width = L // n_nodes
        yield from (slice(i * width, (i + 1) * width) for i in range(n_nodes))
        n_nodes *= b


def check_gate(gate: Any) -> None:
    """Refuse what cannot be fitted to soft targets."""
    if not hasattr(gate, "predict_proba") or not has_fit_parameter(
        gate, "sample_weight"
    ):
        raise ValueError(
            "gate must be a classifier with predict_proba that takes sample_weight in "
            f"fit. {type(gate).__name__} is not: take None for a multinomial "
            "regression, or a forest, boosting or Bayes classifier."
        )


def shares(gate: Member, X: FloatArray, n_experts: int) -> FloatArray:
    """Return g (N, M) of a classifier of the experts' numbers, rows of sum one."""
    G = np.zeros((len(X), n_experts))
    G[:, gate.classes_] = gate.predict_proba(X)
    return G / G.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ClassifierGate:
    """A classifier of the numbers 0..M-1 of the experts; before any fit all are equal."""

    estimator: Member
    n_experts: int
    #: The fitted classifier, None where nothing was fitted.
    model: Member | None = None

    def log_weights(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return log g (N, M)."""
        if self.model is None:
            return np.full((len(X), self.n_experts), -np.log(self.n_experts))
        G = shares(self.model, X, self.n_experts)
        return np.log(np.maximum(G, _LEAST_SHARE))

    def fitted(self, X: FloatArray, Z: FloatArray, W: FloatArray) -> ClassifierGate:
        """Return the gate of soft targets W (N, M).

        A row is given once for each expert, with the weight that it has there:
        sum_nm W_nm log g_m(x_n) is the likelihood of these rows.
        """
        if self.n_experts == 1:
            return self
        rows, labels = np.nonzero(_LEAST_SHARE * W.max() < W)
        model = clone(self.estimator)
        model.fit(X[rows], labels, sample_weight=W[rows, labels])
        return ClassifierGate(self.estimator, self.n_experts, model)

    def price(self) -> float:
        """Return the penalty of the likelihood: none."""
        return 0.0
