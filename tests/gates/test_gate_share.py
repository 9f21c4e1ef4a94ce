"""The share of a gate: by a grid, and where there is nothing to learn."""

import numpy as np
import pytest

from committee import (
    Average,
    Bagging,
    CommitteeRegressor,
    NeighbourGate,
    SoftmaxGate,
)
from committee.gates.base import CLEAR, gate_share, present_shares


def _errors(gain, N=400, K=2, seed=0):
    rng = np.random.default_rng(seed)
    static = rng.normal(size=(N, K))
    return static, (1 - gain) * static + 0.6 * rng.normal(size=(N, K)), rng


def test_the_share_is_the_best_of_a_grid_shrunk():
    static, gated, rng = _errors(0.3)
    s = rng.uniform(0.5, 1.5, 400)
    grid = np.linspace(0, 1, 10_001)
    p = s / s.sum()
    losses = [p @ ((static + g * (gated - static)) ** 2).sum(1) for g in grid]
    best = grid[np.argmin(losses)]
    saved = (static**2).sum(1) - ((static + best * (gated - static)) ** 2).sum(1)
    se = np.sqrt(np.sum(p**2 * (saved - p @ saved) ** 2))
    share, gain = gate_share(static, gated, s)
    expected = best * (1 - (CLEAR * se / (p @ saved)) ** 2)
    assert 0 < expected < best < 1
    np.testing.assert_allclose(share, expected, atol=1e-3)
    mixed = static + share * (gated - static)
    before = p @ (static**2).sum(1)
    np.testing.assert_allclose(gain, 1 - p @ (mixed**2).sum(1) / before, rtol=1e-9)


def test_no_gain_no_share():
    static, gated, _ = _errors(0.0)
    assert gate_share(static, gated, np.ones(400)) == (0.0, 0.0)
    assert gate_share(static, static, np.ones(400)) == (0.0, 0.0)
    assert gate_share(0 * static, gated, np.ones(400)) == (0.0, 0.0)
    share, gain = gate_share(static, 0 * static, np.ones(400))
    assert share > 0.9
    assert gain > 0.9


def test_weights_of_who_is_present():
    mask = np.array([[True, True, False], [False, False, True]])
    shares = present_shares(np.array([0.2, 0.3, 0.0]), mask)
    np.testing.assert_allclose(shares, [[0.4, 0.6, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("gate", [SoftmaxGate, NeighbourGate])
def test_members_that_are_alike_everywhere_keep_static_weights(gate):
    """At three standard errors one in several hundred is mistaken."""
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=200)
        F = y[:, None] + rng.normal(size=(200, 5))
        X = rng.normal(size=(200, 3))
        fitted = gate(static=Average()).fit(X, F, y)
        shares.append(fitted.gate_share_)
    assert np.count_nonzero(shares) <= 1


def test_a_bag_behind_a_gate_is_the_bag():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + rng.normal(size=150)
    gate = NeighbourGate(static=Average())
    bag = CommitteeRegressor(generator=Bagging(10), gate=gate, random_state=0).fit(X, y)
    assert bag.gate_.gate_share_ == 0.0
    F = bag.member_predictions(X)
    np.testing.assert_allclose(bag.predict(X), F.mean(axis=1), rtol=1e-12)
