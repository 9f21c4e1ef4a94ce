"""SoftmaxGate: its gradient, what it learns, and when it learns nothing."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import softmax
from sklearn.model_selection import KFold

from committee import OptimalWeights, SimplexWeights, SoftmaxGate
from committee.gates.base import gate_share
from committee.gates.softmax import PENALTIES, GatedErrors
from committee.votes import Votes


def _piecewise(N=300, noise=0.1, seed=0):
    """Two members, each right on one side of zero; a third that is always wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 2))
    y = np.abs(X[:, 0]) + noise * rng.normal(size=N)
    return X, np.c_[-X[:, 0], X[:, 0], np.ones(N)], y


def test_the_gradient_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    N, M, K = 20, 3, 4
    F, y = rng.dirichlet(np.ones(K), (N, M)), rng.integers(0, K, N)
    mask = rng.random((N, M)) < 0.7
    mask[:, 0] = True
    problem = Votes(F, y, mask, rng.random(N))
    rows = GatedErrors.of(rng.normal(size=(N, 2)), problem, np.array([0.5, 0.5, 0.0]))

    def value(b):
        return rows.objective(b.reshape(M, 3), 0.1, 0.5)[0]

    def slope(b):
        return rows.objective(b.reshape(M, 3), 0.1, 0.5)[1].ravel()

    # Forward differences of step 1.5e-8 of a function of order one.
    assert check_grad(value, slope, rng.normal(size=M * 3)) < 1e-6


def test_the_objective_is_a_plain_loop():
    X, F, y = _piecewise(10)
    w, B = np.array([0.2, 0.3, 0.5]), np.arange(9.0).reshape(3, 3) / 9
    rows = GatedErrors.of(X, Votes(F, y, None, None), w)
    start = np.log(0.9 * w + 0.1 / 3)
    total = 0.0
    for n in range(10):
        g = np.exp([start[m] + B[m, 0] + B[m, 1:] @ X[n] for m in range(3)])
        total += (y[n] - sum(g * F[n]) / sum(g)) ** 2 / 10
    value, _ = rows.objective(B, 0.1, 2.0)
    np.testing.assert_allclose(value, total / 2.0 + 0.1 * np.sum(B * B), rtol=1e-12)


def test_members_that_own_a_side_get_it():
    X, F, y = _piecewise()
    gate = SoftmaxGate().fit(X, F, y)
    G = gate.weights([[-0.9, 0.0], [0.9, 0.0]])
    np.testing.assert_allclose(G, [[1, 0, 0], [0, 1, 0]], atol=0.05)
    assert gate.gain_ > 0.5
    fresh, F, y = _piecewise(seed=1)
    static = SimplexWeights().fit(F, y).combine(F)
    assert np.mean((gate.combine(fresh, F) - y) ** 2) < 0.5 * np.mean((static - y) ** 2)


def test_the_second_column_says_nothing():
    X, F, y = _piecewise()
    gate = SoftmaxGate(columns=[1]).fit(X, F, y)
    assert gate.gain_ == 0
    static = SimplexWeights().fit(F, y).weights_
    np.testing.assert_allclose(gate.weights(X), np.tile(static, (300, 1)))


def test_the_share_is_that_of_the_folds():
    """With the penalty of least error, by a loop over folds."""
    X, F, y = _piecewise(100, noise=0.2)
    gate = SoftmaxGate().fit(X, F, y)
    assert 0 < gate.gate_share_ < 1
    Z = (X - X.mean(0)) / X.std(0)
    unit = np.abs(F - y[:, None]).max()
    problem = Votes(F / unit, y / unit, None, None)
    static, gated = np.zeros((100, 1)), np.zeros((4, 100, 1))
    for train, test in KFold(5, shuffle=True, random_state=0).split(Z):
        w = SimplexWeights().fit(F[train], y[train]).weights_
        rows, B = GatedErrors.of(Z[train], problem.at(train), w), np.zeros((3, 3))
        E = (F[test] - y[test, None]) / unit
        static[test] = (E @ w)[:, None]
        for i, penalty in enumerate(PENALTIES):
            B = rows.fit(penalty, B)
            h = (0.9 * w + 0.1 / 3) * np.exp(np.c_[np.ones(len(test)), Z[test]] @ B.T)
            gated[i, test, 0] = (h * E).sum(1) / h.sum(1)
    best = int(np.argmin((gated**2).sum(axis=(1, 2))))
    share, gain = gate_share(static, gated[best], np.ones(100))
    assert gate.penalty_ == PENALTIES[best]
    np.testing.assert_allclose([gate.gate_share_, gate.gain_], [share, gain], rtol=1e-6)
    logits = np.log(0.9 * gate.static_weights_ + 0.1 / 3) + gate.intercept_
    h = softmax(logits + Z @ gate.coef_.T, axis=1)
    expected = (1 - share) * gate.static_weights_ + share * h
    np.testing.assert_allclose(gate.weights(X), expected, rtol=1e-6)


def test_units_of_y_do_not_matter():
    X, F, y = _piecewise()
    G = SoftmaxGate().fit(X, F, y).weights(X)
    for unit in (2.0**-500, 2.0**600):
        far = SoftmaxGate().fit(X, unit * F, unit * y).weights(X)
        np.testing.assert_allclose(far, G, rtol=1e-9)


def test_few_rows_perfect_members_and_one_member():
    X, F, _ = _piecewise(8)
    assert np.isinf(SoftmaxGate().fit(X, F, F[:, 0]).penalty_)
    X, F, _ = _piecewise(50)
    same = np.tile(F[:, :1], 3)
    np.testing.assert_allclose(SoftmaxGate().fit(X, same, F[:, 0]).weights(X).sum(1), 1)
    np.testing.assert_array_equal(SoftmaxGate().fit(X, F[:, :1], F[:, 1]).weights(X), 1)


def test_negative_static_weights_are_refused():
    rng = np.random.default_rng(0)
    y, shared = rng.normal(size=100), rng.normal(size=(100, 1))
    F = y[:, None] + shared * [1, 1, 2] + 0.3 * rng.normal(size=(100, 3))
    with pytest.raises(ValueError, match="non-negative"):
        SoftmaxGate(static=OptimalWeights()).fit(rng.normal(size=(100, 1)), F, y)
