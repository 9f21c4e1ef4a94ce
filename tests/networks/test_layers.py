"""Batched layers: gradients against differences, slices that do not feel each other."""

import numpy as np
import pytest

from committee.networks.layers import (
    Layout,
    SeparateLayers,
    SharedLayers,
    drop,
    initial_weights,
)
from committee.networks.training_arrays import CrossEntropy, SquaredError

#: Central differences of step h err by h^2 and by eps / h: least at h = eps^(1/3).
_STEP = np.finfo(float).eps ** (1 / 3)


def separate(layout, M, activation, dropout=0.0, dtype=np.float64):
    rng = np.random.default_rng(0)
    theta = np.stack([initial_weights(layout, rng) for _ in range(M)])
    return SeparateLayers(layout, theta.astype(dtype), activation, dropout)


def shared(layout, M, activation, dropout=0.0):
    randoms = [np.random.default_rng(m) for m in range(M)]
    layers = SharedLayers(layout, randoms, activation, dropout, np.float64)
    rng = np.random.default_rng(1)  # no adapter stays at one
    layers.theta += 0.1 * rng.standard_normal(layers.theta.shape)
    return layers


def rows(shape, n_outputs, classes):
    rng = np.random.default_rng(2)
    X = rng.standard_normal(shape)
    X[..., -1] = 1.0
    if classes:
        return X, np.eye(n_outputs)[rng.integers(0, n_outputs, shape[:2])]
    return X, rng.standard_normal((*shape[:2], n_outputs))


def total_loss(layers, X, Y, loss, nu, seeds=None):
    """Return what the gradient is of, by the formula of the docstring."""
    randoms = seeds and [np.random.default_rng(s) for s in seeds]
    f = loss.predictions(layers.forward(X, randoms).copy())
    total = loss.values(f, np.broadcast_to(Y, f.shape)).sum()
    return total + nu / 2 * np.sum((f - f.mean(axis=0)) ** 2)


@pytest.mark.parametrize("make", [separate, shared])
@pytest.mark.parametrize(
    ("sizes", "activation", "loss", "nu", "dropout"),
    [
        ((3, 4, 1), "tanh", SquaredError(), 0.0, 0.0),
        ((3, 4, 1), "relu", SquaredError(), -0.7, 0.0),
        ((3, 4, 5, 1), "tanh", SquaredError(), 0.4, 0.3),
        ((2, 4, 3, 3), "relu", CrossEntropy(), 0.0, 0.3),
        ((2, 4, 3), "tanh", CrossEntropy(), 0.8, 0.0),
        ((3, 2), "tanh", CrossEntropy(), -0.5, 0.0),
    ],
)
def test_gradients_are_those_of_finite_differences(
    make, sizes, activation, loss, nu, dropout
):
    M, B = 3, 6
    layers = make(Layout(sizes), M, activation, dropout)
    X, Y = rows((1, B, sizes[0] + 1), sizes[-1], isinstance(loss, CrossEntropy))
    seeds = [5, 6, 7] if dropout else None
    randoms = seeds and [np.random.default_rng(s) for s in seeds]
    D = loss.gradient(layers.forward(X, randoms), Y, nu)
    g = layers.backward(D).copy()
    differences = np.empty_like(g)
    for i in np.ndindex(*layers.theta.shape):
        at = layers.theta[i]
        layers.theta[i] = at + _STEP
        up = total_loss(layers, X, Y, loss, nu, seeds)
        layers.theta[i] = at - _STEP
        down = total_loss(layers, X, Y, loss, nu, seeds)
        layers.theta[i] = at
        differences[i] = (up - down) / (2 * _STEP)
    # Third derivatives and losses are of order ten here.
    np.testing.assert_allclose(g, differences, atol=1e3 * _STEP**2)


@pytest.mark.parametrize("sizes", [(7, 50, 1), (7, 20, 30, 4)])
def test_a_member_has_the_same_numbers_in_any_tensor(sizes):
    """Bit for bit, in single precision: products, sums and gradients."""
    M, B = 9, 64
    layers = separate(Layout(sizes), M, "relu", dtype=np.float32)
    X, D = rows((M, B, 8), sizes[-1], False)
    X, D = X.astype(np.float32), D.astype(np.float32)
    f = layers.forward(X).copy()
    g = layers.backward(D.copy()).copy()
    for some in ([4], [2, 4, 8]):
        part = separate(Layout(sizes), M, "relu", dtype=np.float32)
        part.keep(some)
        np.testing.assert_array_equal(part.forward(X[some]), f[some])
        np.testing.assert_array_equal(part.backward(D[some].copy()), g[some])


def test_dropped_units_are_zero_and_the_mean_stays():
    ones, kept = np.ones((2, 500, 40)), np.empty((2, 500, 40))
    drop(ones, kept, 0.25, [np.random.default_rng(0), np.random.default_rng(1)])
    assert set(np.unique(ones)) == {0.0, 1 / 0.75}
    # The mean of n units has standard deviation sqrt(p / (1 - p) / n).
    assert abs(ones.mean() - 1) < 4 * np.sqrt(0.25 / 0.75 / ones.size)
    assert not np.array_equal(ones[0], ones[1])


def test_intercepts_lie_behind_the_weights_and_do_not_decay():
    layout = Layout((2, 3, 1))
    assert layout.n_parameters == 3 * 3 + 4 * 1
    theta = np.zeros((1, layout.n_parameters), dtype=np.float32)
    W, V = layout.matrices(SeparateLayers(layout, theta, "relu").decayed())
    assert W[0].tolist() == [[1] * 3, [1] * 3, [0] * 3]
    assert V[0].ravel().tolist() == [1, 1, 1, 0]
