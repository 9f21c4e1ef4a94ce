"""Shares and entropy of a gate."""

import numpy as np
import pytest

from committee.diagnostics import gate_usage


def test_shares_answers_and_entropy_are_plain_sums():
    G = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    found = gate_usage(G)
    np.testing.assert_allclose(found.share, [sum(G[:, m]) / 50 for m in range(4)])
    counts = np.bincount(G.argmax(1), minlength=4)
    np.testing.assert_allclose(found.answers, counts / 50)
    entropy = np.mean([-sum(g * np.log(g)) for g in G]) / np.log(4)
    np.testing.assert_allclose(found.entropy, entropy)


def test_extremes():
    assert gate_usage(np.eye(3)).entropy == 0.0
    assert gate_usage(np.full((5, 4), 0.25)).entropy == pytest.approx(1.0)
    np.testing.assert_allclose(gate_usage(np.full((5, 4), 0.25)).answers, 0.25)
    assert gate_usage(np.ones((5, 1))).entropy == 0.0


def test_what_is_no_gate_is_refused():
    with pytest.raises(ValueError, match="sum to one"):
        gate_usage([[0.5, 0.6]])
    with pytest.raises(ValueError, match="2D"):
        gate_usage([0.5, 0.5])
