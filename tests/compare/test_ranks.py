"""Rank tests against SciPy, published critical values and full enumeration."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from committee.compare import (
    bonferroni_dunn,
    friedman,
    iman_davenport,
    nemenyi,
    rank_methods,
)

#: Scores with many ties: small integers.
TABLES = arrays(
    np.float64,
    st.tuples(st.integers(2, 8), st.integers(3, 6)),
    elements=st.integers(0, 4).map(float),
)


@given(TABLES)
def test_friedman_is_that_of_scipy_ties_and_all(scores):
    test = friedman(rank_methods(scores))
    if np.all(scores == scores[:, :1]):
        assert test == (0.0, 1.0)
        return
    theirs = stats.friedmanchisquare(*scores.T)
    # One ratio of sums of squares of halves against another arrangement of it.
    np.testing.assert_allclose(test.statistic, theirs.statistic, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(test.p, theirs.pvalue, rtol=1e-8, atol=1e-9)


def test_friedman_without_ties_is_the_textbook_formula(rng):
    """chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4)."""
    N, k = 9, 5
    R = rank_methods(rng.normal(size=(N, k)))
    square = (R.mean(axis=0) ** 2).sum()
    chi2 = 12 * N / (k * (k + 1)) * (square - k * (k + 1) ** 2 / 4)
    assert friedman(R).statistic == pytest.approx(chi2, rel=1e-12)


def test_friedman_of_two_methods_is_the_sign_test_in_its_normal_form():
    """chi2 = (wins - losses)^2 / N, for wins + losses = N."""
    R = rank_methods([[1.0, 2.0]] * 7 + [[2.0, 1.0]] * 2)
    assert friedman(R).statistic == pytest.approx((7 - 2) ** 2 / 9)


@pytest.mark.parametrize("row", [(1.0, 2.0, 3.0), (1.5, 1.5, 3.0)])
def test_friedman_statistic_over_all_permutations_has_the_moments_of_chi_squared(row):
    """Exact distribution of N = 4: mean k - 1, variance 2 (k - 1)(N - 1) / N.

    The mean holds with ties too, because the statistic is corrected for them.
    """
    rows = list(permutations(row))
    values = [friedman(np.array(R)).statistic for R in product(rows, repeat=4)]
    assert np.mean(values) == pytest.approx(2)
    assert np.var(values) == pytest.approx(2 * 2 * 3 / 4)


def test_p_values_near_the_exact_ones_by_enumeration():
    """All 6^5 rankings of 3 methods on 5 data sets."""
    rows = np.array(list(permutations((1.0, 2.0, 3.0))))
    choice = np.indices((6,) * 5).reshape(5, -1)
    sums = rows[choice].sum(axis=0)  # (6^5, 3): S_j of every possible table
    exact = ((sums - 5 * 2) ** 2).sum(axis=1)
    R = np.array([[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]], float)
    seen = ((R.sum(axis=0) - 5 * 2) ** 2).sum()
    p = np.mean(exact >= seen - 1e-9)
    assert p == pytest.approx(0.0394, abs=1e-4)  # in tables of Friedman's test
    assert friedman(R).p == pytest.approx(p, abs=0.02)
    assert iman_davenport(R).p < friedman(R).p


@given(TABLES)
def test_only_the_order_within_a_data_set_counts(scores):
    ranks = rank_methods(scores)
    np.testing.assert_array_equal(rank_methods(np.exp(scores) * 7 - 3), ranks)
    moved = scores + 100 * np.arange(len(scores))[:, None]
    np.testing.assert_array_equal(rank_methods(moved), ranks)
    np.testing.assert_array_equal(rank_methods(-scores, lower_is_better=False), ranks)
    k = scores.shape[1]
    np.testing.assert_array_equal(ranks.sum(axis=1), k * (k + 1) / 2)


@given(TABLES)
def test_order_of_methods_and_data_sets_does_not_count(scores):
    ranks = rank_methods(scores)
    for other in (ranks[::-1], ranks[:, ::-1]):
        np.testing.assert_allclose(friedman(other), friedman(ranks), atol=1e-12)
        np.testing.assert_allclose(
            iman_davenport(other), iman_davenport(ranks), rtol=1e-9, atol=1e-12
        )


def test_iman_davenport_is_the_f_of_a_two_way_analysis_of_variance_on_ranks(rng):
    """F = (SS_methods / (k - 1)) / (SS_rest / ((k - 1)(N - 1)))."""
    N, k = 8, 4
    R = rank_methods(rng.normal(size=(N, k)))
    between = N * ((R.mean(axis=0) - R.mean()) ** 2).sum()
    rest = ((R - R.mean()) ** 2).sum() - between
    F = (between / (k - 1)) / (rest / ((k - 1) * (N - 1)))
    test = iman_davenport(R)
    assert test.statistic == pytest.approx(F, rel=1e-10)
    assert test.p == pytest.approx(stats.f.sf(F, k - 1, (k - 1) * (N - 1)), rel=1e-9)


@pytest.mark.parametrize("n_methods", [2, 3, 7])
def test_the_same_ranking_everywhere_is_certain(n_methods):
    R = np.tile(np.arange(1.0, n_methods + 1), (6, 1))
    assert iman_davenport(R) == (np.inf, 0.0)
    assert friedman(R).statistic == pytest.approx(6 * (n_methods - 1))


def test_no_difference_at_all_is_certain_too():
    R = np.full((5, 3), 2.0)
    assert friedman(R) == (0.0, 1.0)
    assert iman_davenport(R) == (0.0, 1.0)


#: Demsar (2006), Table 5: critical values for two-tailed tests, k = 2..10.
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}
BONFERRONI_DUNN = {
    0.05: [1.960, 2.241, 2.394, 2.498, 2.576, 2.638, 2.690, 2.724, 2.773],
    0.10: [1.645, 1.960, 2.128, 2.241, 2.326, 2.394, 2.450, 2.498, 2.539],
}


@pytest.mark.parametrize("alpha", [0.05, 0.10])
@pytest.mark.parametrize("k", range(2, 11))
def test_critical_values_are_those_of_the_published_table(alpha, k):
    """Undo sqrt(k (k + 1) / (6 N)); published to three digits, one of them wrong.

    For k = 9 at 0.05 the table has 2.724; z of 0.05 / 16 is 2.734.
    """
    unit = np.sqrt(k * (k + 1) / (6 * 10))
    q = nemenyi(10, k, alpha) / unit
    assert q == pytest.approx(NEMENYI[alpha][k - 2], abs=0.0011)
    expected = 2.734 if (alpha, k) == (0.05, 9) else BONFERRONI_DUNN[alpha][k - 2]
    assert bonferroni_dunn(10, k, alpha) / unit == pytest.approx(expected, abs=0.0006)


def test_all_pairs_need_a_larger_difference_than_a_control():
    assert nemenyi(13, 2) == pytest.approx(bonferroni_dunn(13, 2), rel=1e-6)
    assert nemenyi(13, 4) > bonferroni_dunn(13, 4)
    assert bonferroni_dunn(52, 4) == pytest.approx(bonferroni_dunn(13, 4) / 2)


def test_nemenyi_is_that_of_scikit_posthocs():
    """Its p-values are below alpha where our difference is critical."""
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = np.random.default_rng(5).normal(size=(12, 4)) + np.arange(4) * 0.4
    p = posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    ranks = rank_methods(scores).mean(axis=0)
    differ = np.abs(ranks[:, None] - ranks) >= nemenyi(12, 4, 0.10)
    np.testing.assert_array_equal(differ, p < 0.10)


@pytest.mark.parametrize(
    "scores",
    [
        [[0.9, 0.8, 0.7], [0.95, 0.85, 0.6], [0.7, 0.6, 0.65]],
        [[1, 2, 2], [1, 2, 3]],
        [[0, 1, 2], [0, 1, 2]],
        [[1, 2, np.nan], [1, 2, 3]],
        [1, 2, 3],
    ],
    ids=["scores", "a tie without its mean", "from zero", "a gap", "one row"],
)
@pytest.mark.parametrize("test", [friedman, iman_davenport])
def test_scores_in_the_place_of_ranks_are_refused(test, scores):
    with pytest.raises(ValueError, match=r"need ranks.*with rank_methods\(scores\)"):
        test(scores)
