"""Mixtures of experts: what they recover, special cases, contract, misuse."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    GateDisplay,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    ambiguity,
    combine,
    load,
    member_predictions,
    save,
)
from committee.diagnostics import gate_usage
from tests.reference.sklearn_checks import assert_passes_all_checks


def _mixture(N, seed=0):
    """Rows of y = 1 + 2 x or -1 - x, the first with probability sigmoid(3 x)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N, 1))
    first = rng.random(N) < 1 / (1 + np.exp(-3 * X[:, 0]))
    f = np.where(first, 1 + 2 * X[:, 0], -1 - X[:, 0])
    return X, f + np.where(first, 0.3, 0.1) * rng.normal(size=N)


def test_experts_noise_and_gate_of_a_mixture_are_recovered():
    X, y = _mixture(4000)
    model = MixtureOfExpertsRegressor(n_experts=2, gate_penalty=0.0, random_state=0)
    model.fit(X, y)
    order = np.argsort([-e.coef_[0] for e in model.experts_])
    experts = [model.experts_[m] for m in order]
    # Standard errors are about noise / sqrt(2000): 0.007 at most; four of them.
    np.testing.assert_allclose([e.coef_[0] for e in experts], [2, -1], atol=0.03)
    np.testing.assert_allclose([e.intercept_ for e in experts], [1, -1], atol=0.04)
    np.testing.assert_allclose(model.noise_[order], [0.09, 0.01], rtol=0.15)
    # That of the gate's slope is about 0.1.
    g = model.gate_weights([[-0.5], [0.0], [0.5]])[:, order[0]]
    np.testing.assert_allclose(g, 1 / (1 + np.exp([1.5, 0, -1.5])), atol=0.05)
    assert model.converged_
    assert np.diff(model.log_likelihoods_).min() > -1e-6


