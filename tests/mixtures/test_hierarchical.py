"""Hierarchical mixtures: depth one is a mixture, deeper ones are products of gates."""

import numpy as np

from committee import (
    HierarchicalMixtureClassifier,
    HierarchicalMixtureRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from tests.reference.sklearn_checks import assert_passes_all_checks


def _steps(N=600, seed=0):
    """Four lines, one after the other."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (N, 1))
    y = np.array([0.0, 3.0, -2.0, 1.0])[X[:, 0].astype(int)] + X[:, 0]
    return X, y + 0.1 * rng.normal(size=N)


def test_depth_one_is_a_mixture():
    X, y = _steps()
    tree = HierarchicalMixtureRegressor(depth=1, branching=3, random_state=0)
    flat = MixtureOfExpertsRegressor(n_experts=3, random_state=0)
    np.testing.assert_array_equal(tree.fit(X, y).predict(X), flat.fit(X, y).predict(X))
    tree = HierarchicalMixtureClassifier(depth=1, branching=3, random_state=0)
    flat = MixtureOfExpertsClassifier(n_experts=3, random_state=0)
    np.testing.assert_array_equal(
        tree.fit(X, y > 1).predict_proba(X), flat.fit(X, y > 1).predict_proba(X)
    )


def test_a_tree_of_gates_learns_four_pieces():
    X, y = _steps()
    model = HierarchicalMixtureRegressor(n_restarts=5, random_state=0).fit(X, y)
    assert len(model.experts_) == 4
    assert [B.shape for B in model.gates_] == [(2, 2)] * 3
    np.testing.assert_allclose(model.gate_weights(X).sum(1), 1.0)
    assert np.diff(model.log_likelihoods_).min() > -1e-6
    fresh, target = _steps(seed=1)
    assert np.mean((model.predict(fresh) - target) ** 2) < 0.2 * np.var(y)


def test_scikit_learn_contract():
    assert_passes_all_checks(
        HierarchicalMixtureRegressor(n_restarts=1, tol=0.01, random_state=0)
    )
