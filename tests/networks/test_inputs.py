"""Standardised rows, and weights back in their units."""

import numpy as np

from committee import NetworkRegressor
from committee.networks.inputs import Scaling, prepare
from committee.networks.network import outputs


def test_weights_in_units_of_rows_predict_what_they_predicted():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((30, 3)) * [1e-6, 1.0, 1e5] + [0.0, 2000.0, -7.0]
    y = 1e4 + 50 * rng.standard_normal(30)
    prepared = prepare(Z, y, None, None)
    matrices = [rng.standard_normal((4, 5)), rng.standard_normal((6, 1))]
    coefs, intercepts = prepared.in_units_of_rows(matrices)
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
    prepared = prepare(Z, y, None, np.array([1.0, 1.0, 0.0]))
    assert prepared.inputs.mean.tolist() == [1]
    assert prepared.targets.mean.tolist() == [2]
    assert prepared.problem.s.tolist() == [1, 1, 0]


def test_networks_of_a_constant_predict_it():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((40, 2)), np.full(40, 0.1)
    f = NetworkRegressor(5, max_epochs=3, random_state=0).fit(Z, y).predict(10 * Z)
    np.testing.assert_array_equal(f, y)
