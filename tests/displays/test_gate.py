"""Who answers where, as numbers and as a picture."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from committee import GateDisplay, MixtureOfExpertsRegressor

pytest.importorskip("matplotlib")


def _model():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    model = MixtureOfExpertsRegressor(n_experts=2, random_state=0)
    return X, model.fit(X, np.abs(X[:, 1]))


def test_a_mixture_is_drawn_by_its_largest_weights():
    X, model = _model()
    display = GateDisplay.from_estimator(model, X, columns=(1, 2))
    np.testing.assert_array_equal(display.points, X[:, [1, 2]])
    np.testing.assert_array_equal(display.winner, model.gate_weights(X).argmax(1))
    drawn = sum(len(cloud.get_offsets()) for cloud in display.ax_.collections)
    assert drawn == 200
    assert display.ax_.get_xlabel() == "column 1"


def test_columns_by_name_and_many_members():
    pd = pytest.importorskip("pandas")
    X, model = _model()
    frame = pd.DataFrame(X, columns=["a", "b", "$c"])
    model.fit(frame, np.abs(X[:, 1]))
    display = GateDisplay.from_estimator(model, frame, columns=["b", "$c"])
    assert display.ax_.get_ylabel() == r"\$c"
    G = np.random.default_rng(0).dirichlet(np.ones(12), 200)
    many = GateDisplay(X[:, :2], G).plot()
    labels = [text.get_text() for text in many.ax_.get_legend().get_texts()]
    assert labels[-1].startswith("others, ")
    drawn = sum(len(cloud.get_offsets()) for cloud in many.ax_.collections)
    assert drawn == 200


def test_what_has_no_gate_is_refused():
    X, model = _model()
    with pytest.raises(TypeError, match="depend on x"):
        GateDisplay.from_estimator(LinearRegression(), X)
    with pytest.raises(ValueError, match="two columns"):
        GateDisplay.from_estimator(model, X, columns=[0])
    with pytest.raises(ValueError, match=r"two columns of X.*Got \(0, 9\)"):
        GateDisplay.from_estimator(model, X, columns=(0, 9))
