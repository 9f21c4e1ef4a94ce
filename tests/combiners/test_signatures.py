"""OrientationPruner and MarginDistancePruner."""

import numpy as np
import pytest
from hypothesis import given

from committee import BestPruner, MarginDistancePruner, OrientationPruner
from tests.reference import pruners as plain
from tests.reference.hostile import votes
from tests.reference.problems import make_problem


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    known = {"held_out": held_out, "sample_weight": s}
    rows = plain.Rows(*case)
    order, cosine = plain.orientation(rows)
    fitted = OrientationPruner().fit(F, y, **known)
    np.testing.assert_allclose(fitted.cosine_, cosine, atol=1e-9)
    assert fitted.order_.tolist() == order
    for p in (0.075, 0.5):
        order, distance = plain.margin_distance(rows, p)
        fitted = MarginDistancePruner(p=p).fit(F, y, **known)
        assert fitted.order_.tolist() == order
        np.testing.assert_allclose(fitted.distance_, distance, atol=1e-9)


def test_orientation_by_hand():
    """Signatures (1, 1, -1), (1, 1, -1), (1, -1, 1), (-1, 1, -1) on rows of y = 0.

    c_ens = (1, 1, -1) / 2 and o . c_ens = 1/2, |c_ens|^2 = 3/4: lambda = -2/3 and
    c_ref = (2, 2, 4) / 3. Scalar products with it: 0, 0, 4/3, -4/3.
    """
    F = votes(np.array([[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]]))
    fitted = OrientationPruner().fit(F, [0, 0, 0])
    expected = np.array([0, 0, 4 / 3, -4 / 3]) / np.sqrt(3 * 24 / 9)
    np.testing.assert_allclose(fitted.cosine_, expected, atol=1e-12)
    assert fitted.order_.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("voters", [[0, 0, 0], [0, 0, 1]])
def test_orientation_on_the_diagonal_is_the_order_of_errors(voters):
    """Each row is lost by one member in turn: c_ens has equal entries."""
    F = votes(np.array([np.roll(voters, i) for i in range(3)]))
    fitted = OrientationPruner().fit(F, [0, 0, 0])
    best = BestPruner().fit(F, [0, 0, 0])
    np.testing.assert_array_equal(fitted.order_, best.order_)


def test_margin_distance_by_hand():
    """T = 4, p = 1/4: the target is a sum of one vote on every row.

    Signatures: a = (1, 1, 1, -1), its twin b, c = (-1, 1, -1, 1), d = (-1, -1, -1, 1).
    a is first: it misses the target by (0, 0, 0, 2). Squared misses after the next:
    with the twin 1 + 1 + 1 + 9, with c or d 1 + 1 + 1 + 1; c errs less and is next.
    """
    codes = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]])
    fitted = MarginDistancePruner(p=0.25).fit(votes(codes), [0] * 4)
    assert fitted.order_[:2].tolist() == [0, 2]
    np.testing.assert_allclose(fitted.distance_[:2] * 4, [1.0, 1.0])


def test_margin_distance_is_a_distance_of_vectors():
    """Two members of equal mean signature, one of them the twin of the first."""
    codes = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0], [1, 1, 0]])
    order = MarginDistancePruner().fit(votes(codes), [0] * 4).order_
    assert order.tolist() == [0, 2, 1]


def test_all_together_reach_the_mean_signature():
    """After M steps the order no longer matters."""
    F, y = make_problem("multiclass")
    right = F.argmax(axis=2) == y[:, None]
    mean = (2.0 * right - 1).mean(axis=1)
    distance = np.sqrt(np.mean((0.075 - mean) ** 2))
    fitted = MarginDistancePruner().fit(F, y)
    assert fitted.distance_[-1] == pytest.approx(distance)


def test_the_point_is_in_the_first_quadrant():
    F, y = make_problem("binary")
    with pytest.raises(ValueError, match=r"'p' parameter .* Got 0 instead"):
        MarginDistancePruner(p=0).fit(F, y)
