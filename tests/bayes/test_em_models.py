"""The two likelihoods of EM: gradients, curvatures, and steps that climb."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, nnls

from committee.bayes.em_models import Gaussian, Probit
from committee.ep import row_moments
from tests.reference.problems import make_problem


def test_probit_slope_is_the_gradient_and_the_curvature(rng):
    S, s = rng.normal(size=(30, 3)), rng.exponential(size=30)
    model, w = Probit(S, s), np.array([0.5, 1.0, 2.0])
    everyone = np.arange(3)
    gradient, L = model.slope(everyone, w)
    assert_allclose(approx_fprime(w, model.log_likelihood), gradient, rtol=1e-4)
    hessian = [
        approx_fprime(w, lambda v, i=i: model.slope(everyone, v)[0][i])
        for i in range(3)
    ]
    assert_allclose(-np.array(hessian), L, rtol=1e-4, atol=1e-5)


def test_probit_steps_never_fall(rng):
    """From bad points too, where the data's own curvature overshoots."""
    S = rng.normal(0.5, 1.0, size=(25, 4))
    model, everyone = Probit(S), np.arange(4)
    for scale in (1e-3, 1.0, 30.0):
        w, alpha = scale * rng.exponential(size=4), rng.exponential(size=4)
        last = -np.inf
        for _ in range(30):
            w = model.maximise(everyone, w, alpha)
            value = model.log_likelihood(w) - 0.5 * (alpha * w) @ w
            assert value >= last - 1e-9
            last = value


def test_a_gaussian_step_is_a_non_negative_ridge_regression():
    F, y = make_problem("regression")
    model = Gaussian(row_moments(F, y))
    alpha = np.linspace(0.5, 30.0, 7)
    unit = model.moments.unit
    w = model.maximise(np.arange(7), np.ones(7), alpha * unit**2) * unit
    noise = model.noise * model.moments.y_scale**2
    rows = np.vstack([F / np.sqrt(noise), np.diag(np.sqrt(alpha))])
    expected, _ = nnls(rows, np.r_[y / np.sqrt(noise), np.zeros(7)])
    assert_allclose(w, expected, atol=1e-10)


def test_the_noise_is_the_mean_square_that_is_left():
    F, y = make_problem("regression")
    model = Gaussian(row_moments(F, y))
    w = np.full(7, 0.1)
    model.adapt(w / model.moments.unit)
    noise = model.noise * model.moments.y_scale**2
    assert_allclose(noise, np.mean((y - F @ w) ** 2), rtol=1e-12)
