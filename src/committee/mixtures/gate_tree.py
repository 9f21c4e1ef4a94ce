"""GateTree, the gate of a mixture: regressions or other classifiers in a tree.

Every leaf of the tree is an expert. A node v gives each of its b children a share of the
rows that reach it, and the weight of an expert is the product along its path:

    log g_m(x) = sum over the nodes v on the path to m of log p_v(child | z)

x has mean zero and variance one after scaling, and z = (1, x). A tree of depth one has one
node, the gate of a plain mixture. The gate is fitted to responsibilities (EM) or to the
errors of the experts (parts).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray, Member
from committee.gates.base import LinearGate
from committee.gates.softmax import GatedErrors

#: Smallest share that a classifier gives a child: the likelihood stays finite, and EM can
#: raise a share that was zero.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class GateTree:
    """Gates in a tree whose leaves are the experts.

    Attributes
    ----------
    nodes : list
        The gates, level by level from the root: coefficients B (b, 1 + d) of a
        multinomial regression, p_v(. | z) = softmax(B z), or fitted classifiers whose
        classes are the numbers of the children, 0..b-1.
    branching : int
        b, the number of children of a node.
    centre, scale : arrays of shape (d,)
        Mean and standard deviation of the columns of X.
    classifier : classifier or None
        Cloned for every node. None means multinomial regressions.
    penalty : float or None
        Penalty of the coefficients of multinomial regressions; None before it is chosen.
    """

    nodes: list[Any]
    branching: int
    centre: FloatArray
    scale: FloatArray
    classifier: Member | None = None
    penalty: float | None = None

    @classmethod
    def equal(
        cls, depth: int, branching: int, centre: FloatArray, scale: FloatArray
    ) -> Self:
        """Return a tree that gives equal weights to branching^depth experts."""
        n_nodes = sum(branching**level for level in range(depth))
        empty = [np.zeros((branching, 1 + len(centre))) for _ in range(n_nodes)]
        return cls(empty, branching, centre, scale)

    @property
    def n_experts(self) -> int:
        """M: every node replaces one leaf by b."""
        return 1 + len(self.nodes) * (self.branching - 1)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Return Z (N, 1 + d): a column of ones, and the columns of X scaled."""
        Z: FloatArray = np.c_[np.ones(len(X)), (X - self.centre) / self.scale]
        return Z

    def weights(self, X: FloatArray) -> FloatArray:
        """Return G (N, M), the weight of every expert on every row."""
        G: FloatArray = np.exp(self.log_weights(self.scaled(X)))
        return G

    def log_weights(self, Z: FloatArray) -> FloatArray:
        """Return log g (N, M)."""
        log_g = np.zeros((len(Z), self.n_experts))
        for node, leaves in zip(self.nodes, self._leaves(), strict=True):
            n_below = (leaves.stop - leaves.start) // self.branching
            log_g[:, leaves] += np.repeat(self._log_shares(node, Z), n_below, axis=1)
        return log_g

    def _log_shares(self, node: Any, Z: FloatArray) -> FloatArray:
        """Return log p_v (N, b) of one node."""
        if isinstance(node, np.ndarray):
            log_p: FloatArray = log_softmax(Z @ node.T, axis=1)
            return log_p
        P = np.zeros((len(Z), self.branching))
        P[:, node.classes_] = node.predict_proba(Z[:, 1:])
        P = np.maximum(P, _LEAST_SHARE)
        return np.log(P / P.sum(axis=1, keepdims=True))  # type: ignore[no-any-return]

    def _leaves(self) -> list[slice]:
        """Return the leaves below each node, level by level."""
        found: list[slice] = []
        width = self.n_experts
        while len(found) < len(self.nodes):
            found += [slice(i, i + width) for i in range(0, self.n_experts, width)]
            width //= self.branching
        return found

    def fitted(self, Z: FloatArray, W: FloatArray) -> GateTree:
        """Return the gate that maximises sum_nm W_nm log g_m(x_n) - price().

        W (N, M) holds responsibilities times row weights. The targets of a node are the
        sums of W over the leaves below each of its children.
        """
        nodes = []
        for node, leaves in zip(self.nodes, self._leaves(), strict=True):
            H = W[:, leaves].reshape(len(W), self.branching, -1).sum(axis=2)
            nodes.append(self._fitted_node(node, Z, H))
        return replace(self, nodes=nodes)

    def _fitted_node(self, node: Any, Z: FloatArray, H: FloatArray) -> Any:
        """Return the gate of a node with soft targets H (N, b).

        A classifier gets a row once for each child, with the weight H_nc. A node that no
        row reaches stays as it is.
        """
        if self.branching == 1 or not H.any():
            return node
        if self.classifier is None:
            return fit_multinomial(Z, H, node, self.penalty or 0.0)
        rows, children = np.nonzero(_LEAST_SHARE * H.max() < H)
        return self._trained(Z[rows, 1:], children, H[rows, children])

    def fitted_to_errors(self, Z: FloatArray, E: FloatArray, s: FloatArray) -> GateTree:
        """Return the gate of depth one for errors E (N, M, K) and row weights s (N,).

        A multinomial regression minimises the squared error of sum_m g_m E_m. A
        classifier learns which expert has the smallest squared error; if it takes
        `sample_weight`, rows count by the mean error of the experts minus the least.
        """
        M = E.shape[1]
        if self.classifier is None:
            errors = GatedErrors(Z, E, np.zeros(M), s / s.sum(), np.full(M, 1.0 / M))
            return replace(self, nodes=[errors.fit(self.penalty or 0.0, self.nodes[0])])
        losses = np.einsum("nmk,nmk->nm", E, E)
        regret = s * (losses.mean(axis=1) - losses.min(axis=1))
        some = regret > 0
        if not some.any():
            return self
        best = losses[some].argmin(axis=1)
        return replace(self, nodes=[self._trained(Z[some, 1:], best, regret[some])])

    def _trained(self, X: FloatArray, labels: IntArray, weights: FloatArray) -> Member:
        """Return a classifier of the children, fitted on weighted rows."""
        # Many classifiers refuse a single class.
        several = len(np.unique(labels)) > 1
        model = clone(self.classifier) if several else DummyClassifier()
        if has_fit_parameter(model, "sample_weight"):
            return model.fit(X, labels, sample_weight=weights)
        return model.fit(X, labels)

    def price(self) -> float:
        """Return penalty |B|^2 / 2 of all regressions, without their intercepts."""
        if self.classifier is not None or self.penalty is None:
            return 0.0
        squares = sum(float(np.sum(B[:, 1:] ** 2)) for B in self.nodes)
        return 0.5 * self.penalty * squares

    def linear_form(self) -> LinearGate:
        """Return the coefficients of the gate, for `to_onnx`.

        Raises ValueError if a node is not a multinomial regression.
        """
        if self.classifier is not None:
            raise ValueError(
                "to_onnx writes gates that are multinomial regressions, gate=None. "
                f"Got {type(self.classifier).__name__}: use committee.save."
            )
        b, M = self.branching, self.n_experts
        nodes = []
        for B, leaves in zip(self.nodes, self._leaves(), strict=True):
            ways = np.full(M, b)
            ways[leaves] = np.repeat(np.arange(b), (leaves.stop - leaves.start) // b)
            nodes.append((B, ways))
        columns = np.arange(len(self.centre))
        return LinearGate(
            columns, self.centre, self.scale, nodes, np.full(M, 1.0 / M), 1.0
        )


def fit_multinomial(
    Z: FloatArray, H: FloatArray, B: FloatArray, penalty: float
) -> FloatArray:
    """Return B that maximises sum_nc H_nc log softmax(B z_n)_c - penalty |B|^2 / 2.

    Intercepts, the first column of B, are not penalised. H (N, b) need not sum to one.
    The search starts from the given B, and never returns a worse one, so that the
    likelihood of EM never falls.
    """
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
    with one_thread():  # threads wait for each other at every small product
        found = minimize(
            objective, B.ravel(), jac=True, method="L-BFGS-B", options=options
        )
    if found.fun > objective(B.ravel())[0]:
        return B
    fitted: FloatArray = found.x.reshape(B.shape)
    return fitted
