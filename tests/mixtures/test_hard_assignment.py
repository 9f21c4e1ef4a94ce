"""Experts on disjoint parts, assignment="hard": special cases, contract, misuse."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from committee import (
    LSSVMRegressor,
    MemberFitError,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    load,
    member_predictions,
    save,
)
from tests.reference.sklearn_checks import assert_passes_all_checks


def _numbers(expert=None, **options):
    return MixtureOfExpertsRegressor(expert, assignment="hard", **options)


def _classes(expert=None, **options):
    return MixtureOfExpertsClassifier(expert, assignment="hard", **options)


def _quadrants(N=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 2))
    quadrant = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    y = np.array([0.0, 2.0, -1.0, 4.0])[quadrant] + X[:, 0] * X[:, 1]
    return X, y + 0.1 * rng.normal(size=N)


def test_one_expert_is_the_expert():
    X, y = _quadrants(100)
    s = np.linspace(0.1, 1, 100)
    one = _numbers(LinearRegression(), n_experts=1).fit(X, y, s)
    alone = LinearRegression().fit(X, y, s)
    np.testing.assert_allclose(one.predict(X), alone.predict(X), rtol=1e-10)
    np.testing.assert_array_equal(one.parts_[0], np.arange(100))


def test_parts_become_regions_and_beat_parts_at_random():
    X, y = _quadrants()
    fresh, target = _quadrants(seed=1)
    model = _numbers(SVR(C=10), n_experts=4, random_state=0).fit(X, y)
    first = clone(model).set_params(max_iter=1).fit(X, y)
    error, before = (np.mean((m.predict(fresh) - target) ** 2) for m in (model, first))
    assert error < 0.8 * before
    assert len(model.errors_) == model.n_iter_ > 1
    kept = [len(part) for part in model.parts_]
    assert sum(kept) == 800
    assert max(kept) <= 250
    F, G = member_predictions(model, fresh), model.gate_weights(fresh)
    np.testing.assert_allclose(model.predict(fresh), (F * G).sum(1), rtol=1e-12)


def test_the_round_of_least_error_is_kept():
    X, y = _quadrants(200)
    model = _numbers(Ridge(), n_experts=4, max_iter=6, random_state=1)
    model.fit(X, y)
    best = int(np.argmin(model.errors_)) + 1
    again = clone(model).set_params(max_iter=best).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("expert", [SVC(), LogisticRegression()], ids=str)
def test_classes_by_votes_and_by_probabilities(expert):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    model = _classes(expert, n_experts=3, random_state=0)
    model.fit(X[::2], labels[::2])
    p = model.predict_proba(X[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(X[1::2], labels[1::2]) > 0.85


def test_no_probability_is_above_one_by_rounding():
    """Where all experts are sure the sum of the weights is left, and log_loss refuses more."""
    X, y = load_iris(return_X_y=True)
    sure = DecisionTreeClassifier(random_state=0)
    model = _classes(sure, n_experts=3, random_state=0)
    assert model.fit(X[::2], y[::2]).predict_proba(X).max() == 1.0


def test_weights_of_zero_are_rows_that_are_not_there():
    X, y = _quadrants(120)
    s = np.ones(120)
    s[::3] = 0.0
    model = _numbers(Ridge(), n_experts=3, random_state=0)
    without = clone(model).fit(X[s > 0], y[s > 0])
    model.fit(X, y, sample_weight=s)
    np.testing.assert_allclose(model.predict(X), without.predict(X), rtol=1e-6)
    assert np.all(s[np.concatenate(model.parts_)] > 0)


def test_the_same_answer_for_any_number_of_jobs_and_from_files(tmp_path):
    X, y = _quadrants(120)
    model = _numbers(n_experts=3, max_iter=2, random_state=0).fit(X, y)
    assert isinstance(model.experts_[0], LSSVMRegressor)
    with parallel_config("threading"):
        two = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.predict(X), model.predict(X))
    save(model, tmp_path / "g.committee")
    again = load(tmp_path / "g.committee")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("n_rows", [3, 23, 60, 150, 500])
def test_every_part_has_enough_rows_for_its_expert(n_rows):
    """Kernel machines of ten parts: no part may shrink to a row or two."""
    X, y = make_friedman1(n_rows, noise=1.0, random_state=0)
    model = _numbers(n_experts=10, random_state=0).fit(X, y)
    M = max(1, min(10, n_rows // 12))
    assert len(model.experts_) == M
    assert min(map(len, model.parts_)) >= min(n_rows, max(6, int(n_rows / M / 4)))
    assert sorted(np.concatenate(model.parts_)) == list(range(n_rows))
    classes = _classes(n_experts=10, random_state=0).fit(X, y > np.median(y))
    assert min(map(len, classes.parts_)) >= min(n_rows, 6)


def test_kernel_machines_on_ten_parts_of_diabetes():
    X, y = load_diabetes(return_X_y=True)
    model = _numbers(n_experts=10, random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.35


def test_any_classifier_is_the_gate():
    """One law inside a circle, another one outside: no line parts them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 2))
    y = np.where((X**2).sum(axis=1) < 0.6, 3 + X[:, 0], -X[:, 0])
    y += 0.1 * rng.normal(size=1200)
    train, test = slice(0, 200), slice(200, None)
    lines = _numbers(LinearRegression(), n_experts=2, max_iter=10, random_state=0)
    network = MLPClassifier((10,), alpha=0.1, max_iter=1000, solver="lbfgs")
    errors = []
    for gate in (None, KNeighborsClassifier(15), network):
        model = clone(lines).set_params(gate=gate).fit(X[train], y[train])
        np.testing.assert_allclose(model.gate_weights(X[test]).sum(1), 1.0)
        errors.append(np.mean((model.predict(X[test]) - y[test]) ** 2))
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < 0.2 * errors[0]
    again = clone(model).fit(X[train], y[train])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_an_expert_that_fails_is_named():
    X, y = _quadrants(50)
    with pytest.raises(MemberFitError, match="Member 0 of 4"):
        _numbers(Ridge(alpha=-1.0), n_experts=4).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        _numbers(Ridge(), n_experts=2, max_iter=1, gate_penalty=0.1, random_state=0),
        _classes(
            LogisticRegression(max_iter=1000),
            n_experts=2,
            max_iter=1,
            gate_penalty=0.1,
            random_state=0,
        ),
    ],
    ids=lambda m: type(m).__name__,
)
def test_scikit_learn_contract(model):
    parts = "weights and repetitions of rows agree in distribution only: parts differ"
    assert_passes_all_checks(
        model, {"check_sample_weight_equivalence_on_dense_data": parts}
    )
