"""BestPruner, RandomPruner and ContributionPruner."""

import numpy as np
import pytest
from hypothesis import given

from committee import BestPruner, ContributionPruner, RandomPruner
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_held_out, make_problem


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    fitted = BestPruner().fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == plain.best(rows)
    order, contribution = plain.contribution(rows)
    fitted = ContributionPruner().fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == order
    np.testing.assert_allclose(fitted.contribution_, contribution, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_best_of_a_regression(masked, scale, rng):
    F, y = make_problem("regression")
    held_out, s = make_held_out() if masked else None, rng.exponential(size=40)
    expected = plain.best_regression(F, y, held_out, s)
    fitted = BestPruner(2).fit(scale * F, scale * y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == expected


def test_best_of_a_regression_over_all_scales():
    """Squares of 1e-200 and 1e200 would vanish or overflow; the order does not."""
    F = np.array([[1e200, 1e-200, 1.0, 1e-190, 0.0]] * 3)
    assert BestPruner().fit(F, np.zeros(3)).order_.tolist() == [4, 1, 3, 2, 0]


def test_a_member_that_never_speaks_is_not_in_the_order():
    F, y = make_problem("regression")
    held_out = np.ones((40, 7), dtype=bool)
    held_out[:, 0] = False
    order = BestPruner().fit(F, y, held_out=held_out).order_
    assert sorted(order) == [1, 2, 3, 4, 5, 6]


def test_random_order_depends_on_the_seed_alone():
    F, y = make_problem("regression", M=50)
    first, again, other = (
        RandomPruner(5, random_state=seed).fit(F, y).order_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    flipped = RandomPruner(5, random_state=0).fit(-F, y).order_
    np.testing.assert_array_equal(first, flipped)


def test_every_member_is_drawn_equally_often():
    F, y = np.zeros((1, 5)), np.zeros(1)
    first = [RandomPruner(1, random_state=i).fit(F, y).order_[0] for i in range(100)]
    # Binomial: 20 +- 4 each.
    assert np.all(np.abs(np.bincount(first, minlength=5) - 20) < 16)


def test_contribution_by_hand():
    """Five members, three classes, one row: y = 0 has two votes, 1 has two, 2 one.

    Those for 0 and 1 are in the majority: v_sec = 2/5 and v_y - v_m - v_max = -2/5;
    the one for 2 gets 2/5 - 1/5 - 2/5.
    """
    F = votes(np.array([[0, 0, 1, 1, 2]]), 3)
    fitted = ContributionPruner().fit(F, [0])
    np.testing.assert_allclose(fitted.contribution_, [0.4, 0.4, -0.4, -0.4, -0.2])
    assert fitted.order_.tolist() == [0, 1, 4, 2, 3]


def test_a_right_minority_contributes_most():
    """Rows of three: alone and right 2 * 2/3 - 1/3 = 1, right with another 1/3."""
    F = votes(np.array([[0, 1, 1], [0, 0, 1]]))
    fitted = ContributionPruner().fit(F, [0, 0])
    np.testing.assert_allclose(fitted.contribution_, [2 / 3, -1 / 3, -2 / 3])