def test_experts_and_gate_of_classes_are_recovered():
    """Logits 4 x_2 or -4 x_2, the first with probability sigmoid(4 x_1)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (8000, 2))
    first = rng.random(8000) < 1 / (1 + np.exp(-4 * X[:, 0]))
    logit = np.where(first, 4, -4) * X[:, 1]
    y = (rng.random(8000) < 1 / (1 + np.exp(-logit))).astype(int)
    expert = LogisticRegression(C=np.inf, max_iter=1000)
    model = MixtureOfExpertsClassifier(
        expert, n_experts=2, gate_penalty=0.0, tol=1e-6, random_state=0
    ).fit(X, y)
    order = np.argsort([-e.coef_[0, 1] for e in model.experts_])
    coef = np.array([model.experts_[m].coef_[0] for m in order])
    # An information of about sum_n x^2 p (1 - p), some 0.07 a row for 4,000 rows: a
    # standard error of 0.06, twice that as rows are not labelled; four of them.
    np.testing.assert_allclose(coef, [[0, 4], [0, -4]], atol=0.5)
    g = model.gate_weights([[-0.5, 0.0], [0.0, 1.0], [0.5, 0.0]])[:, order[0]]
    np.testing.assert_allclose(g, 1 / (1 + np.exp([2.0, 0.0, -2.0])), atol=0.05)


def test_one_expert_is_the_expert():
    X, y = _mixture(100)
    s = np.linspace(0.1, 1, 100)
    alone = LinearRegression().fit(X, y, sample_weight=s)
    one = MixtureOfExpertsRegressor(n_experts=1).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(one.predict(X), alone.predict(X), rtol=1e-10)
    X, y = load_iris(return_X_y=True)
    expert = LogisticRegression(max_iter=1000)
    one = MixtureOfExpertsClassifier(expert, n_experts=1).fit(X, y)
    np.testing.assert_allclose(
        one.predict_proba(X), clone(expert).fit(X, y).predict_proba(X), atol=1e-12
    )


def test_predictions_are_gated_sums_and_decompose():
    X, y = _mixture(300)
    model = MixtureOfExpertsRegressor(n_experts=3, random_state=0).fit(X, y)
    F, G = member_predictions(model, X), model.gate_weights(X)
    np.testing.assert_allclose(model.predict(X), (F * G).sum(1), rtol=1e-12)
    parts = ambiguity(F, y, G)
    np.testing.assert_allclose(
        parts.ensemble_error, np.mean((model.predict(X) - y) ** 2), rtol=1e-10
    )


def test_classes_that_no_line_separates():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.array(["odd", "even"])[(X[:, 0] * X[:, 1] > 0).astype(int)]
    model = MixtureOfExpertsClassifier(n_experts=4, random_state=0).fit(X, y)
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7
    fresh = rng.uniform(-1, 1, (400, 2))
    truth = np.array(["odd", "even"])[(fresh[:, 0] * fresh[:, 1] > 0).astype(int)]
    assert model.score(fresh, truth) > 0.9
    np.testing.assert_allclose(model.predict_proba(fresh).sum(1), 1.0)


def test_restarts_are_seeded_and_the_best_is_kept():
    X, y = _mixture(200)
    one = MixtureOfExpertsRegressor(n_experts=4, n_restarts=1, random_state=3)
    many = clone(one).set_params(n_restarts=4).fit(X, y)
    one.fit(X, y)
    assert many.log_likelihoods_.max() >= one.log_likelihoods_.max()
    np.testing.assert_array_equal(clone(many).fit(X, y).predict(X), many.predict(X))


def test_files(tmp_path):
    X, y = _mixture(100)
    model = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(X, y)
    save(model, tmp_path / "m.committee")
    again = load(tmp_path / "m.committee")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_misuse_is_refused_in_words():
    X, y = _mixture(50)
    with pytest.raises(ValueError, match="must take sample_weight"):
        MixtureOfExpertsRegressor(KNeighborsRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="predict_proba"):
        MixtureOfExpertsClassifier(RidgeClassifier()).fit(X, y > 0)
    with pytest.raises(ValueError, match=r"may be 4 or 9\. Got 5"):
        MixtureOfExpertsRegressor(n_experts=5, depth=2).fit(X, y)
    with pytest.raises(ValueError, match="gate_penalty is for the multinomial"):
        MixtureOfExpertsRegressor(gate=GaussianNB(), gate_penalty=1.0).fit(X, y)
    with pytest.raises(ValueError, match="use depth=1"):
        MixtureOfExpertsRegressor(assignment="hard", depth=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MixtureOfExpertsRegressor(max_iter=2, tol=0.0).fit(X, y)


def test_constant_targets_and_fewer_rows_than_experts():
    X = np.arange(3.0)[:, None]
    model = MixtureOfExpertsRegressor(n_experts=5).fit(X, np.ones(3))
    np.testing.assert_allclose(model.predict(X), 1.0)


@pytest.mark.parametrize(
    "model",
    [
        MixtureOfExpertsRegressor(n_experts=2, n_restarts=1, tol=0.01, random_state=0),
        MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, tol=0.01, random_state=0),
        MixtureOfExpertsRegressor(depth=2, n_restarts=1, tol=0.01, random_state=0),
    ],
    ids=["numbers", "classes", "tree"],
)
def test_scikit_learn_contract(model):
    assert_passes_all_checks(model)


def _steps(N=600, seed=0):
    """Four lines, one after the other."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (N, 1))
    y = np.array([0.0, 3.0, -2.0, 1.0])[X[:, 0].astype(int)] + X[:, 0]
    return X, y + 0.1 * rng.normal(size=N)


def test_a_tree_whose_gates_below_the_root_are_equal_is_a_mixture_of_pairs():
    X, y = _steps(100)
    model = MixtureOfExpertsRegressor(depth=2, n_restarts=1, tol=0.01, random_state=0)
    model.fit(X, y)
    root, left, right = model.gate_.nodes
    left[:], right[:] = 0.0, 0.0
    z = np.c_[np.ones(100), (X - X.mean()) / X.std()]
    halves = softmax(z @ root.T, axis=1) / 2
    np.testing.assert_allclose(model.gate_weights(X), np.repeat(halves, 2, axis=1))


