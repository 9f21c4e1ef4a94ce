"""Submodels before and after coupling, and the error against it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from committee import (
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    CouplingDisplay,
    combine,
)


@pytest.fixture
def sine(rng):
    X = rng.uniform(0, 6, size=(60, 1))
    return X, np.sin(X[:, 0])


def test_copies_are_those_that_one_would_fit(sine, drawn):
    X, y = sine
    model = CoupledKernelRegressor(3, alpha=0.1, coupling=0.5, random_state=0)
    display = drawn(CouplingDisplay.from_estimator(model, X, y, couplings=[2.0]))
    assert display.couplings.tolist() == [0.0, 0.5, 2.0]
    assert display.chosen == 0.5
    rows = np.argsort(X[:, 0])
    for i, nu in enumerate(display.couplings):
        fitted = model.set_params(coupling=nu).fit(X, y)
        F = fitted.member_predictions(X)
        member = np.mean([(F[:, m] - y) ** 2 for m in range(3)])
        assert display.member_error[i] == pytest.approx(member)
        error = np.mean((fitted.predict(X) - y) ** 2)
        # f is one expansion in predict, a sum over members here.
        assert display.ensemble_error[i] == pytest.approx(error, rel=1e-6)
        if nu == 0.5:
            assert np.array_equal(display.after, F[rows])
            assert display.ensemble == pytest.approx(combine(F, fitted.weights_)[rows])
        if nu == 0:
            assert np.array_equal(display.before, F[rows])
    assert display.ax_.get_xlabel() == "input"
    assert display.ax_.get_ylabel() == "prediction"


def test_the_estimator_is_left_alone(sine):
    model = CoupledKernelRegressor(3, coupling=0.5)
    display = CouplingDisplay.from_estimator(model, *sine, couplings=[])
    assert model.coupling == 0.5
    assert not hasattr(model, "weights_")
    # One seed for all copies: coupling zero and itself see the same subsets.
    assert display.couplings.tolist() == [0.0, 0.5]


def test_errors_on_other_rows(sine, drawn):
    X, y = sine
    model = CoupledKernelRegressor(3, random_state=0)
    X_test = np.linspace(0, 6, 25)[:, None]
    display = CouplingDisplay.from_estimator(
        model,
        X,
        y,
        X_test=X_test,
        y_test=np.sin(X_test[:, 0]),
        X_coupling=X_test,
        kind="error",
    )
    drawn(display)
    assert display.ax_.get_xlabel() == "coupling"
    assert display.ax_.get_ylabel() == "mean squared error"
    assert np.array_equal(display.x, X_test[:, 0])


def test_classes_have_a_share_of_wrong_rows(rng, drawn):
    X = rng.normal(size=(60, 1))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = CoupledKernelClassifier(3, random_state=0)
    display = drawn(CouplingDisplay.from_estimator(model, X, y, couplings=[1.0]))
    fitted = model.set_params(coupling=1.0).fit(X, y)
    assert display.ensemble_error[1] == pytest.approx(np.mean(fitted.predict(X) != y))
    assert display.ax_.get_ylabel() == "share of wrong rows"
    with pytest.raises(ValueError, match=r"regression on one input; use kind='error'"):
        display.plot(kind="submodels")


def test_the_least_error_is_chosen_unless_given(rng):
    y = rng.normal(size=30)
    F = [y[:, None] + s * rng.normal(size=(30, 4)) for s in (1.0, 0.1, 0.5)]
    display = CouplingDisplay.from_predictions(F, y, [0.0, 1.0, 10.0])
    assert display.chosen == 1.0
    assert display.x is None
    assert display.ax_.get_xlabel() == "coupling"
    given = CouplingDisplay.from_predictions(F, y, [0.0, 1.0, 10.0], chosen=10.0)
    assert given.chosen == 10.0


def test_negative_couplings_have_their_place(drawn):
    display = CouplingDisplay([-0.1, 0.0, 1.0], [0.3, 0.2, 0.1], [0.3, 0.2, 0.1])
    drawn(display.plot(kind="error"))
    left, right = display.ax_.get_xlim()
    assert left < -0.1
    assert right > 1.0


def test_wrong_input_is_refused(sine):
    with pytest.raises(TypeError, match=r"CoupledKernelClassifier. Got Ridge"):
        CouplingDisplay.from_estimator(Ridge(), *sine)
    with pytest.raises(ValueError, match=r"each of the 2 couplings. Got 1"):
        CouplingDisplay.from_predictions([np.zeros((3, 2))], np.zeros(3), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"one of \('submodels', 'error'\). Got 'x'"):
        CouplingDisplay([0.0], [1.0], [1.0]).plot(kind="x")
