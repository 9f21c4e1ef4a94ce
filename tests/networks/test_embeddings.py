"""Piecewise-linear embeddings: the formula, knots, and a layer of relu units."""

import numpy as np

from committee.networks.training_arrays import (
    piecewise_linear,
    quantile_edges,
    relu_layer,
)


def test_a_linear_function_of_bins_is_any_function_linear_between_knots():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(200, 1))
    edges = quantile_edges(X, 5)
    b = edges[0]
    values = rng.standard_normal(6)
    x = rng.uniform(-1, 8, (300, 1))
    f = values[0] + piecewise_linear(x, edges) @ np.diff(values)
    np.testing.assert_allclose(f, np.interp(x[:, 0], b, values), atol=1e-13)


def test_columns_of_few_values_have_few_bins():
    X = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 2.0], [1.0, 5.0, 3.0], [0.0, 5.0, 4.0]])
    edges = quantile_edges(X, 3)
    assert [len(b) - 1 for b in edges] == [1, 0, 3]
    assert piecewise_linear(X, edges)[:, 0].tolist() == [0, 1, 1, 0]


def test_it_is_a_layer_of_relu_units():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.standard_normal((50, 2)), np.ones(50)])
    edges = quantile_edges(X, 4)
    A, a, B = relu_layer(edges)
    x = 3 * rng.standard_normal((40, 3))
    layer = np.maximum(x @ A + a, 0) @ B
    np.testing.assert_allclose(layer, piecewise_linear(x, edges), atol=1e-12)
