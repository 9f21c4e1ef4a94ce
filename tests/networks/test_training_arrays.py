"""Standardised rows, losses and their gradients, and weights in the original units."""

import numpy as np
from sklearn.metrics import log_loss

from committee import NetworkRegressor, ambiguity
from committee.networks.network import outputs
from committee.networks.training_arrays import (
    CrossEntropy,
    Scaling,
    SquaredError,
    standardise,
)


def test_weights_in_units_of_rows_predict_what_they_predicted():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 3)) * [1e-6, 1.0, 1e5] + [0.0, 2000.0, -7.0]
    y = 1e4 + 50 * rng.standard_normal(30)
    arrays = standardise(Z, y, None, None)
    matrices = [rng.standard_normal((4, 5)), rng.standard_normal((6, 1))]
    coefs, intercepts = arrays.in_units_of_rows(matrices)
    X = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    h = np.maximum(X @ matrices[0][:-1] + matrices[0][-1], 0)
    f = y.mean() + y.std() * (h @ matrices[1][:-1] + matrices[1][-1])
    np.testing.assert_allclose(outputs(coefs, intercepts, "relu", Z), f, rtol=1e-10)


def test_constant_and_huge_columns_are_harmless():
    Z = np.column_stack([np.full(7, 0.1), np.linspace(-1e300, 1e300, 7), np.zeros(7)])
    scaling = Scaling.of(Z)
    assert scaling.scale[0] in (0.1, 1.0)
    apart = scaling.apply(Z)
    assert np.isfinite(apart).all()
    np.testing.assert_allclose(apart.std(axis=0), [0, 1, 0], atol=1e-12)


def test_rows_without_weight_do_not_count():
    Z, y = np.array([[0.0], [2.0], [1e6]]), np.array([1.0, 3.0, -1e6])
    arrays = standardise(Z, y, None, np.array([1.0, 1.0, 0.0]))
    assert arrays.inputs.mean.tolist() == [1]
    assert arrays.targets.mean.tolist() == [2]
    assert arrays.s.tolist() == [1, 1, 0]


def test_networks_of_a_constant_predict_it():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((40, 2)), np.full(40, 0.1)
    f = NetworkRegressor(5, max_epochs=3, random_state=0).fit(Z, y).predict(10 * Z)
    np.testing.assert_array_equal(f, y)


def test_coupling_is_the_term_of_the_ambiguity_decomposition():
    """sum_k (f_k - y)^2 + nu sum_k (f_k - f)^2 = M ((f - y)^2 + (1 + nu) diversity).

    The gradient of the left side is what members are trained by; its sum over members is
    that of the committee whatever nu, and at nu = -1 all have the committee's own.
    """
    rng = np.random.default_rng(0)
    M, nu = 5, -0.6
    f, y = rng.standard_normal((M, 8, 1)), rng.standard_normal((1, 8, 1))
    parts = ambiguity(f[:, :, 0].T, y[0, :, 0])
    left = np.sum((f - y) ** 2) + nu * np.sum((f - f.mean(axis=0)) ** 2)
    right = M * 8 * (parts.ensemble_error + (1 + nu) * parts.diversity)
    np.testing.assert_allclose(left, right, rtol=1e-12)
    of_mean = f.mean(axis=0) - y[0]
    loss = SquaredError()
    g = loss.gradient(f.copy(), y, nu)
    np.testing.assert_allclose(g.mean(axis=0), of_mean, atol=1e-14)
    g = loss.gradient(f.copy(), y, -1.0)
    np.testing.assert_allclose(g, np.broadcast_to(of_mean, g.shape), atol=1e-14)


def test_a_coupling_of_zero_is_none():
    rng = np.random.default_rng(1)
    out, Y = rng.standard_normal((3, 4, 2)), np.eye(2)[[[0, 1, 1, 0]]]
    np.testing.assert_array_equal(SquaredError().gradient(out.copy(), Y, 0.0), out - Y)
    tiny = CrossEntropy().gradient(out.copy(), Y, 1e-12)
    none = CrossEntropy().gradient(out.copy(), Y)
    np.testing.assert_allclose(tiny, none, atol=1e-11)


def test_the_loss_of_classes_is_the_log_loss_and_outputs_may_be_huge():
    out = np.array([[[1e4, 0.0, -1e4], [0.3, 0.1, 0.9]]])
    p = CrossEntropy().predictions(out.copy())
    assert p[0, 0].tolist() == [1, 0, 0]
    Y = np.eye(3)[[[0, 2]]]
    value = CrossEntropy().values(p, Y)
    np.testing.assert_allclose(
        value.mean(), log_loss([0, 2], p[0], labels=[0, 1, 2]), rtol=1e-12
    )
    wrong = CrossEntropy().values(p, np.eye(3)[[[2, 0]]])
    assert np.isfinite(wrong).all()
