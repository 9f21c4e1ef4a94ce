"""SoftmaxGate: a multinomial regression on x, shrunk towards static weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee.combiners import Combiner
from committee.gates.base import (
    Gate,
    LinearGate,
    combined,
    errors_of,
    gate_share,
    in_units,
    present_shares,
    static_weights,
)
from committee.votes import Votes

#: Penalties that are compared, in units of the squared error of the static weights.
PENALTIES = (0.1, 0.01, 0.001, 0.0001)
_N_FOLDS = 5
#: Share of equal weights in the weights that the gate starts from: a member with static
#: weight zero may still be the best one in some places.
_EQUAL_SHARE = 0.1


class SoftmaxGate(Gate):
    """Weights by a multinomial regression on x, shrunk towards static weights.

        g(x) = (1 - share) w + share h(x),   h_m(x) ~ w_m exp(b_m + B_m' z)
        min  mean_n |y_n - sum_m h_m(x_n) f_m(x_n)|^2 / v + penalty (|b|^2 + |B|^2)

    z is x scaled to mean zero and variance one, v is the squared error of the static
    weights w, and for classes y_n is one-hot. The penalty is the best of four on five
    folds. The share has the smallest error on the same folds and is then shrunk by three
    standard errors of its gain. If no gain is left the share is zero, and the gate
    returns the static weights.

    Parameters
    ----------
    columns : list of column numbers or names, default=None
        Columns of X that the gate uses, without NaN and inf. None means all columns.
    static : combiner, default=None
        Learns the static weights w on the same F. Its weights must not be negative.
        None means `SimplexWeights()`.

    Attributes
    ----------
    static_weights_ : array of shape (M,)
        w, which sum to one.
    gate_share_ : float
        The share.
    penalty_ : float
        The penalty; infinite if the share is zero.
    gain_ : float
        Fraction of the squared error of the static weights that the gate saves on the
        folds; zero if the share is zero.
    coef_ : array of shape (M, d)
        B.
    intercept_ : array of shape (M,)
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import SoftmaxGate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 1))
    >>> F = np.c_[-X, X]  # member 0 is right for x < 0, member 1 for x > 0
    >>> gate = SoftmaxGate().fit(X, F, np.abs(X[:, 0]))
    >>> gate.weights([[-0.9], [0.9]]).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Gate._parameter_constraints,
        "static": [Combiner, None],
    }

    static_weights_: FloatArray
    gate_share_: float
    penalty_: float
    gain_: float
    n_features_in_: int

    def __init__(self, columns: Any = None, *, static: Combiner | None = None) -> None:
        self.columns = columns
        self.static = static

    def _learn(self, Z: FloatArray, votes: Votes) -> None:
        """Choose the penalty and the share on folds, then fit on all rows."""
        votes = in_units(votes)
        self.static_weights_ = static_weights(self.static, votes)
        best, self.gate_share_, self.gain_ = self._on_folds(Z, votes)
        self.penalty_, B = np.inf, np.zeros((votes.n_members, Z.shape[1] + 1))
        if self.gate_share_ > 0:
            self.penalty_ = PENALTIES[best]
            rows = GatedErrors.of(Z, votes, self.static_weights_)
            *_, B = rows.path(best + 1)
        self.intercept_, self.coef_ = B[:, 0], B[:, 1:]

    def _on_folds(self, Z: FloatArray, votes: Votes) -> tuple[int, float, float]:
        """Return the number of the best penalty on five folds, its share and its gain.

        The share is zero if there are too few rows for folds, or only one member.
        """
        N, K, nothing = len(Z), votes.n_classes or 1, (0, 0.0, 0.0)
        if N < 2 * _N_FOLDS or votes.n_members == 1:
            return nothing
        before, gated = np.zeros((N, K)), np.zeros((len(PENALTIES), N, K))
        for train, test in KFold(_N_FOLDS, shuffle=True, random_state=0).split(Z):
            part = votes.at(train)
            if part.held_out is not None and not part.held_out.any():
                return nothing
            w = static_weights(self.static, part)
            rows = GatedErrors.of(Z[train], part, w)
            others = GatedErrors.of(Z[test], votes.at(test), w)
            before[test] = combined(others.E, others.static)
            for i, B in enumerate(rows.path(len(PENALTIES))):
                gated[i, test] = others.errors(B)
        losses = np.einsum("ink,ink,n->i", gated, gated, votes.row_weights)
        best = int(np.argmin(losses))
        return best, *gate_share(before, gated[best], votes.row_weights)

    def _weigh(self, Z: FloatArray) -> FloatArray:
        """Return (1 - share) w + share softmax(log w + b + B z)."""
        if np.isinf(self.penalty_):
            return np.tile(self.static_weights_, (len(Z), 1))
        logits = start_logits(self.static_weights_) + self.intercept_ + Z @ self.coef_.T
        share = self.gate_share_
        H: FloatArray = softmax(logits, axis=1)
        return (1.0 - share) * self.static_weights_ + share * H

    def linear_form(self) -> LinearGate:
        """Return the coefficients of the gate, for `to_onnx`."""
        check_is_fitted(self)
        columns = np.arange(self.n_features_in_)
        if self.columns is not None:
            names = list(getattr(self, "feature_names_in_", []))
            picked = [names.index(c) if isinstance(c, str) else c for c in self.columns]
            columns = columns[picked]
        start = start_logits(self.static_weights_) + self.intercept_
        return LinearGate(
            columns,
            self._centre,
            self._scale,
            [(np.c_[start, self.coef_], np.arange(self.n_members_))],
            self.static_weights_,
            self.gate_share_,
        )


