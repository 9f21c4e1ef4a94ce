"""Reliability as a picture: numbers first."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from committee import ReliabilityDisplay, expected_calibration_error

pytest.importorskip("matplotlib")


def test_points_stand_beside_the_diagonal():
    p = np.repeat([0.2, 0.8], 10)
    y = np.repeat([0, 1, 0, 1], [7, 3, 2, 8])
    display = ReliabilityDisplay.from_predictions(p, y, n_bins=2, color="black")
    assert display.ece == pytest.approx(0.05)
    diagonal, points, *_ = display.ax_.lines
    assert list(diagonal.get_xdata()) == [0, 1]
    np.testing.assert_allclose(points.get_xdata(), [0.2, 0.8])
    np.testing.assert_allclose(points.get_ydata(), [0.3, 0.8])
    assert points.get_color() == "black"
    assert display.ax_.get_xlabel() == "predicted probability of class 1"
    assert "ECE 0.050" in display.ax_.get_legend().get_texts()[1].get_text()


def test_an_estimator_is_asked_for_its_probabilities():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    model = GaussianNB().fit(X[::2], labels[::2])
    display = ReliabilityDisplay.from_estimator(model, X[1::2], labels[1::2], n_bins=4)
    p = model.predict_proba(X[1::2])
    expected = expected_calibration_error(p, y[1::2], n_bins=4)
    assert display.ece == pytest.approx(expected)
    assert display.what == "the most likely class"
    two = y > 0
    model = GaussianNB().fit(X[two], labels[two])
    assert (
        ReliabilityDisplay.from_estimator(model, X[two], labels[two]).what == "class c"
    )
