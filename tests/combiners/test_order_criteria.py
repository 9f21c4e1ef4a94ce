"""Criteria of OrderPruner, against plain loops and by hand."""

import numpy as np
import pytest
from hypothesis import given

from committee import OrderPruner
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_held_out, make_problem


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    fitted = OrderPruner("best").fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == plain.best(rows)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_best_of_a_regression(masked, scale, rng):
    F, y = make_problem("regression")
    held_out, s = make_held_out() if masked else None, rng.exponential(size=40)
    expected = plain.best_regression(F, y, held_out, s)
    fitted = OrderPruner("best", 2).fit(
        scale * F, scale * y, held_out=held_out, sample_weight=s
    )
    assert fitted.order_.tolist() == expected


def test_best_of_a_regression_over_all_scales():
    """Squares of 1e-200 and 1e200 would vanish or overflow; the order does not."""
    F = np.array([[1e200, 1e-200, 1.0, 1e-190, 0.0]] * 3)
    assert OrderPruner("best").fit(F, np.zeros(3)).order_.tolist() == [4, 1, 3, 2, 0]


def test_a_member_that_never_speaks_is_not_in_the_order():
    F, y = make_problem("regression")
    held_out = np.ones((40, 7), dtype=bool)
    held_out[:, 0] = False
    order = OrderPruner("best").fit(F, y, held_out=held_out).order_
    assert sorted(order) == [1, 2, 3, 4, 5, 6]


def test_random_order_depends_on_the_seed_alone():
    F, y = make_problem("regression", M=50)
    first, again, other = (
        OrderPruner("random", 5, random_state=seed).fit(F, y).order_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    flipped = OrderPruner("random", 5, random_state=0).fit(-F, y).order_
    np.testing.assert_array_equal(first, flipped)


def test_every_member_is_drawn_equally_often():
    F, y = np.zeros((1, 5)), np.zeros(1)
    first = [
        OrderPruner("random", 1, random_state=i).fit(F, y).order_[0] for i in range(100)
    ]
    # Binomial: 20 +- 4 each.
    assert np.all(np.abs(np.bincount(first, minlength=5) - 20) < 16)


@given(case=plain.vote_problems)
def test_signatures_against_plain_loops(case):
    F, y, held_out, s = case
    known = {"held_out": held_out, "sample_weight": s}
    rows = plain.Rows(*case)
    order, cosine = plain.orientation(rows)
    fitted = OrderPruner("orientation").fit(F, y, **known)
    np.testing.assert_allclose(fitted.scores_, cosine, atol=1e-9)
    assert fitted.order_.tolist() == order


def test_orientation_by_hand():
    """Signatures (1, 1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, -1) on rows of y = 0.

    c_ens = (1, 1, -1) / 2 and o . c_ens = 1/2, |c_ens|^2 = 3/4: lambda = -2/3 and
    c_ref = (2, 2, 4) / 3. Scalar products with it: 0, 0, 4/3, -4/3.
    """
    F = votes(np.array([[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]]))
    fitted = OrderPruner("orientation").fit(F, [0, 0, 0])
    expected = np.array([0, 0, 4 / 3, -4 / 3]) / np.sqrt(3 * 24 / 9)
    np.testing.assert_allclose(fitted.scores_, expected, atol=1e-12)
    assert fitted.order_.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("voters", [[0, 0, 0], [0, 0, 1]])
def test_orientation_on_the_diagonal_is_the_order_of_errors(voters):
    """Each row is lost by one member in turn: c_ens has equal entries."""
    F = votes(np.array([np.roll(voters, i) for i in range(3)]))
    fitted = OrderPruner("orientation").fit(F, [0, 0, 0])
    best = OrderPruner("best").fit(F, [0, 0, 0])
    np.testing.assert_array_equal(fitted.order_, best.order_)


PRUNERS = {
    "complementarity": plain.complementarity,
    "concurrency": plain.concurrency,
}


@pytest.mark.parametrize("criterion", PRUNERS)
@given(case=plain.vote_problems)
def test_one_by_one_against_plain_loops(criterion, case):
    F, y, held_out, s = case
    fitted = OrderPruner(criterion).fit(F, y, held_out=held_out, sample_weight=s)
    assert fitted.order_.tolist() == PRUNERS[criterion](plain.Rows(*case))


def test_the_first_is_the_best_and_its_twin_waits():
    """Member 2 is wrong most, and right where 0 and 1 are wrong."""
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    order = OrderPruner("complementarity").fit(votes(codes), [0] * 5).order_
    assert order.tolist() == [0, 2, 1]


def test_complementarity_without_failures_goes_by_error():
    """Member 3 is always right; then none complements: errors, not storage."""
    codes = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]])
    order = OrderPruner("complementarity").fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [3, 2, 1, 0]


def test_concurrency_by_hand():
    """Votes of four on y = 0: the committee ties on row 0 and loses row 1.

    con_0 = con_1: tie right 1.5 - 2; con_2: -1 - 2; con_3: -1 + 2. So 2 goes first.
    Left 0, 1, 3: row 0 won, row 1 lost: con_0 = con_1 = 1 - 2, con_3 = 0 + 2; of the
    equal ones the higher number goes. 0 and 3 are equal as well.
    """
    F = votes(np.array([[0, 0, 1, 1], [1, 1, 1, 0]]))
    assert OrderPruner("concurrency").fit(F, [0, 0]).order_.tolist() == [0, 3, 1, 2]
