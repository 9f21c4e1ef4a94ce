"""Experts behind a gate on Dask collections and frames, drawn and decomposed."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    GateDisplay,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    combine,
    gate_usage,
)

X, y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[y]


def _classifier():
    return MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, random_state=0)


def test_blocks_of_dask_are_predicted_lazily():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(40, 4))
    model = _classifier().fit(X, LABELS)
    for method in ("predict", "predict_proba", "gate_weights", "member_predictions"):
        lazy = getattr(model, method)(rows)
        now = getattr(model, method)(X)
        assert lazy.chunks[0] == (40, 40, 40, 30)
        assert lazy.shape == now.shape
        assert lazy.dtype == now.dtype
        np.testing.assert_array_equal(lazy.compute(), now)
    assert model.score(rows, da.from_array(LABELS, chunks=40)) == model.score(X, LABELS)
    numbers = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(
        X, X[:, 0] ** 2
    )
    np.testing.assert_array_equal(numbers.predict(rows).compute(), numbers.predict(X))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(rows[:, :3])


def test_equal_gates_are_the_average_and_a_gate_of_one_is_one_expert():
    numbers = MixtureOfExpertsRegressor(n_experts=3, n_restarts=1, tol=1e-3)
    numbers.set_params(random_state=0).fit(X, X[:, 0] ** 2)
    F = numbers.member_predictions(X)
    (B,) = numbers.gates_
    numbers.gates_ = [np.zeros_like(B)]
    np.testing.assert_allclose(numbers.predict(X), F.mean(axis=1), rtol=1e-12)
    numbers.gates_ = [np.outer([0.0, 800.0, 0.0], np.eye(len(B[0]))[0])]
    np.testing.assert_array_equal(numbers.predict(X), F[:, 1])


def test_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = _classifier().fit(frame, LABELS)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_the_gate_of_a_pipeline_is_drawn_at_its_own_rows():
    pytest.importorskip("matplotlib")
    pipeline = make_pipeline(StandardScaler(), _classifier()).fit(X, LABELS)
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
