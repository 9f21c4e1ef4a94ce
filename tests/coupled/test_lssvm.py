import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from committee import LSSVMClassifier, LSSVMRegressor
from committee.coupled.lssvm import solve_lssvm
from committee.kernels import Kernel


def problem(rng, n=12, T=2):
    X = rng.normal(size=(n, 2))
    return Kernel("rbf", gamma=0.5)(X, X), rng.normal(size=(n, T))


def bordered(K, ridge):
    n = len(K)
    C = np.ones((n + 1, n + 1))
    C[0, 0] = 0.0
    C[1:, 1:] = K + np.diag(ridge)
    return C


@pytest.mark.parametrize("shift", [0.0, -2.0], ids=["definite", "indefinite"])
def test_solves_the_bordered_system(shift, rng):
    K, Y = problem(rng)
    K += shift * np.outer(K[0], K[0])
    ridge = rng.uniform(0.1, 1.0, size=12)
    definite = np.linalg.eigvalsh(K + np.diag(ridge)).min() > 0
    assert definite == (shift == 0.0)
    a, b, loo = solve_lssvm(K, Y, ridge, leave_one_out=True)
    x = np.linalg.solve(bordered(K, ridge), np.vstack([np.zeros(2), Y]))
    np.testing.assert_allclose(b, x[0], rtol=1e-9)
    np.testing.assert_allclose(a, x[1:], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.sum(axis=0), 0.0, atol=1e-10)
    for n in range(12):
        keep = np.arange(12) != n
        a_n, b_n, none = solve_lssvm(K[np.ix_(keep, keep)], Y[keep], ridge[keep])
        assert none is None
        np.testing.assert_allclose(loo[n], K[n, keep] @ a_n + b_n, rtol=1e-7)


def test_regression_of_several_targets_with_an_intercept(rng):
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([X[:, 0] + 100.0, X[:, 1] ** 2])
    model = LSSVMRegressor(gamma=0.2, alpha=1e-3).fit(X, Y)
    assert model.score(X, Y) > 0.99
    alone = LSSVMRegressor(gamma=0.2, alpha=1e-3).fit(X, Y[:, 0])
    np.testing.assert_allclose(alone.predict(X), model.predict(X)[:, 0], rtol=1e-8)


def test_weights_count_as_repetitions(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    s = rng.integers(0, 3, size=20)
    repeated = np.repeat(np.arange(20), s)
    weighted = LSSVMRegressor(gamma=0.5).fit(X, y, sample_weight=s)
    copied = LSSVMRegressor(gamma=0.5).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-8)


def test_classification_and_its_probabilities():
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = LSSVMClassifier(gamma=2.0, alpha=0.1).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.9
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
    sure, right = p[150:].max(axis=1).mean(), model.score(X[150:], y[150:])
    assert abs(sure - right) < 0.1


def test_several_classes():
    X, y = make_blobs(90, centers=3, random_state=0)
    model = LSSVMClassifier(alpha=0.1).fit(X, np.array(["a", "b", "c"])[y])
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.85
    assert model.decision_function(X).shape == (90, 3)


def test_an_indefinite_kernel(rng):
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = LSSVMClassifier(kernel=lambda A, B: np.tanh(A @ B.T - 0.5), alpha=0.5)
    assert model.fit(X, y).score(X, y) > 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "'alpha' parameter of LSSVMRegressor"),
        ({"kernel": "cubic"}, "'kernel' parameter"),
        ({"gamma": 0.0}, "'gamma' parameter"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        LSSVMRegressor(**options).fit(np.zeros((4, 1)), np.zeros(4))


def test_a_kernel_that_is_not_symmetric_is_refused(rng):
    X = rng.normal(size=(10, 1))
    model = LSSVMRegressor(kernel=lambda A, B: np.exp(-((A - B.T - 0.3) ** 2)))
    with pytest.raises(ValueError, match="needs a symmetric kernel"):
        model.fit(X, X[:, 0])


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
@pytest.mark.parametrize("lazy", [0, 1, 2])
def test_dask_collections_are_refused(kind, lazy):
    da = pytest.importorskip("dask.array")
    data = [np.eye(6), np.arange(6) % 2, np.ones(6)]
    data[lazy] = da.from_array(data[lazy], chunks=3)
    model = {"Regressor": LSSVMRegressor, "Classifier": LSSVMClassifier}[kind]()
    with pytest.raises(
        ValueError,
        match=rf"^LSSVM{kind} needs .*: take CellKernel{kind} .* or compute\(\)",
    ):
        model.fit(*data)
