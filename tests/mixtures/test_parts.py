"""Rows handed out, and the rounds of experts on parts, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from committee.gates.softmax import PENALTIES
from committee.members.base import TrainingData
from committee.mixtures.gate_tree import GateTree
from committee.mixtures.parts import assign_rows, rounds


def _assigned(G):
    """The loop of the paper, over the rows that are surest first."""
    N, M = G.shape
    parts = [[] for _ in range(M)]
    for n in sorted(range(N), key=lambda n: -G[n].max()):
        for m in sorted(range(M), key=lambda m: -G[n, m]):
            if len(parts[m]) < np.ceil(1.25 * N / M):
                parts[m].append(n)
                break
    return [sorted(part) for part in parts]


def test_every_row_goes_to_the_best_expert_that_has_room():
    rng = np.random.default_rng(0)
    G = rng.dirichlet([0.5, 0.5, 2.0, 1.0], 60)
    parts = assign_rows(G)
    assert min(map(len, _assigned(G))) >= 7
    assert [part.tolist() for part in parts] == _assigned(G)
    assert sorted(np.concatenate(parts)) == list(range(60))
    assert max(map(len, parts)) == 19  # a quarter more than 15, rounded up


def test_an_expert_that_no_row_prefers_gets_a_quarter_of_its_share():
    """160 rows and 4 experts: at most 50 in a part, at least 10."""
    g = np.linspace(0.01, 0.2, 160)
    parts = assign_rows(np.c_[0.9 - g, np.full(160, 0.1), np.full(160, 0.05), g / 10])
    assert [part.tolist() for part in parts] == [
        list(range(50)),
        list(range(50, 100)),
        list(range(100, 150)),
        list(range(150, 160)),
    ]
    parts = assign_rows(np.c_[0.9 - g, np.full(160, 0.1), g / 10, g / 20])
    assert [len(part) for part in parts] == [50, 50, 50, 10]


@pytest.mark.parametrize("n_rows", [4, 24, 48, 200])
def test_an_expert_takes_rows_only_from_larger_parts(n_rows):
    G = np.tile([0.6, 0.3, 0.07, 0.03], (n_rows, 1))
    G[:, 2:] += np.linspace(0, 0.01, n_rows)[:, None]
    parts = assign_rows(G / G.sum(axis=1, keepdims=True))
    assert sorted(np.concatenate(parts)) == list(range(n_rows))
    # Six rows are enough to cross-fit an expert, if there are so many.
    assert min(map(len, parts)) == {4: 1, 24: 6, 48: 6, 200: 12}[n_rows]
    assert max(map(len, parts)) <= np.ceil(n_rows / 4 * 1.25)


def _run(X, y, parts, expert, s=None, n_rounds=2, penalty=0.01):
    Z = np.c_[np.ones(len(X)), X]
    data = TrainingData(X, y, None, s)
    d = X.shape[1]
    gate = GateTree.equal(1, len(parts), np.zeros(d), np.ones(d))
    return list(
        rounds(
            *(data, Z, parts, expert, replace(gate, penalty=penalty)),
            max_iter=n_rounds,
            tol=0.0,
            seeds=np.arange(len(parts)),
        )
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_round_by_hand(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 1)), rng.normal(size=12)
    s = rng.uniform(0.5, 1.5, 12) if weighted else np.ones(12)
    parts = [np.arange(0, 12, 2), np.arange(1, 12, 2)]
    first, second = _run(X, y, parts, LinearRegression(), s if weighted else None)
    F = np.empty((12, 2))
    for m, part in enumerate(parts):
        line = LinearRegression().fit(X[part], y[part], s[part])
        F[:, m] = line.predict(X)
        np.testing.assert_allclose(first.experts[m].coef_, line.coef_, rtol=1e-10)
        fold = np.random.RandomState(m).permutation(6) % 3
        for k in range(3):
            train, test = part[fold != k], part[fold == k]
            line = LinearRegression().fit(X[train], y[train], s[train])
            F[test, m] = line.predict(X[test])
    E, Z = F - y[:, None], np.c_[np.ones(12), X]

    def errors(B, rows):
        g = np.exp(Z[rows] @ B.reshape(2, 2).T)
        return (g * E[rows]).sum(axis=1) / g.sum(axis=1)

    def loss(B, rows):
        p = s[rows] / s[rows].sum()
        v = p @ E[rows].mean(axis=1) ** 2
        return p @ errors(B, rows) ** 2 / v + 0.01 * np.sum(B**2)

    order, total = np.random.RandomState(0).permutation(12), 0.0
    for k in range(3):
        train, test = order[np.arange(12) % 3 != k], order[np.arange(12) % 3 == k]
        found = minimize(loss, np.zeros(4), args=(train,), tol=1e-10).x
        total += s[test] @ errors(found, test) ** 2 / s.sum()
    # Both minima are found to about 1e-4 in B.
    np.testing.assert_allclose(first.error, total, rtol=1e-3)
    best = minimize(loss, np.zeros(4), args=(np.arange(12),), tol=1e-10).x
    np.testing.assert_allclose(first.gate.nodes[0].ravel(), best, atol=1e-3)
    g = np.exp(np.c_[np.ones(12), X] @ first.gate.nodes[0].T)
    g /= g.sum(axis=1, keepdims=True)
    for part, expected in zip(second.parts, assign_rows(g), strict=True):
        np.testing.assert_array_equal(part, expected)
    moved = sum(len(set(a) - set(b)) for a, b in zip(parts, second.parts, strict=True))
    assert first.moved == pytest.approx(moved / 12)


def test_what_was_learned_by_heart_is_not_believed():
    """A nearest neighbour has no error on its own rows; of noise it knows nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    parts = [np.arange(0, 200, 2), np.arange(1, 200, 2)]
    (first,) = _run(X, y, parts, KNeighborsRegressor(1), n_rounds=1)
    # Half the sum of two neighbours has variance one and a half: 1 for y, 1 / 2 for them.
    assert first.error > 1.2 * np.var(y)


def test_the_penalty_is_that_of_least_error_on_folds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=90)
    parts = [np.flatnonzero(X[:, 0] < 0), np.flatnonzero(X[:, 0] >= 0)]
    (auto,) = _run(X, y, parts, LinearRegression(), n_rounds=1, penalty=None)
    fixed = [
        _run(X, y, parts, LinearRegression(), n_rounds=1, penalty=c)[0]
        for c in PENALTIES
    ]
    best = min(fixed, key=lambda r: r.error)
    # Solved from where the last penalty ended: the same to the solver's tolerance.
    np.testing.assert_allclose(auto.error, best.error, rtol=1e-3)
    B = best.gate.nodes[0]
    np.testing.assert_allclose(auto.gate.nodes[0], B, atol=1e-2 * np.abs(B).max())


def test_it_ends_when_no_row_moves():
    X = np.r_[np.full((10, 1), -1.0), np.full((10, 1), 1.0)]
    parts = [np.arange(10), np.arange(10, 20)]
    y = np.where(X[:, 0] > 0, 5.0, -5.0) + np.tile([0.1, -0.1], 10)
    found = _run(X, y, parts, LinearRegression(), n_rounds=9)
    assert len(found) == 1
    assert found[0].moved == 0.0
