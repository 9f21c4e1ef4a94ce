"""SoftmaxGate: a multinomial regression on x, shrunk towards static weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.model_selection import KFold

from committee._typing import FloatArray
from committee.combiners import Combiner
from committee.combiners.problem import Problem
from committee.gates.base import Gate
from committee.gates.static import static_weights

#: Penalties that are compared, in units of the squared error of the static weights.
PENALTIES = (0.1, 0.01, 0.001, 0.0001)
#: Share of equal weights in where the gate starts: who has no weight may still be
#: the best of all somewhere.
_EQUAL_SHARE = 0.1
_N_FOLDS = 5


class SoftmaxGate(Gate):
    """Weights by a multinomial regression on x that starts from static weights.

        g_m(x) ~ w_m exp(b_m + B_m' z)
        min  mean_n |y_n - sum_m g_m(x_n) f_m(x_n)|^2 / v + penalty (|b|^2 + |B|^2)

    z is x with mean zero and variance one, v the error of the static weights w, and
    for classes y_n is one-hot. The gradient in the logits is that of a multinomial
    regression with soft targets. The penalty is the best of four on five folds. Where
    its gain over static weights on these is no larger than its standard error, the
    gate is the static weights: on members that are good in the same places nothing
    should depend on x.

    Parameters
    ----------
    columns : list of column numbers or names, optional
        What the gate looks at: all columns of X unless given. They must hold numbers.
    static : combiner, optional
        What learns the weights to shrink to, on the same F: `SimplexWeights()` unless
        given. They must not be negative.

    Attributes
    ----------
    static_weights_ : array of shape (M,)
        With sum one.
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
    }

    static_weights_: FloatArray
    penalty_: float
    gain_: float

    def __init__(self, columns: Any = None, *, static: Combiner | None = None) -> None:
        self.columns = columns
        self.static = static

    def _learn(self, Z: FloatArray, problem: Problem) -> None:
        """Choose the penalty on folds and fit once more."""
        self.static_weights_ = static_weights(self.static, problem)
        self.penalty_, self.gain_ = self._choose(Z, problem)
        B = np.zeros((problem.n_members, Z.shape[1] + 1))
        if np.isfinite(self.penalty_):
            rows = Rows.of(Z, problem, self.static_weights_)
            for penalty in PENALTIES[: PENALTIES.index(self.penalty_) + 1]:
                B = rows.fit(penalty, B)
        self.intercept_, self.coef_ = B[:, 0], B[:, 1:]

    def _choose(self, Z: FloatArray, problem: Problem) -> tuple[float, float]:
        """Return the penalty of least error on folds, and what it gains."""
        N = len(Z)
        if N < 2 * _N_FOLDS or problem.n_members == 1:
            return np.inf, 0.0
        saved = np.zeros((len(PENALTIES), N))
        before = np.zeros(N)
        folds = KFold(_N_FOLDS, shuffle=True, random_state=0)
        for train, test in folds.split(Z):
            part, rest = problem.at(train), problem.at(test)
            if part.held_out is not None and not part.held_out.any():
                return np.inf, 0.0
            w = static_weights(self.static, part)
            rows, others = Rows.of(Z[train], part, w), Rows.of(Z[test], rest, w)
            before[test] = others.static_errors()
            B = np.zeros((problem.n_members, Z.shape[1] + 1))
            for i, penalty in enumerate(PENALTIES):
                B = rows.fit(penalty, B)
                saved[i, test] = before[test] - others.errors(B)
        s = problem.row_weights / problem.row_weights.sum()
        best = int(np.argmax(saved @ s))
        gain = float(saved[best] @ s)
        spread = float(np.sqrt(s**2 @ (saved[best] - gain) ** 2))
        if not gain > spread:
            return np.inf, 0.0
        return PENALTIES[best], gain / float(before @ s)

    def _weigh(self, Z: FloatArray, F: FloatArray | None) -> FloatArray:
        """Return softmax(log w + b + B z), or w itself."""
        if np.isinf(self.penalty_):
            return np.tile(self.static_weights_, (len(Z), 1))
        logits = _start(self.static_weights_) + self.intercept_ + Z @ self.coef_.T
        return softmax(logits, axis=1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Rows:
    """What the fit of a gate sees: Z with a column of ones, errors, who abstains."""

    Z: FloatArray
    E: FloatArray
    #: log w, -inf where a member abstains: (N, M) or (M,).
    start: FloatArray
    s: FloatArray
    #: The static weights, with zeros where a member abstains: (N, M) or (M,).
    static: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, problem: Problem, w: FloatArray) -> Rows:
        """Return the rows of a problem."""
        F, y = problem.F, problem.y
        if problem.n_classes is None:
            E = (F - y[:, None])[..., None]
        else:
            E = F - np.eye(problem.n_classes)[y][:, None]
        start, static, mask = _start(w), w, problem.held_out
        if mask is not None:
            start = np.where(mask, start, -np.inf)
            # Where nobody of weight is present, all that are count alike.
            static = np.where((mask @ w > 0)[:, None], w, 1.0) * mask
        s = problem.row_weights
        return cls(np.c_[np.ones(len(Z)), Z], E, start, s / s.sum(), static)

    def weights(self, B: FloatArray) -> FloatArray:
        """Return g (N, M) of B (M, 1 + d)."""
        return softmax(self.start + self.Z @ B.T, axis=1)  # type: ignore[no-any-return]

    def errors(self, B: FloatArray) -> FloatArray:
        """Return the squared error of every row, (N,)."""
        e = np.einsum("nm,nmk->nk", self.weights(B), self.E)
        return _squares(e)

    def static_errors(self) -> FloatArray:
        """Return those of the static weights, of the members that are present."""
        G = np.broadcast_to(self.static, self.E.shape[:2])
        e = np.einsum("nm,nmk->nk", G / G.sum(axis=1, keepdims=True), self.E)
        return _squares(e)

    def objective(
        self, B: FloatArray, penalty: float, v: float
    ) -> tuple[float, FloatArray]:
        """Return sum_n s_n |e_n|^2 / v + penalty |B|^2, and its gradient.

        d|e|^2 / da_m = 2 g_m e'(E_m - e) in the logits a, as sum_m g_m = 1.
        """
        g = self.weights(B)
        e = np.einsum("nm,nmk->nk", g, self.E)
        squares = _squares(e)
        slope = g * (np.einsum("nmk,nk->nm", self.E, e) - squares[:, None])
        gradient = (2.0 / v) * (slope * self.s[:, None]).T @ self.Z
        value = self.s @ squares / v + penalty * np.sum(B * B)
        return float(value), gradient + 2.0 * penalty * B

    def fit(self, penalty: float, B: FloatArray) -> FloatArray:
        """Return B of the least objective near the given one."""
        v = float(self.s @ self.static_errors())
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


def _start(w: FloatArray) -> FloatArray:
    """Return the logits of the static weights, those of zero weights finite."""
    logits: FloatArray = np.log((1.0 - _EQUAL_SHARE) * w + _EQUAL_SHARE / len(w))
    return logits
