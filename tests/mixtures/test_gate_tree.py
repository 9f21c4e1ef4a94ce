"""Gates of mixtures: against loops, scikit-learn's regression, and each other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
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
from committee.mixtures.gate_tree import GateTree, fit_multinomial
from tests.reference.sklearn_checks import assert_passes_all_checks


def _rows(N=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[np.ones(N), rng.normal(size=(N, d))], rng


def _tree(depth, branching, d=2, **options):
    equal = GateTree.equal(depth, branching, np.zeros(d), np.ones(d))
    return replace(equal, **options)


def test_the_weight_of_an_expert_is_the_product_on_its_path():
    Z, rng = _rows()
    tree = _tree(2, 3)
    assert (len(tree.nodes), tree.n_experts) == (4, 9)
    np.testing.assert_allclose(np.exp(tree.log_weights(Z)), 1 / 9)
    tree = replace(tree, nodes=[rng.normal(size=(3, 3)) for _ in tree.nodes])
    top, *below = (softmax(Z @ B.T, axis=1) for B in tree.nodes)
    product = np.hstack([top[:, [i]] * below[i] for i in range(3)])
    np.testing.assert_allclose(np.exp(tree.log_weights(Z)), product, rtol=1e-12)


def test_columns_are_scaled():
    _, rng = _rows()
    X, nodes = rng.normal(size=(5, 2)), [rng.normal(size=(4, 3))]
    centre, scale = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    scaled = _tree(1, 4, nodes=nodes, centre=centre, scale=scale)
    plain = _tree(1, 4, nodes=nodes)
    np.testing.assert_allclose(
        scaled.weights(X), plain.weights((X - centre) / scale), rtol=1e-12
    )


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
    empty = _tree(2, 2, penalty=0.0)
    known = replace(empty, nodes=[rng.normal(size=(2, 3)) for _ in range(3)])
    R = np.exp(known.log_weights(Z))
    found = empty.fitted(Z, R)
    np.testing.assert_allclose(np.exp(found.log_weights(Z)), R, atol=1e-4)


@pytest.mark.parametrize("classifier", [None, GaussianNB()], ids=str)
def test_one_expert_has_all_weight(classifier):
    Z, _ = _rows()
    gate = _tree(2, 1, classifier=classifier).fitted(Z, np.ones((40, 1)))
    np.testing.assert_array_equal(gate.log_weights(Z), 0.0)


def test_a_classifier_at_every_node_learns_who_is_below_it():
    Z, _ = _rows(400)
    leaf = 2 * (Z[:, 1] > 0) + (Z[:, 2] > 0)
    classifier = DecisionTreeClassifier(random_state=0)
    tree = _tree(2, 2, classifier=classifier).fitted(Z, np.eye(4)[leaf])
    np.testing.assert_allclose(np.exp(tree.log_weights(Z)), np.eye(4)[leaf], atol=1e-8)
    # Only one of four experts has rows: no node has two classes to learn.
    alone = _tree(2, 2, classifier=LogisticRegression()).fitted(
        Z, np.tile([0.0, 1.0, 0.0, 0.0], (400, 1))
    )
    np.testing.assert_allclose(
        np.exp(alone.log_weights(Z)), np.tile([0, 1, 0, 0], (400, 1)), atol=1e-8
    )


def test_a_gate_of_errors_is_the_least_squared_error():
    Z, rng = _rows(60)
    E, s = rng.normal(size=(60, 3, 2)), rng.uniform(0.5, 1.5, 60)
    found = _tree(1, 3, penalty=0.02).fitted_to_errors(Z, E, s)
    p, v = s / s.sum(), (s / s.sum()) @ (E.mean(axis=1) ** 2).sum(axis=1)

    def loss(B):
        B = B.reshape(3, 3)
        e = np.einsum("nm,nmk->nk", softmax(Z @ B.T, axis=1), E)
        return p @ (e**2).sum(axis=1) / v + 0.02 * np.sum(B**2)

    best = minimize(loss, np.zeros(9), tol=1e-10)
    np.testing.assert_allclose(loss(found.nodes[0]), best.fun, rtol=1e-6)


def test_a_classifier_of_errors_learns_who_errs_least():
    Z, _ = _rows(300)
    E = np.where(Z[:, 1] > 0, 1.0, 3.0)[:, None, None] * [[[1.0], [-2.0]]]
    E[Z[:, 2] > 0] = E[Z[:, 2] > 0, ::-1]
    best = (Z[:, 2] > 0).astype(int)
    for classifier in (DecisionTreeClassifier(), KNeighborsClassifier(1)):
        gate = _tree(1, 2, classifier=classifier).fitted_to_errors(Z, E, np.ones(300))
        np.testing.assert_array_equal(gate.log_weights(Z).argmax(axis=1), best)
    # Rows weigh as much as there is to gain on them: 3 and 9 times 4 - 1, halved.
    stump = DecisionTreeClassifier(max_depth=1, max_features=1)
    gate = _tree(1, 2, classifier=stump).fitted_to_errors(Z, E, np.ones(300))
    weight = gate.nodes[0].tree_.weighted_n_node_samples[0]
    np.testing.assert_allclose(weight, 1.5 * np.where(Z[:, 1] > 0, 1.0, 9.0).sum())
    alike = _tree(1, 2, classifier=stump)
    assert alike.fitted_to_errors(Z, np.ones((300, 2, 1)), np.ones(300)) is alike


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
    a = _tree(1, 3, classifier=rival).fitted(Z, W).log_weights(Z)
    b = _tree(1, 3, penalty=1.0).fitted(Z, W).log_weights(Z)
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
    np.testing.assert_array_equal(rings.gate_.nodes[0].classes_, [0, 1])
    assert lines.gate_.nodes[0].shape == (2, 3)
    save(rings, tmp_path / "m.committee")
    again = load(tmp_path / "m.committee")
    np.testing.assert_array_equal(again.predict(X), rings.predict(X))


def test_gates_are_seeded():
    X, y = _ring(200)
    model = MixtureOfExpertsClassifier(
        n_experts=3,
        gate=RandomForestClassifier(5, min_samples_leaf=20),
        n_restarts=1,
        max_iter=5,
        tol=1.0,
        random_state=0,
    )
    p = model.fit(X, y > 1).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, y > 1).predict_proba(X), p)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_one_expert_needs_no_gate():
    X, y = _ring(50)
    one = MixtureOfExpertsRegressor(n_experts=1, gate=GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(one.gate_weights(X), 1.0)


def test_a_gate_that_cannot_take_soft_targets_is_refused():
    X, y = _ring(50)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not: use assig"):
        MixtureOfExpertsRegressor(gate=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="'gate' parameter"):
        MixtureOfExpertsRegressor(gate=RidgeClassifier()).fit(X, y)


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
