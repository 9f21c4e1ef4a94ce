"""Networks as scikit-learn's own, and committees of them in files and graphs."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.neural_network import MLPClassifier, MLPRegressor

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


@pytest.mark.parametrize("embedding", [None, "piecewise-linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_have_the_same_probabilities(embedding, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], np.array(["a", "b", "c"])[y[y < n_classes]]
    network = NetworkClassifier(
        (8, 5), embedding=embedding, n_bins=4, max_epochs=20, random_state=0
    ).fit(X, y)
    native = network.to_sklearn()
    assert type(native) is MLPClassifier
    np.testing.assert_allclose(
        native.predict_proba(X), network.predict_proba(X), atol=1e-10
    )
    assert np.array_equal(native.predict(X), network.predict(X))


def test_numbers_are_the_same_and_tanh_has_no_embedding_there():
    X, y = load_diabetes(return_X_y=True)
    network = NetworkRegressor(5, activation="tanh", max_epochs=5).fit(X, y)
    assert type(network.to_sklearn()) is MLPRegressor
    np.testing.assert_allclose(network.to_sklearn().predict(X), network.predict(X))
    network.set_params(embedding="piecewise-linear").fit(X, y)
    with pytest.raises(ValueError, match='activation="relu"'):
        network.to_sklearn()


@pytest.mark.parametrize(
    ("generator", "embedding"),
    [
        (Networks(4, data="bagging"), "piecewise-linear"),
        (Networks(4, share="adapters"), None),
    ],
)
def test_committees_are_exported_and_saved(generator, embedding, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    network = NetworkRegressor(8, embedding=embedding, n_bins=5, max_epochs=10)
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
        NetworkClassifier(8, max_epochs=10), generator=Networks(3), random_state=0
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
