"""Gates in a tree against loops, and against scikit-learn's multinomial regression."""

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from committee.mixtures.gate_tree import (
    empty_gates,
    fit_gates,
    fit_multinomial,
    log_gates,
)


def _rows(N=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[np.ones(N), rng.normal(size=(N, d))], rng


def test_the_gate_of_a_leaf_is_the_product_on_its_way():
    Z, rng = _rows()
    gates = [rng.normal(size=(3, 3)) for _ in empty_gates(2, 3, 3)]
    assert len(gates) == 4
    top, *below = (softmax(Z @ B.T, axis=1) for B in gates)
    product = np.hstack([top[:, [i]] * below[i] for i in range(3)])
    np.testing.assert_allclose(np.exp(log_gates(Z, gates)), product, rtol=1e-12)


def test_one_hot_targets_are_a_multinomial_regression():
    Z, rng = _rows(200)
    y = (Z @ rng.normal(size=(3, 3)) + rng.gumbel(size=(200, 3))).argmax(1)
    rival = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(Z[:, 1:], y)
    B = fit_multinomial(Z, np.eye(3)[y], np.zeros((3, 3)), 2.0)
    # Intercepts are known up to a constant; both are optima to about 1e-4.
    np.testing.assert_allclose(B[:, 1:], rival.coef_, atol=1e-3)
    p = rival.predict_proba(Z[:, 1:])
    np.testing.assert_allclose(softmax(Z @ B.T, axis=1), p, atol=1e-3)


def test_soft_targets_of_a_known_gate_give_it_back():
    Z, rng = _rows(300)
    gates = [rng.normal(size=(2, 3)) for _ in range(3)]
    R = np.exp(log_gates(Z, gates))
    found = fit_gates(Z, R, empty_gates(2, 2, 3), 0.0)
    np.testing.assert_allclose(np.exp(log_gates(Z, found)), R, atol=1e-4)


def test_one_way_is_no_choice():
    Z, _ = _rows()
    gates = fit_gates(Z, np.ones((40, 1)), empty_gates(2, 1, 3), 1.0)
    np.testing.assert_array_equal(log_gates(Z, gates), 0.0)
