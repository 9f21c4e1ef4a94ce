"""Gates on soft targets: against loops, scikit-learn's regression, and each other."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import (
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    load,
    save,
)
from committee.mixtures.soft_gates import (
    ClassifierGate,
    GateTree,
    empty_gates,
    fit_gates,
    fit_multinomial,
    log_gates,
)
from tests.reference.sklearn_checks import assert_passes_all_checks


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


def _ring(N=600, seed=0):
    """One law inside a circle, another one outside: no line parts them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 2))
    inside = (X**2).sum(axis=1) < 0.6
    y = np.where(inside, 3 + X[:, 0], -X[:, 0]) + 0.1 * rng.normal(size=N)
    return X, y


def test_a_multinomial_regression_given_as_a_classifier_is_the_default():
    """At the same responsibilities: the penalty |B|^2 / 2 is C = 1 in scikit-learn."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(80, 2)), rng.dirichlet(np.ones(3), 80)
    Z = np.c_[np.ones(80), X]
    rival = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    a = ClassifierGate(rival, 3).fitted(X, Z, W).log_weights(X, Z)
    b = GateTree(empty_gates(1, 3, 3), 1.0).fitted(X, Z, W).log_weights(X, Z)
    # Both are optima to about 1e-4.
    np.testing.assert_allclose(a, b, atol=1e-3)


def test_gates_of_other_shapes_than_lines(tmp_path):
    X, y = _ring()
    fresh, target = _ring(seed=1)
    lines = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(X, y)
    rings = MixtureOfExpertsRegressor(n_experts=2, gate=GaussianNB(), random_state=0)
    rings.fit(X, y)
    error = np.mean((rings.predict(fresh) - target) ** 2)
    assert error < 0.7 * np.mean((lines.predict(fresh) - target) ** 2)
    np.testing.assert_allclose(rings.gate_weights(X).sum(1), 1.0)
    np.testing.assert_array_equal(rings.gate_.classes_, [0, 1])
    assert rings.gates_ == []
    assert lines.gate_ is None
    save(rings, tmp_path / "m.committee")
    again = load(tmp_path / "m.committee")
    np.testing.assert_array_equal(again.predict(X), rings.predict(X))


def test_gates_are_seeded_and_stopped_by_rows_that_are_held_out():
    X, y = _ring(200)
    model = MixtureOfExpertsClassifier(
        n_experts=3,
        gate=RandomForestClassifier(5, min_samples_leaf=20),
        n_restarts=1,
        validation_fraction=0.3,
        random_state=0,
    )
    p = model.fit(X, y > 1).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y > 1).predict_proba(X), p)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_one_expert_needs_no_gate():
    X, y = _ring(50)
    one = MixtureOfExpertsRegressor(n_experts=1, gate=GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(one.gate_weights(X), 1.0)


@pytest.mark.parametrize("gate", [KNeighborsClassifier(), RidgeClassifier()], ids=str)
def test_what_cannot_take_soft_targets_is_refused(gate):
    X, y = _ring(50)
    with pytest.raises(ValueError, match=f"{type(gate).__name__} is not"):
        MixtureOfExpertsRegressor(gate=gate).fit(X, y)


def test_scikit_learn_contract():
    assert_passes_all_checks(
        MixtureOfExpertsClassifier(
            n_experts=2,
            gate=DecisionTreeClassifier(max_depth=1, random_state=0),
            n_restarts=1,
            tol=0.01,
            random_state=0,
        )
    )
