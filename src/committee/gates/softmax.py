"""SoftmaxGate: a multinomial regression on x, shrunk towards static weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import Interval
from committee.combiners import Combiner
from committee.export.gated import LinearGate
from committee.gates.base import Gate
from committee.gates.gate_share import (
    best_on_folds,
    combined,
    errors_of,
    in_units,
    present_shares,
    static_weights,
)
from committee.votes import Votes

#: Penalties that are compared, in units of the squared error of the static weights.
PENALTIES = (0.1, 0.01, 0.001, 0.0001)
#: Share of equal weights in where the gate starts: who has no weight may still be
#: the best of all somewhere.
_EQUAL_SHARE = 0.1
#: Copies of the rows, each with other members dropped.
_N_COPIES = 4


class SoftmaxGate(Gate):
    """Weights by a multinomial regression on x, shrunk towards static weights.

        g(x) = (1 - share) w + share h(x),   h_m(x) ~ w_m exp(b_m + B_m' z)
        min  mean_n |y_n - sum_m h_m(x_n) f_m(x_n)|^2 / v + penalty (|b|^2 + |B|^2)

    z is x with mean zero and variance one, v the error of the static weights w, and
    for classes y_n is one-hot. The gradient in the logits is that of a multinomial
    regression with soft targets. The penalty is the best of four on five folds. The
    share is that of least error on these, shrunk by three standard errors of its gain;
    where nothing is left, the gate is the static weights: on members that are good in
    the same places nothing should depend on x.

    Parameters
    ----------
    columns : list of column numbers or names, optional
        What the gate looks at: all columns of X unless given. They must hold numbers.
    static : combiner, optional
        What learns the weights to shrink to, on the same F: `SimplexWeights()` unless
        given. They must not be negative.
    dropout : float, default=0.0
        Share of the members that are dropped at random, for each row anew, while the
        regression is fitted, so that none relies on another. It takes four times as
        long. Zero is the default because the share leaves it nothing to gain: on 14 data
        sets 0.1 to 0.5 saved less.
    random_state : int, RandomState or None
        Of the dropout.

    Attributes
    ----------
    static_weights_ : array of shape (M,)
        With sum one.
    gate_share_ : float
        The share.
    penalty_ : float
        Infinite where the static weights were kept.
    gain_ : float
        Share of the static weights' squared error that the gate saves on the folds;
        zero where they were kept.
    coef_ : array of shape (M, d)
    intercept_ : array of shape (M,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import SoftmaxGate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 1))
    >>> F = np.c_[-X, X]  # the first is right on the left, the second on the right
    >>> gate = SoftmaxGate().fit(X, F, np.abs(X[:, 0]))
    >>> gate.weights([[-0.9], [0.9]]).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Gate._parameter_constraints,
        "static": [Combiner, None],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    static_weights_: FloatArray
    #: Files of older versions have none: theirs was all or nothing.
    gate_share_: float = 1.0
    penalty_: float
    gain_: float
    n_features_in_: int

    def __init__(
        self,
        columns: Any = None,
        *,
        static: Combiner | None = None,
        dropout: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.columns = columns
        self.static = static
        self.dropout = dropout
        self.random_state = random_state

    def _learn(self, Z: FloatArray, problem: Votes) -> None:
        """Choose the penalty and the share on folds, and fit once more."""
        rng, problem = check_random_state(self.random_state), in_units(problem)
        self.static_weights_ = static_weights(self.static, problem)

        def gates(
            train: IntArray, test: IntArray, w: FloatArray
        ) -> Iterator[FloatArray]:
            others = Rows.of(Z[test], problem.at(test), w)
            rows = Rows.of(Z[train], problem.at(train), w)
            return map(others.weights, self._path(rows, rng, len(PENALTIES)))

        best, self.gate_share_, self.gain_ = best_on_folds(
            problem, self.static, len(PENALTIES), gates
        )
        self.penalty_, B = np.inf, np.zeros((problem.n_members, Z.shape[1] + 1))
        if self.gate_share_ > 0:
            self.penalty_ = PENALTIES[best]
            rows = Rows.of(Z, problem, self.static_weights_)
            *_, B = self._path(rows, rng, best + 1)
        self.intercept_, self.coef_ = B[:, 0], B[:, 1:]

    def _path(
        self, rows: Rows, rng: np.random.RandomState, n_fits: int
    ) -> Iterator[FloatArray]:
        """Yield B for the first penalties, each from the one before."""
        if self.dropout > 0:
            rows = rows.dropped(float(self.dropout), rng)
        B = np.zeros((rows.E.shape[1], rows.Z.shape[1]))
        for penalty in PENALTIES[:n_fits]:
            B = rows.fit(penalty, B)
            yield B

    def _weigh(self, Z: FloatArray, F: FloatArray | None) -> FloatArray:
        """Return (1 - share) w + share softmax(log w + b + B z), or w itself."""
        if np.isinf(self.penalty_):
            return np.tile(self.static_weights_, (len(Z), 1))
        logits = start_logits(self.static_weights_) + self.intercept_ + Z @ self.coef_.T
        share = self.gate_share_
        H: FloatArray = softmax(logits, axis=1)
        return (1.0 - share) * self.static_weights_ + share * H

    def linear_form(self) -> LinearGate:
        """Return the gate as numbers, for `to_onnx`."""
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
class Rows:
    """What the fit of a gate sees: Z with a column of ones, errors, who abstains."""

    Z: FloatArray
    E: FloatArray
    #: log w, -inf where a member abstains: (N, M) or (M,).
    start: FloatArray
    s: FloatArray
    #: The static weights of the members that are present: (N, M) or (M,).
    static: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, problem: Votes, w: FloatArray) -> Rows:
        """Return the rows of a problem."""
        start, mask = start_logits(w), problem.held_out
        if mask is not None:
            start = np.where(mask, start, -np.inf)
        s = problem.row_weights
        ones = np.ones(len(Z))
        static = present_shares(w, mask)
        return cls(np.c_[ones, Z], errors_of(problem), start, s / s.sum(), static)

    def dropped(self, rate: float, rng: np.random.RandomState) -> Rows:
        """Return copies of the rows on which some members abstain, at random.

        One that is present stays so on every row.
        """
        N, M = self.E.shape[:2]
        start = np.tile(np.broadcast_to(self.start, (N, M)), (_N_COPIES, 1))
        # The member of the largest draw stays where all would be dropped.
        draws = np.where(np.isfinite(start), rng.uniform(size=start.shape), -1.0)
        stays = (draws >= rate) | (draws == draws.max(axis=1, keepdims=True))
        return Rows(
            np.tile(self.Z, (_N_COPIES, 1)),
            np.tile(self.E, (_N_COPIES, 1, 1)),
            np.where(stays, start, -np.inf),
            np.tile(self.s, _N_COPIES) / _N_COPIES,
            np.tile(np.broadcast_to(self.static, (N, M)), (_N_COPIES, 1)),
        )

    def weights(self, B: FloatArray) -> FloatArray:
        """Return g (N, M) of B (M, 1 + d)."""
        return softmax(self.start + self.Z @ B.T, axis=1)  # type: ignore[no-any-return]

    def errors(self, B: FloatArray) -> FloatArray:
        """Return the errors of every row, (N, K)."""
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

    def fit(self, penalty: float, B: FloatArray) -> FloatArray:
        """Return B of the least objective near the given one."""
        v = float(self.s @ _squares(combined(self.E, self.static)))
        if v <= 0.0:  # nothing to gain
            return B

        def flat(b: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.objective(b.reshape(B.shape), penalty, v)
            return value, gradient.ravel()

        found = minimize(
            flat, B.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}
        )
        return found.x.reshape(B.shape)  # type: ignore[no-any-return]


def _squares(e: FloatArray) -> FloatArray:
    """Return |e_n|^2."""
    squares: FloatArray = np.einsum("nk,nk->n", e, e)
    return squares


def start_logits(w: FloatArray) -> FloatArray:
    """Return the logits of the static weights, those of zero weights finite."""
    logits: FloatArray = np.log((1.0 - _EQUAL_SHARE) * w + _EQUAL_SHARE / len(w))
    return logits
