"""Shared weights with adapters: the printed formula, and plain networks."""

import numpy as np

from committee.networks.layers import Layout, SeparateLayers
from tests.networks.test_layers import rows, shared


def test_outputs_are_those_of_the_formula():
    """h_k = g(((x * r_k) W) * s_k + b_k) and separate heads, member by member."""
    layers = shared(Layout((3, 5, 2)), 4, "tanh")
    X, _ = rows((1, 6, 4), 2, False)
    f, P = layers.forward(X).copy(), layers.P
    for k in range(4):
        h = np.tanh((X[0, :, :3] * P["r0"][k]) @ P["W0"] * P["s0"][k] + P["b0"][k])
        np.testing.assert_allclose(f[k], h @ P["V"][k] + P["c"][k], atol=1e-14)


def test_adapters_fold_into_plain_weights():
    layout = Layout((3, 5, 4, 2))
    layers = shared(layout, 4, "relu")
    X, _ = rows((1, 6, 4), 2, False)
    matrices = layers.plain(layers.theta)
    flat = [W.swapaxes(1, 2).reshape(4, -1) for W in matrices]
    theta = np.concatenate(flat, axis=1)
    plain = SeparateLayers(layout, theta, "relu")
    np.testing.assert_allclose(plain.forward(X), layers.forward(X), atol=1e-13)


def test_members_start_with_one_matrix_and_signs_of_their_own():
    from committee.networks.layers import SharedLayers

    randoms = [np.random.default_rng(m) for m in range(3)]
    layers = SharedLayers(Layout((8, 5, 4, 1)), randoms, "relu")
    assert set(np.unique(layers.P["r0"])) == {-1.0, 1.0}
    assert not np.array_equal(layers.P["r0"][0], layers.P["r0"][1])
    assert np.all(layers.P["r1"] == 1)
    assert np.all(layers.P["s0"] == 1)
    decayed = layers._views(layers.decayed())
    assert np.all(decayed["W0"] == 1)
    assert not decayed["r0"].any()
