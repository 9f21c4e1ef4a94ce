"""Wins, signed ranks and Holm's rule against plain definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from committee.compare import WinLossTie, holm, signed_rank, win_loss_tie


def test_wins_by_mean_count_signs():
    a, b = [0.1, 0.2, 0.3, 0.5], [0.2, 0.2, 0.2, 0.6]
    assert win_loss_tie(a, b) == WinLossTie(wins=2, losses=1, ties=1)
    assert win_loss_tie(b, a) == WinLossTie(wins=1, losses=2, ties=1)
    assert win_loss_tie(a, b, lower_is_better=False) == (1, 2, 1)
    assert str(win_loss_tie(a, b)) == "2-1-1"


def test_runs_in_another_order_tie():
    """The plain mean of the two differs in the last bit."""
    a, b = [[0.1, 0.2, 0.3, 0.7]], [[0.7, 0.3, 0.2, 0.1]]
    assert win_loss_tie(a, b) == (0, 0, 1)


@pytest.mark.parametrize(
    ("by", "test"),
    [
        ("t-test", lambda x, y: stats.ttest_ind(x, y, equal_var=False).pvalue),
        ("rank-sum", lambda x, y: stats.mannwhitneyu(x, y).pvalue),
    ],
)
def test_wins_by_a_test_are_those_that_scipy_calls_significant(rng, by, test):
    a = [rng.normal(size=15) for _ in range(30)]
    b = [rng.normal(loc=0.8, size=20) for _ in range(30)]
    p = np.array([test(x, y) for x, y in zip(a, b, strict=True)])
    wins, losses, ties = win_loss_tie(a, b, by=by, alpha=0.05)
    assert 0 < wins < 30
    assert ties == np.sum(p >= 0.05)
    assert wins + losses == np.sum(p < 0.05)
    assert win_loss_tie(b, a, by=by) == (losses, wins, ties)
    assert win_loss_tie(a, b, by=by, lower_is_better=False) == (losses, wins, ties)


@pytest.mark.parametrize("by", ["t-test", "rank-sum"])
def test_runs_without_spread_are_defined(by):
    same, lower = [0.5] * 10, [0.4] * 10
    assert win_loss_tie([same], [same], by=by) == (0, 0, 1)
    assert win_loss_tie([lower], [same], by=by) == (1, 0, 0)


def test_a_smaller_level_means_more_ties(rng):
    a, b = rng.normal(size=(50, 10)), rng.normal(loc=1.0, size=(50, 10))
    ties = [win_loss_tie(a, b, by="t-test", alpha=level).ties for level in (0.1, 0.01)]
    assert ties[0] < ties[1]


def test_signed_rank_is_exact_at_small_size():
    """All 2^6 signs of |d| = 1..6: how often is the smaller sum this small?"""
    d = np.array([1.0, 2.0, -3.0, 4.0, 5.0, 6.0])
    ranks = np.arange(1, 7)
    smaller = []
    for signs in product((False, True), repeat=6):
        up = ranks[np.array(signs)].sum()
        smaller.append(min(up, 21 - up))
    p = np.mean(np.array(smaller) <= 3)
    assert signed_rank(d, np.zeros(6)) == pytest.approx(p)
    assert signed_rank(np.zeros(6), d) == pytest.approx(p)


def test_signed_rank_of_equal_scores_is_one():
    assert signed_rank([1.0, 2.0], [1.0, 2.0]) == 1.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_cannot_be_ranked_are_refused(value):
    """Not a number is neither larger nor smaller: it used to count as a loss."""
    with pytest.raises(ValueError, match="must be finite"):
        signed_rank([0.1, value, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5])
    for by in ("mean", "t-test", "rank-sum"):
        with pytest.raises(ValueError, match="must be finite"):
            win_loss_tie([[0.1, 0.2], [0.1, value]], [[0.3, 0.4], [0.5, 0.6]], by=by)


def test_signed_rank_needs_pairs():
    with pytest.raises(ValueError, match=r"shape \(3,\) and \(1,\)"):
        signed_rank([0.1, 0.2, 0.3], [0.1])


def test_signed_rank_with_ties_counts_all_signs():
    """Equal scores are left out; ranks 2, 2, 2, 4.5, 4.5 of what is left."""
    d = np.array([1.0, 1.0, -1.0, 2.0, 2.0])
    ranks = np.array([2.0, 2.0, 2.0, 4.5, 4.5])
    sums = np.array([ranks[list(s)].sum() for s in product((False, True), repeat=5)])
    p = 2 * np.mean(sums >= 13.0)
    assert signed_rank(np.r_[d, 0.0], np.zeros(6)) == pytest.approx(p)


@pytest.mark.parametrize("n", [2, 5, 13, 30, 50, 51, 80])
def test_signed_rank_without_ties_is_that_of_scipy(rng, n):
    a, b = rng.normal(size=n), rng.normal(loc=0.2, size=n)
    assert signed_rank(a, b) == pytest.approx(stats.wilcoxon(a, b).pvalue, rel=1e-10)


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(P_VALUES, st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_down_rule_rejects(values, alpha):
    """Smallest first: go on while p_(i) <= alpha / (m - i + 1)."""
    rejected, m = set(), len(values)
    for step, i in enumerate(np.argsort(values, kind="stable")):
        # Compare as the adjusted value does, to agree at the border as well.
        if not (m - step) * values[i] <= alpha:
            break
        rejected.add(int(i))
    adjusted = holm(dict(enumerate(values)))
    assert {i for i, p in adjusted.items() if p <= alpha} == rejected


@given(P_VALUES)
def test_holm_lies_between_the_raw_values_and_bonferroni(values):
    raw = dict(enumerate(values))
    adjusted = holm(raw)
    assert list(adjusted) == list(raw)
    for key, p in adjusted.items():
        assert raw[key] <= p <= 1
        assert p <= min(1.0, len(values) * max(raw[key], 0)) or p == max(
            q for other, q in adjusted.items() if raw[other] <= raw[key]
        )


def test_holm_is_that_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    theirs = multitest.multipletests(list(p.values()), method="holm")[1]
    np.testing.assert_allclose(list(holm(p).values()), theirs)
