"""Sets of classes against plain loops."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from committee.uncertainty import aps_scores, class_quantiles, class_sets, lac_scores
from committee.uncertainty.sets import SCORES, scores_of


def test_adaptive_scores_are_their_definition():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    for row, found in zip(p, aps_scores(p), strict=True):
        for k, own in enumerate(row):
            assert found[k] == pytest.approx(row[row > own].sum() + own / 2)


@pytest.mark.parametrize("method", SCORES)
def test_exchangeable_rows_are_covered_as_promised(method):
    """Even by probabilities that are wrong; the share is that of the definition."""
    rng, n, coverage, draws = np.random.default_rng(1), 19, 0.8, 1500
    p = rng.dirichlet(np.ones(3), size=(draws, n + 1))
    y = rng.integers(0, 3, size=(draws, n + 1))
    hits = 0
    for probabilities, codes in zip(p, y, strict=True):
        e = SCORES[method](probabilities)
        known = scores_of(e, codes)[:-1]
        hits += class_sets(e[-1:], probabilities[-1:], known, coverage)[0, codes[-1]]
    k = math.ceil(coverage * (n + 1))
    # The likeliest class is always in: that can only add.
    assert hits >= binom.ppf(5e-7, draws, k / (n + 1))


def test_sets_grow_with_the_coverage_and_are_never_empty():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(5), size=50)
    known = rng.random(200)
    small, large = (class_sets(lac_scores(p), p, known, c) for c in (0.1, 0.9))
    assert np.all(small <= large)
    assert small.any(axis=1).all()
    assert np.all(small[np.arange(50), p.argmax(axis=1)])


@pytest.mark.parametrize("method", SCORES)
def test_every_class_is_covered_as_promised(method):
    """Class 1 has one row in ten, and probabilities that hardly ever name it."""
    rng, coverage, draws = np.random.default_rng(3), 0.8, 1000
    hits, of_class = np.zeros((2, 2))
    for _ in range(draws):
        y = (rng.random(200) < 0.1).astype(int)
        p1 = 1 / (1 + np.exp(3 - y - rng.normal(size=200)))
        p = np.column_stack([1 - p1, p1])
        e = SCORES[method](p)
        known = scores_of(e, y)[:-1]
        sets = class_sets(e[-1:], p[-1:], known, coverage, y[:-1])
        hits[y[-1]] += sets[0, y[-1]]
        of_class[y[-1]] += 1
        for k in (0, 1):  # the definition, class by class
            own = known[y[:-1] == k]
            assert sets[0, k] or not class_sets(e[-1:], p[-1:], own, coverage)[0, k]
    # k / (n_k + 1) is at least the coverage, and the likeliest class can only add.
    assert np.all(hits >= binom.ppf(5e-7, of_class, coverage))


def test_a_class_with_few_rows_is_in_every_set():
    e = np.full((3, 3), 0.5)
    known, y = np.zeros(20), np.repeat([0, 1], [12, 8])  # and none of class 2
    assert class_quantiles(known, y, 3, 0.9).tolist() == [0.0, np.inf, np.inf]
    sets = class_sets(e, np.array([[0.2, 0.1, 0.7]] * 3), known, 0.9, y)
    assert sets.tolist() == [[False, True, True]] * 3


def test_sets_of_one_class_are_those_without_classes(rng):
    p = rng.dirichlet(np.ones(4), size=30)
    known = rng.random(100)
    plain = class_sets(lac_scores(p), p, known, 0.9)
    by_class = class_sets(lac_scores(p), p, known, 0.9, np.zeros(100, dtype=int))
    np.testing.assert_array_equal(by_class[:, 0], plain[:, 0])


def test_sets_by_class_grow_with_the_coverage(rng):
    p, y = rng.dirichlet(np.ones(3), size=200), rng.integers(0, 3, 200)
    e = lac_scores(p)
    sets = [class_sets(e, p, scores_of(e, y), c, y) for c in (0.3, 0.6, 0.9, 0.999)]
    assert all(np.all(a <= b) for a, b in pairwise(sets))
    assert sets[0].any(axis=1).all()
    assert sets[-1].all()
