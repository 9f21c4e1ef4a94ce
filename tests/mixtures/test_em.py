"""EM by hand, on six rows; the likelihood never falls."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.linear_model import LinearRegression, LogisticRegression

from committee.mixtures.em import Data, run_em
from committee.mixtures.gate_tree import GateTree

X6 = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
Y6 = np.array([2.1, 0.8, 0.6, 0.4, 1.1, 1.9])
START = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
START = np.vstack([START, START[::-1, ::-1]])
PENALTY = 0.5


def _data(s=None):
    s = np.ones(6) if s is None else s
    return Data(X6[:, None], np.c_[np.ones(6), X6], Y6, s, None)


def _gate_tree(n_experts, penalty, d=1):
    equal = GateTree.equal(1, n_experts, np.zeros(d), np.ones(d))
    return replace(equal, penalty=penalty)


def _line(w):
    """Weighted least squares by the normal equations of slope and intercept."""
    A = np.array([[w.sum(), w @ X6], [w @ X6, w @ X6**2]])
    return np.linalg.solve(A, [w @ Y6, w @ (X6 * Y6)])


def _gate(R):
    """A logistic regression: softmax of two is a sigmoid of the difference.

    At the optimum the two slopes are opposite, so |B|^2 / 2 = slope^2 / 4.
    """

    def loss(c):
        p = 1 / (1 + np.exp(-c[0] - c[1] * X6))
        fit = R[:, 0] @ np.log(p) + R[:, 1] @ np.log(1 - p)
        return PENALTY * c[1] ** 2 / 4 - fit

    c = minimize(loss, [0.0, 0.0], tol=1e-14).x
    return 1 / (1 + np.exp(-c[0] - c[1] * X6))


def _step(R):
    """Return the joint densities (6, 2) after one M step, by hand."""
    columns, p = [], _gate(R)
    for m, g in enumerate([p, 1 - p]):
        a, b = _line(R[:, m])
        f = a + b * X6
        noise = R[:, m] @ (Y6 - f) ** 2 / R[:, m].sum()
        columns.append(g * norm.pdf(Y6, f, np.sqrt(noise)))
    return np.stack(columns, axis=1)


def test_the_first_two_steps_by_hand():
    joint = _step(START)
    second = _step(joint / joint.sum(axis=1, keepdims=True))
    gate = _gate_tree(2, PENALTY)
    for n_steps, expected in ((1, joint), (2, second)):
        trace = run_em(
            *(_data(), START, LinearRegression(), gate),
            max_iter=n_steps,
            tol=0.0,
        )
        found = np.exp(trace.mixture.log_joint(_data()))
        # The gate of the hand is found by finite differences.
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        slopes = [B[:, 1:] for B in trace.mixture.gate.nodes]
        total = np.log(found.sum(1)).sum() - PENALTY / 2 * np.sum(np.square(slopes))
        np.testing.assert_allclose(trace.fitted[-1], total, rtol=1e-12)


def test_weights_are_repetitions():
    s = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
    rows = np.repeat(np.arange(6), s.astype(int))
    options = {"max_iter": 5, "tol": 0.0}
    gate = _gate_tree(2, 1.0)
    a = run_em(_data(s), START, LinearRegression(), gate, **options)
    d = _data()
    repeated = Data(d.X[rows], d.Z[rows], d.y[rows], d.s[rows], None)
    b = run_em(repeated, START[rows], LinearRegression(), gate, **options)
    np.testing.assert_allclose(a.fitted, b.fitted, rtol=1e-5)


@pytest.mark.parametrize("classes", [None, np.arange(3)], ids=["numbers", "classes"])
def test_the_likelihood_never_falls(classes):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2))
        y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=120)
        expert = LinearRegression()
        if classes is not None:
            y = np.digitize(y, [0.4, 1.0])
            expert = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000)
        data = Data(X, np.c_[np.ones(120), X], y, rng.uniform(0.5, 1.5, 120), classes)
        start = rng.dirichlet(np.ones(3), 120)
        gate = _gate_tree(3, 1.0, d=2)
        trace = run_em(data, start, expert, gate, max_iter=15, tol=-1.0)
        fitted = np.array(trace.fitted)
        # Experts of classes are at their optimum to the tolerance of their solver.
        assert np.diff(fitted).min() >= -1e-5 * abs(fitted[-1])
        assert fitted[-1] > fitted[0]
        np.testing.assert_allclose(
            np.exp(trace.mixture.gate.log_weights(data.Z)).sum(1), 1.0
        )


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_the_least_noise_is_a_share_of_the_variance_of_y(shift):
    """A line through all rows has no noise of its own, wherever y has its origin."""
    s = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])
    y = 2.0 * X6 + shift
    data = Data(X6[:, None], np.c_[np.ones(6), X6], y, s, None)
    found = run_em(
        data, START, LinearRegression(), _gate_tree(2, PENALTY), max_iter=1, tol=0.0
    )
    variance = np.average((y - np.average(y, weights=s)) ** 2, weights=s)
    np.testing.assert_allclose(found.mixture.noise, 1e-6 * variance, rtol=1e-9)
