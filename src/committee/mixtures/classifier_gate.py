"""Any classifier as the gate of a mixture: it says which expert has a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee._typing import FloatArray, Member

#: The least weight of an expert in the likelihood: a gate that rules one out for a row
#: must not rule it out for ever.
_LEAST_SHARE = 1e-9


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