@dataclass(frozen=True)
class GatedErrors:
    """Errors of the members, and their sum weighted by softmax(start + B z)."""

    #: (N, 1 + d), the first column is one.
    Z: FloatArray
    #: Errors of the members, (N, M, K).
    E: FloatArray
    #: log w, -inf where a member abstains: (N, M) or (M,).
    start: FloatArray
    #: Row weights that sum to one, (N,).
    s: FloatArray
    #: The static weights of the members that are present: (N, M) or (M,).
    static: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, votes: Votes, w: FloatArray) -> GatedErrors:
        """Return the errors of votes, for a gate that starts from static weights w."""
        start, mask = start_logits(w), votes.held_out
        if mask is not None:
            start = np.where(mask, start, -np.inf)
        s = votes.row_weights
        ones = np.ones(len(Z))
        static = present_shares(w, mask)
        return cls(np.c_[ones, Z], errors_of(votes), start, s / s.sum(), static)

    def weights(self, B: FloatArray) -> FloatArray:
        """Return g (N, M) of B (M, 1 + d)."""
        return softmax(self.start + self.Z @ B.T, axis=1)  # type: ignore[no-any-return]

    def errors(self, B: FloatArray) -> FloatArray:
        """Return sum_m g_m E_m, (N, K)."""
        return combined(self.E, self.weights(B))

    def objective(
        self, B: FloatArray, penalty: float, v: float
    ) -> tuple[float, FloatArray]:
        """Return sum_n s_n |e_n|^2 / v + penalty |B|^2, and its gradient.

        d|e|^2 / da_m = 2 g_m e'(E_m - e) in the logits a, as sum_m g_m = 1.
        """
        g = self.weights(B)
        e = combined(self.E, g)
        squares = _squares(e)
        slope = g * (np.einsum("nmk,nk->nm", self.E, e) - squares[:, None])
        gradient = (2.0 / v) * (slope * self.s[:, None]).T @ self.Z
        value = self.s @ squares / v + penalty * np.sum(B * B)
        return float(value), gradient + 2.0 * penalty * B

    def path(self, n_fits: int) -> Iterator[FloatArray]:
        """Yield B for the first penalties; each fit starts from the one before."""
        B = np.zeros((self.E.shape[1], self.Z.shape[1]))
        for penalty in PENALTIES[:n_fits]:
            B = self.fit(penalty, B)
            yield B

    def fit(self, penalty: float, B: FloatArray) -> FloatArray:
        """Return B that minimises the objective, starting from the given B."""
        v = float(self.s @ _squares(combined(self.E, self.static)))
        if v <= 0.0:  # the static weights make no error
            return B

        def flat(b: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.objective(b.reshape(B.shape), penalty, v)
            return value, gradient.ravel()

        # Threads wait for each other at every small product.
        with one_thread():
            found = minimize(
                flat, B.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
            )
        return found.x.reshape(B.shape)  # type: ignore[no-any-return]


def _squares(e: FloatArray) -> FloatArray:
    """Return |e_n|^2."""
    squares: FloatArray = np.einsum("nk,nk->n", e, e)
    return squares


def start_logits(w: FloatArray) -> FloatArray:
    """Return log w, mixed with equal weights so that it is finite where w is zero."""
    logits: FloatArray = np.log((1.0 - _EQUAL_SHARE) * w + _EQUAL_SHARE / len(w))
    return logits
