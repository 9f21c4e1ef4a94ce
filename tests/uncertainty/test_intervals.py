"""Intervals against plain loops, and what exchangeable rows promise exactly."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from committee.uncertainty import (
    conformal_quantile,
    constant_interval,
    jackknife_plus_interval,
    member_spread,
    scaled_interval,
)
from committee.uncertainty.intervals import rank


def plain_jackknife_plus(F, w, R, held_out, coverage):
    """The definition, one new row and one held-out row at a time."""
    n, intervals = len(R), []
    k = math.ceil(coverage * (n + 1) - 1e-9)
    for f in F:
        lower, upper = [], []
        for i in range(n):
            unseen = [m for m in range(len(w)) if held_out[i, m]]
            mean = sum(w[m] * f[m] for m in unseen) / sum(w[m] for m in unseen)
            lower.append(mean * sum(w) - R[i])
            upper.append(mean * sum(w) + R[i])
        intervals.append([sorted(lower)[n - k], sorted(upper)[k - 1]])
    return np.array(intervals)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_jackknife_plus_is_its_definition(coverage, monkeypatch):
    rng = np.random.default_rng(0)
    F, w, R = rng.normal(size=(7, 4)), rng.uniform(0.1, 1, 4), rng.exponential(size=20)
    held_out = rng.random((20, 4)) < 0.5
    held_out[~held_out.any(axis=1), 0] = True
    # Two new rows at a time, so that blocks have an odd one at the end.
    monkeypatch.setattr("committee.uncertainty.intervals._BLOCK", 40)
    found = jackknife_plus_interval(F, w, R, held_out, coverage)
    np.testing.assert_allclose(
        found, plain_jackknife_plus(F, w, R, held_out, coverage), rtol=1e-12
    )


def test_equal_weights_and_rows_that_nobody_saw_give_the_conformal_interval():
    rng = np.random.default_rng(1)
    F, R = rng.normal(size=(6, 5)), rng.exponential(size=30)
    w, f = np.full(5, 0.2), F.mean(axis=1)
    q = np.sort(R)[28 - 1]  # ceil(0.9 * 31) = 28
    expected = np.column_stack([f - q, f + q])
    for held_out in (None, np.ones((30, 5), dtype=bool)):
        found = jackknife_plus_interval(F, w, R, held_out, 0.9)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(constant_interval(f, R, 0.9), expected, rtol=1e-12)


def test_one_spread_for_all_rows_gives_the_constant_interval():
    rng = np.random.default_rng(2)
    f, R = rng.normal(size=6), rng.exponential(size=30)
    for spread in (0.0, 2.0):
        s, S = np.full(6, spread), np.full(30, spread)
        found = scaled_interval(f, s, R, S, 0.8)
        np.testing.assert_allclose(found, constant_interval(f, R, 0.8), rtol=1e-12)


def test_intervals_have_the_units_of_y():
    rng = np.random.default_rng(3)
    f, s = rng.normal(size=6), rng.exponential(size=6)
    R, S = rng.exponential(size=(2, 30))
    expected = 1e6 * scaled_interval(f, s, R, S, 0.9)
    found = scaled_interval(1e6 * f, 1e6 * s, 1e6 * R, 1e6 * S, 0.9)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_spread_is_a_weighted_standard_deviation_of_any_sign():
    F = np.array([[1.0, 4.0, 9.0], [2.0, 2.0, 2.0]])
    once = member_spread(F, np.array([0.5, -0.25, 0.25]))
    np.testing.assert_allclose(once, [np.std([1.0, 1.0, 4.0, 9.0]), 0.0], atol=1e-12)


def test_exchangeable_rows_are_covered_as_promised():
    """Over many draws a further row lies within with probability k / (n + 1) exactly."""
    rng, n, coverage, draws = np.random.default_rng(4), 19, 0.9, 4000
    scores = rng.standard_cauchy((draws, n + 1)) ** 2
    hits = sum(row[-1] <= conformal_quantile(row[:-1], coverage) for row in scores)
    k = math.ceil(coverage * (n + 1))
    # Outside of these once in a million.
    low, high = binom.interval(1 - 1e-6, draws, k / (n + 1))
    assert low <= hits <= high


@pytest.mark.parametrize(
    ("coverage", "needed"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)]
)
def test_how_many_rows_are_needed(coverage, needed):
    assert rank(needed, coverage) == needed
    with pytest.raises(ValueError, match=f"needs at least {needed} held-out rows"):
        rank(needed - 1, coverage)


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.1, np.nan, True, "0.9", None])
def test_what_is_no_coverage_is_refused(coverage):
    with pytest.raises(ValueError, match=r"above 0 and below 1, such as 0\.9\. Got"):
        conformal_quantile(np.arange(100.0), coverage)


def test_jackknife_plus_refuses_negative_weights():
    w = np.array([1.5, -0.5])
    with pytest.raises(ValueError, match="needs non-negative weights"):
        jackknife_plus_interval(np.ones((1, 2)), w, np.ones(20), None, 0.9)
