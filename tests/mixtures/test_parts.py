"""Rows handed out, and the rounds of experts on parts, by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from committee.members.base import TrainingData
from committee.mixtures.parts import hand_out, rounds


def _hand_out(G):
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
    parts = hand_out(G)
    assert [part.tolist() for part in parts] == _hand_out(G)
    assert sorted(np.concatenate(parts)) == list(range(60))
    assert max(map(len, parts)) == 19  # a quarter more than 15, rounded up


def test_an_expert_nobody_wants_gets_a_row():
    G = np.tile([0.5, 0.4, 0.1], (4, 1))
    G[2] = [0.45, 0.35, 0.2]
    parts = hand_out(G)
    assert sorted(np.concatenate(parts)) == [0, 1, 2, 3]
    assert min(map(len, parts)) >= 1


def _run(X, y, parts, expert, s=None, n_rounds=2):
    Z = np.c_[np.ones(len(X)), X]
    data = TrainingData(X, y, None, s)
    return list(
        rounds(
            *(data, Z, parts, expert),
            n_rounds=n_rounds,
            penalty=0.01,
            seeds=np.arange(len(parts)),
            n_jobs=None,
            verbose=False,
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
    E, p = F - y[:, None], s / s.sum()
    v = p @ E.mean(axis=1) ** 2

    def loss(B):
        g = np.exp(np.c_[np.ones(12), X] @ B.T)
        g /= g.sum(axis=1, keepdims=True)
        e = (g * E).sum(axis=1)
        return p @ e**2, p @ e**2 / v + 0.01 * np.sum(B**2)

    error, found = loss(first.B)
    np.testing.assert_allclose(first.error, error, rtol=1e-9)
    for step in rng.normal(size=(20, 2, 2)):  # no way down from there
        assert loss(first.B + 0.01 * step)[1] >= found - 1e-7
    g = np.exp(np.c_[np.ones(12), X] @ first.B.T)
    g /= g.sum(axis=1, keepdims=True)
    assert [part.tolist() for part in second.parts] == _hand_out(g)


def test_what_was_learned_by_heart_is_not_believed():
    """A nearest neighbour has no error on its own rows; of noise it knows nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    parts = [np.arange(0, 200, 2), np.arange(1, 200, 2)]
    (first,) = _run(X, y, parts, KNeighborsRegressor(1), n_rounds=1)
    # Half the sum of two neighbours has variance one and a half: 1 for y, 1 / 2 for them.
    assert first.error > 1.2 * np.var(y)


def test_it_ends_when_no_row_moves():
    X = np.r_[np.full((10, 1), -1.0), np.full((10, 1), 1.0)]
    parts = [np.arange(10), np.arange(10, 20)]
    y = np.where(X[:, 0] > 0, 5.0, -5.0) + np.tile([0.1, -0.1], 10)
    found = _run(X, y, parts, LinearRegression(), n_rounds=9)
    assert len(found) == 1
