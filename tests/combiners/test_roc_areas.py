"""Areas under ROC curves by sorting, and the race of candidates on many rows."""

import numpy as np
import pytest

from committee import GreedyPruner
from committee.combiners import roc_areas
from committee.combiners.greedy_scores import row_score
from committee.votes import Votes


def many_votes(N, K, hard=(), M=12, seed=0):
    """Return probabilities of unequal members; some of them are votes, which tie."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, size=N)
    odds = rng.standard_exponential((N, M, K)) + rng.standard_exponential((N, 1, K))
    odds[np.arange(N), :, y] += rng.uniform(0.5, 2.0, size=M)
    F = odds / odds.sum(axis=2, keepdims=True)
    for m in hard:
        F[:, m] = np.eye(K)[F[:, m].argmax(axis=1)]
    return F, y


@pytest.mark.parametrize(("K", "weighted"), [(2, False), (4, False), (2, True)])
def test_who_leads_the_race_is_picked_as_without_it(K, weighted, monkeypatch):
    F, y = many_votes(20_000, K, hard=(3, 7))
    s = np.random.default_rng(1).exponential(size=20_000) if weighted else None
    known = {"sample_weight": s}
    scoring = "roc_auc_ovr" if K > 2 else "roc_auc"
    raced = GreedyPruner(8, scoring=scoring).fit(F, y, **known)
    looked_at = []
    near = roc_areas.Race.near
    monkeypatch.setattr(
        roc_areas.Race, "near", lambda *a: looked_at.append(near(*a)) or looked_at[-1]
    )
    bagged = GreedyPruner(8, scoring=scoring, n_bags=2, random_state=0).fit(
        F, y, **known
    )
    assert len(looked_at) == 16
    assert max(map(len, looked_at)) <= 4
    monkeypatch.setattr(roc_areas, "_MANY", 10**6)
    plain = GreedyPruner(8, scoring=scoring).fit(F, y, **known)
    np.testing.assert_array_equal(raced.order_, plain.order_)
    np.testing.assert_array_equal(raced.path_.error, plain.path_.error)
    again = GreedyPruner(8, scoring=scoring, n_bags=2, random_state=0).fit(
        F, y, **known
    )
    np.testing.assert_array_equal(bagged.order_, again.order_)


def test_batches_have_the_areas_of_their_rows():
    """With ties, against the exact areas of the same rows."""
    F, y = many_votes(20_000, 3, hard=(0, 5))
    score = row_score(Votes(F, y, None, None), "roc_auc_ovr")
    race = score.race
    T = F[:, 1].T
    T = np.vstack([T, T.sum(axis=0)])
    for b in (0, 7):
        rows = race.rows[b]
        exact = roc_areas.Areas(y[rows], np.arange(3), None)
        expected = [exact(slab[:, rows] + T[:, rows]) for slab in score.slabs]
        found = race._areas(b, np.arange(12), T[:, rows])
        # p is rounded to 23 bits: of 500 rows a few pairs may tie, half a pair each.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_weighted_rows_come_as_often_as_they_weigh():
    F, y = many_votes(20_000, 3)
    s = np.where(np.arange(20_000) % 4 == 0, 3.0, 1.0)
    race = row_score(Votes(F, y, None, s), "roc_auc_ovr").race
    drawn = np.bincount(race.rows.ravel(), minlength=20_000)
    # 20,000 of a total weight of 30,000, evenly spaced: each within one of its share.
    assert np.abs(drawn - s * 20_000 / 30_000).max() <= 1
    shares = [np.bincount(y[rows]) / 500 for rows in race.rows]
    expected = np.bincount(y, s) / s.sum()
    np.testing.assert_allclose(shares, np.tile(expected, (40, 1)), atol=2 / 500)


def test_no_race_where_a_class_is_rare():
    F, y = many_votes(20_000, 3)
    y[y == 2] = 1
    y[:200] = 2
    assert row_score(Votes(F, y, None, None), "roc_auc_ovr").race is None
