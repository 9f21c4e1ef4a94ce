"""Areas under ROC curves by sorting, and the race of candidates on many rows."""

import numpy as np
import pytest

from committee import GreedyPruner
from committee.combiners import greedy_scores
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
    looked_at = []
    near = greedy_scores.Race.near
    monkeypatch.setattr(
        greedy_scores.Race,
        "near",
        lambda *a: looked_at.append(near(*a)) or looked_at[-1],
    )
    raced = GreedyPruner(8, scoring=scoring).fit(F, y, **known)
    assert len(looked_at) == 8
    assert max(map(len, looked_at)) <= 4
    monkeypatch.setattr(greedy_scores, "_SAMPLE", 10**6)
    plain = GreedyPruner(8, scoring=scoring).fit(F, y, **known)
    np.testing.assert_array_equal(raced.order_, plain.order_)
    np.testing.assert_array_equal(raced.path_.error, plain.path_.error)


def test_a_sample_has_the_areas_of_its_rows_and_all_classes_in_their_shares():
    F, y = many_votes(20_000, 3, hard=(0, 5))
    s = np.where(np.arange(20_000) % 4 == 0, 3.0, 1.0)
    score = row_score(Votes(F, y, None, s), "roc_auc_ovr")
    race, T = score.race, np.zeros((4, 20_000))
    rows = race.rows
    assert len(np.unique(rows)) == 10_000
    # Every second row of each class: its share is exact up to one row at each end.
    assert np.abs(2 * np.bincount(y[rows]) - np.bincount(y)).max() <= 2
    exact = greedy_scores.Areas(y[rows], np.arange(3), s[rows])
    expected = np.argsort([-exact(slab[:, rows]) for slab in score.slabs])[:4]
    np.testing.assert_array_equal(race.near(T), expected)


def test_no_race_on_few_rows_or_where_a_class_is_rare():
    F, y = many_votes(20_000, 3)
    few = Votes(F[:10_000], y[:10_000], None, None)
    assert row_score(few, "roc_auc_ovr").race is None
    y[y == 2] = 1
    y[:200] = 2
    assert row_score(Votes(F, y, None, None), "roc_auc_ovr").race is None