def test_a_tree_of_gates_learns_four_pieces():
    X, y = _steps()
    model = MixtureOfExpertsRegressor(depth=2, n_restarts=5, random_state=0).fit(X, y)
    assert len(model.experts_) == 4
    assert [B.shape for B in model.gate_.nodes] == [(2, 2)] * 3
    np.testing.assert_allclose(model.gate_weights(X).sum(1), 1.0)
    assert np.diff(model.log_likelihoods_).min() > -1e-6
    fresh, target = _steps(seed=1)
    assert np.mean((model.predict(fresh) - target) ** 2) < 0.2 * np.var(y)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_more_runs_are_never_worse_and_n_jobs_changes_nothing(assignment):
    X, y = _steps(120)
    options = {"assignment": assignment, "tol": 1e-3, "random_state": 1}
    one = MixtureOfExpertsRegressor(LinearRegression(), n_restarts=1, **options)
    many = clone(one).set_params(n_restarts=3).fit(X, y)
    one.fit(X, y)
    if assignment == "soft":
        assert many.log_likelihoods_.max() >= one.log_likelihoods_.max()
    else:
        assert many.errors_.min() <= one.errors_.min()
    with parallel_config("threading"):
        again = clone(many).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), many.predict(X))


def test_a_fit_with_another_assignment_leaves_nothing_old():
    X, y = _steps(60)
    model = MixtureOfExpertsRegressor(tol=0.01, random_state=0).fit(X, y)
    assert not hasattr(model, "parts_")
    model.set_params(assignment="hard").fit(X, y)
    assert not hasattr(model, "noise_")
    assert not hasattr(model, "log_likelihoods_")
    assert [len(model.parts_), len(model.errors_)] == [4, model.n_iter_]


def _iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def _classifier():
    return MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, random_state=0)


def test_blocks_of_dask_are_predicted_lazily():
    da = pytest.importorskip("dask.array")
    X, labels = _iris()
    rows = da.from_array(X, chunks=(40, 4))
    model = _classifier().fit(X, labels)
    for method in ("predict", "predict_proba", "gate_weights", "member_predictions"):
        lazy = getattr(model, method)(rows)
        now = getattr(model, method)(X)
        assert lazy.chunks[0] == (40, 40, 40, 30)
        assert lazy.shape == now.shape
        assert lazy.dtype == now.dtype
        np.testing.assert_array_equal(lazy.compute(), now)
    assert model.score(rows, da.from_array(labels, chunks=40)) == model.score(X, labels)
    numbers = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(
        X, X[:, 0] ** 2
    )
    np.testing.assert_array_equal(numbers.predict(rows).compute(), numbers.predict(X))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(rows[:, :3])


def test_equal_gates_are_the_average_and_a_gate_of_one_is_one_expert():
    X, _ = _iris()
    numbers = MixtureOfExpertsRegressor(n_experts=3, n_restarts=1, tol=1e-3)
    numbers.set_params(random_state=0).fit(X, X[:, 0] ** 2)
    F = numbers.member_predictions(X)
    (B,) = numbers.gate_.nodes
    B[:] = 0.0
    np.testing.assert_allclose(numbers.predict(X), F.mean(axis=1), rtol=1e-12)
    B[1, 0] = 800.0
    np.testing.assert_array_equal(numbers.predict(X), F[:, 1])


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, labels = _iris()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = _classifier().fit(frame, labels)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_the_gate_of_a_pipeline_is_drawn_at_its_own_rows():
    pytest.importorskip("matplotlib")
    X, labels = _iris()
    pipeline = make_pipeline(StandardScaler(), _classifier()).fit(X, labels)
    drawn = GateDisplay.from_estimator(pipeline, X, columns=(2, 3))
    np.testing.assert_array_equal(drawn.points, X[:, [2, 3]])
    scaled = pipeline[:-1].transform(X)
    usage = gate_usage(pipeline[-1].gate_weights(scaled))
    np.testing.assert_allclose(drawn.usage.share, usage.share)
    F, G = (
        getattr(pipeline[-1], name)(scaled)
        for name in ("member_predictions", "gate_weights")
    )
    np.testing.assert_allclose(pipeline.predict_proba(X), combine(F, G), atol=1e-12)
