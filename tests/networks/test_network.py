"""One network: an estimator of scikit-learn, and scikit-learn's own networks."""

import numpy as np
import pytest
from sklearn.datasets import (
    load_diabetes,
    load_iris,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    NetworkClassifier,
    NetworkRegressor,
    Networks,
    SimplexWeights,
    load,
    save,
    to_onnx,
    to_sklearn,
)
from tests.reference.sklearn_checks import assert_passes_all_checks

_WEIGHTS = (
    "weights and repetitions agree in expectation only: batches are drawn by row "
    "number, and repeated rows have other numbers"
)


@pytest.mark.parametrize("kind", [NetworkRegressor, NetworkClassifier])
def test_scikit_learn_contract(kind):
    expected = {"check_sample_weight_equivalence_on_dense_data": _WEIGHTS}
    assert_passes_all_checks(kind(20, max_epochs=50, random_state=0), expected)


def test_without_early_stopping_it_is_as_good_as_scikit_learns():
    """The same first weights, epochs, batches and step size, other random numbers."""
    X, y = make_friedman1(600, noise=0.5, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    scaled = StandardScaler().fit(X)
    mean, scale = y.mean(), y.std()
    ours, theirs = [], []
    for seed in range(6):
        network = NetworkRegressor(
            (50,),
            batch_size=50,
            learning_rate=0.01,
            weight_decay=0.0,
            max_epochs=30,
            patience=None,
            random_state=seed,
        )
        ours.append(np.mean((network.fit(X, y).predict(X_test) - y_test) ** 2))
        rival = MLPRegressor(
            hidden_layer_sizes=(50,),
            alpha=0.0,
            batch_size=50,
            learning_rate_init=0.01,
            max_iter=30,
            tol=0.0,
            n_iter_no_change=100,
            random_state=seed,
        )
        with pytest.warns(match="Maximum iterations"):
            rival.fit(scaled.transform(X), (y - mean) / scale)
        f = mean + scale * rival.predict(scaled.transform(X_test))
        theirs.append(np.mean((f - y_test) ** 2))
    spread = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 6)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * spread


def test_it_stops_early_and_says_when():
    X, y = load_diabetes(return_X_y=True)
    network = NetworkRegressor(max_epochs=500, patience=4, random_state=0).fit(X, y)
    assert 5 <= network.n_iter_ < 500
    assert 0 < network.validation_loss_ < 0.5
    whole = NetworkRegressor(max_epochs=7, patience=None, random_state=0).fit(X, y)
    assert whole.n_iter_ == 7
    assert np.isnan(whole.validation_loss_)


def test_the_seed_decides_and_units_do_not():
    X, y = load_diabetes(return_X_y=True)
    options = {"max_epochs": 10, "random_state": 3}
    f = NetworkRegressor(**options).fit(X, y).predict(X)
    np.testing.assert_array_equal(NetworkRegressor(**options).fit(X, y).predict(X), f)
    # Powers of two change no digit.
    network = NetworkRegressor(**options).fit(64 * X, 0.5 * y)
    np.testing.assert_allclose(network.predict(64 * X), 0.5 * f, rtol=1e-10)
    other = NetworkRegressor(max_epochs=10, random_state=4).fit(X, y)
    assert not np.allclose(other.predict(X), f)


def test_labels_are_of_any_kind_and_probabilities_sum_to_one():
    X, y = make_classification(
        300, n_classes=3, n_informative=5, class_sep=2.0, random_state=0
    )
    labels = np.array(["low", "mid", "top"])[y]
    network = NetworkClassifier(random_state=0).fit(X, labels)
    p = network.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(network.classes_[p.argmax(axis=1)], network.predict(X))
    assert network.score(X, labels) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_are_not_taken_for_numbers(library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["1", "2", "1"]})
    with pytest.raises(ValueError, match="Networks need numeric columns"):
        NetworkRegressor().fit(X, [1.0, 2.0, 3.0])
    if library == "pandas":
        X["colour"] = X["colour"].astype("category")
    else:
        X = X.with_columns(frames.col("colour").cast(frames.Categorical))
    with pytest.raises(ValueError, match="OneHotEncoder"):
        NetworkRegressor().fit(X, [1.0, 2.0, 3.0])


def test_wrong_use_is_refused_in_a_sentence():
    X, y = np.zeros((4, 2)), np.arange(4.0)
    with pytest.raises(ValueError, match="each at least 1"):
        NetworkRegressor((50, 0)).fit(X, y)
    with pytest.raises(ValueError, match="needs 2 rows"):
        NetworkRegressor().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="contains NaN"):
        NetworkRegressor().fit(X * np.nan, y)
    with pytest.raises(ValueError, match="'dropout' parameter"):
        NetworkRegressor(dropout=1.0).fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        NetworkClassifier().fit(X, np.ones(4))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_have_the_same_probabilities(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], np.array(["a", "b", "c"])[y[y < n_classes]]
    network = NetworkClassifier((8, 5), max_epochs=20, random_state=0).fit(X, y)
    native = network.to_sklearn()
    assert type(native) is MLPClassifier
    np.testing.assert_allclose(
        native.predict_proba(X), network.predict_proba(X), atol=1e-10
    )
    assert np.array_equal(native.predict(X), network.predict(X))


def test_numbers_are_the_same():
    X, y = load_diabetes(return_X_y=True)
    network = NetworkRegressor(5, activation="tanh", max_epochs=5).fit(X, y)
    assert type(network.to_sklearn()) is MLPRegressor
    np.testing.assert_allclose(network.to_sklearn().predict(X), network.predict(X))


@pytest.mark.parametrize(
    "generator", [Networks(4, data="bagging"), Networks(4, share="adapters")]
)
def test_committees_are_exported_and_saved(generator, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    network = NetworkRegressor(8, max_epochs=10)
    committee = CommitteeRegressor(
        network, generator=generator, combiner=SimplexWeights(), random_state=0
    ).fit(X, y)
    f = committee.predict(X)
    np.testing.assert_allclose(to_sklearn(committee).predict(X), f, rtol=1e-10)
    path = tmp_path / "committee.onnx"
    to_onnx(committee, path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (onnx,) = session.run(None, {"X": X.astype(np.float32)})
    np.testing.assert_allclose(onnx[:, 0], f, rtol=1e-4)
    save(committee, tmp_path / "committee.skops")
    again = load(tmp_path / "committee.skops")
    np.testing.assert_array_equal(again.predict(X), f)


def test_a_committee_of_classes_is_exported():
    X, y = load_iris(return_X_y=True)
    committee = CommitteeClassifier(
        NetworkClassifier(8, max_epochs=10),
        generator=Networks(3),
        calibration=None,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(
        to_sklearn(committee).predict_proba(X), committee.predict_proba(X), atol=1e-12
    )


@pytest.mark.parametrize("labels", [["a", "b", "c"], [7, 3, 5], [False, True]])
def test_one_network_is_exported_as_a_committee_is(labels):
    runtime = pytest.importorskip("onnxruntime")
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    y = np.array(labels)[y % len(labels)]
    network = NetworkClassifier(8, max_epochs=10, random_state=0).fit(X, y)
    assert type(to_sklearn(network)) is MLPClassifier
    model = to_onnx(network).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    label, p = session.run(["label", "probabilities"], {"X": X.astype(np.float32)})
    np.testing.assert_allclose(p, network.predict_proba(X), atol=1e-5)
    assert np.array_equal(label.astype(y.dtype), network.predict(X))
