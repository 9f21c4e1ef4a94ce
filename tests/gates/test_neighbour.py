"""NeighbourGate against plain loops that follow the definitions."""

import numpy as np
import pytest

from committee import NeighbourGate, SimplexWeights
from committee.gates.base import gate_share

K = 3


def _problem(masked, N=80, M=5):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(N, 2)), rng.integers(0, K, N)
    F = rng.dirichlet(np.ones(K), (N, M)) + 0.5 * np.eye(K)[y][:, None]
    F /= F.sum(axis=2, keepdims=True)
    mask = rng.random((N, M)) < 0.5 if masked else np.ones((N, M), bool)
    mask[:, 0] |= ~mask.any(axis=1)  # a row on which all abstain is left out
    return X, F, y, mask


def _near(X, x, k):
    Z = (X - X.mean(0)) / X.std(0)
    z = (x - X.mean(0)) / X.std(0)
    return np.argsort(((Z - z) ** 2).sum(1), kind="stable")[:k]


def _right(F, y, n, m):
    return F[n, m].argmax() == y[n]


def _overall(F, y, mask, m):
    return np.mean([_right(F, y, n, m) for n in range(len(y)) if mask[n, m]])


def _equal_among(chosen, M):
    chosen = list(chosen) or list(range(M))
    return np.isin(np.arange(M), chosen) / len(chosen)


def _knora_e(F, y, mask, near):
    M = F.shape[1]
    for k in range(len(near), 0, -1):
        chosen = []
        for m in range(M):
            counted = [n for n in near[:k] if mask[n, m]]
            if counted and all(_right(F, y, n, m) for n in counted):
                chosen.append(m)
        if chosen:
            return _equal_among(chosen, M)
    return _equal_among([], M)


def _knora_u(F, y, mask, near):
    votes = [
        sum(_right(F, y, n, m) for n in near if mask[n, m]) for m in range(F.shape[1])
    ]
    return np.array(votes) / sum(votes) if sum(votes) else np.full(len(votes), 0.2)


def _accuracies(F, y, mask, near):
    found = []
    for m in range(F.shape[1]):
        counted = [n for n in near if mask[n, m]]
        right = [_right(F, y, n, m) for n in counted]
        found.append(np.mean(right) if right else _overall(F, y, mask, m))
    return np.array(found)


def _ola(F, y, mask, near):
    a = _accuracies(F, y, mask, near)
    return _equal_among(np.flatnonzero(np.isclose(a, a.max(), atol=1e-12)), len(a))


def _des_p(*args):
    a = _accuracies(*args)
    return _equal_among(np.flatnonzero(a > 1 / K), len(a))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("method", "loop"),
    [
        ("knora-e", _knora_e),
        ("knora-u", _knora_u),
        ("ola", _ola),
        ("des-p", _des_p),
    ],
)
def test_dynamic_selection_is_the_loop_of_its_definition(method, loop, masked):
    X, F, y, mask = _problem(masked)
    rng = np.random.default_rng(4)
    fresh = rng.normal(size=(30, 2))
    gate = NeighbourGate(method, n_neighbors=6)
    G = gate.fit(X, F, y, held_out=mask).weights(fresh)
    for i in range(30):
        expected = loop(F, y, mask, _near(X, fresh[i], 6))
        np.testing.assert_allclose(G[i], expected, atol=1e-12)


@pytest.mark.parametrize("method", ["soft", "ola"])
def test_regression_goes_by_local_squared_error(method):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    F, s = y[:, None] + rng.normal(size=(50, 3)), rng.random(50)
    gate = NeighbourGate(method, n_neighbors=4).fit(X, F, y, sample_weight=s)
    Z = X - np.average(X, axis=0, weights=s)
    Z /= np.sqrt(np.average(Z**2, axis=0, weights=s))
    E = (F - y[:, None]) ** 2
    for i in range(10):
        near = np.argsort(((Z - Z[i]) ** 2).sum(1))[:4]
        local = s[near] @ E[near] / s[near].sum()
        if method == "ola":
            expected = np.eye(3)[local.argmin()]
        else:
            overall = s @ E / s.sum()
            w = SimplexWeights().fit(F, y, sample_weight=s).weights_
            h = w * overall / (0.5 * local + 0.5 * overall)
            share = gate.gate_share_
            expected = (1 - share) * w + share * h / h.sum()
        G = gate.weights(X[i : i + 1])[0]
        np.testing.assert_allclose(G, expected, rtol=1e-9)


def _sides(N=60, seed=0):
    """Each of two members is right on one side of zero."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.uniform(-1, 1, (N // 2, 1)), 2, axis=0)  # every row twice
    y = np.abs(X[:, 0])
    F = y[:, None] + np.where((X > 0) == [False, True], 0.1, 1.0) * rng.normal(
        size=(N, 2)
    )
    return X, F, y


@pytest.mark.parametrize("masked", [False, True])
def test_the_share_is_that_of_rows_without_themselves(masked):
    """By a loop over rows, each predicted by the gate of the others."""
    X, F, y = _sides()
    mask = np.random.default_rng(1).random(F.shape) < 0.7
    mask = mask | ~mask.any(axis=1, keepdims=True) if masked else np.ones(F.shape, bool)
    gate = NeighbourGate(n_neighbors=5).fit(X, F, y, held_out=mask)
    w = SimplexWeights().fit(F, y, held_out=mask).weights_
    E = F - y[:, None]
    overall = np.array([np.mean(E[mask[:, m], m] ** 2) for m in range(2)])
    static, gated = [], []
    for n in range(len(y)):
        others = np.delete(np.arange(len(y)), n)
        near = others[np.argsort(np.abs(X[others, 0] - X[n, 0]), kind="stable")[:6]]
        # Rows come twice, so the fifth and sixth of the others may be at one place.
        near = near[:5]
        local = [
            np.mean(E[near[mask[near, m]], m] ** 2)
            if mask[near, m].any()
            else overall[m]
            for m in range(2)
        ]
        h = w * overall / (overall + local)
        for G, found in ((w, static), (h, gated)):
            found.append(mask[n] * G @ E[n] / (mask[n] * G).sum())
    expected, _ = gate_share(np.c_[static], np.c_[gated], np.ones(len(y)))
    assert 0 < expected < 1
    np.testing.assert_allclose(gate.gate_share_, expected, rtol=1e-6)


def test_soft_weights_of_perfect_members_share():
    X = np.arange(10.0)[:, None]
    F = np.c_[X, X, X + 1]
    G = NeighbourGate().fit(X, F, X[:, 0]).weights(X)
    np.testing.assert_allclose(G, np.tile([0.5, 0.5, 0.0], (10, 1)), atol=1e-12)


def test_units_of_y_do_not_matter():
    """Squares of 1e200 and of 1e-200 are no numbers."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    F = y[:, None] + rng.normal(size=(40, 3))
    G = NeighbourGate("ola").fit(X, F, y).weights(X)
    for unit in (1e-200, 1e200):
        scaled = NeighbourGate("ola").fit(X, unit * F, unit * y).weights(X)
        np.testing.assert_array_equal(scaled, G)


def test_more_neighbours_than_rows_are_all_rows():
    X, F, y, _ = _problem(False, N=5)
    G = NeighbourGate("knora-u", n_neighbors=7).fit(X, F, y).weights(X)
    np.testing.assert_allclose(G, np.tile(G[0], (5, 1)))


def test_what_needs_classes_says_so():
    X, F, y, _ = _problem(False)
    with pytest.raises(ValueError, match='"soft" or "ola"'):
        NeighbourGate("knora-e").fit(X, F[..., 0], y)
