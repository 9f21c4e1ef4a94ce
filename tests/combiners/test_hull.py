"""KappaErrorHullPruner and the hull itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from committee import KappaErrorHullPruner
from committee.combiners.hull import lower_left_hull
from tests.reference import pruners as plain
from tests.reference.hostile import votes


@given(case=plain.vote_problems)
def test_against_plain_loops(case):
    F, y, held_out, s = case
    rows = plain.Rows(*case)
    fitted = KappaErrorHullPruner().fit(F, y, held_out=held_out, sample_weight=s)
    pairs = plain.hull_pairs(rows)
    assert {tuple(pair) for pair in fitted.pairs_.tolist()} == pairs
    members = sorted({m for pair in pairs for m in pair})
    assert fitted.support_.tolist() == (members or plain.best(rows)[:1])


def test_a_diagram_by_hand():
    """Corners (0, 4), (1, 1) and (4, 0); (2, 2/3) is on an edge, (3, 3) inside."""
    x = np.array([3.0, 4.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    y = np.array([3.0, 0.0, 1.0, 2 / 3, 4.0, 0.0, 5.0])
    assert lower_left_hull(x, y).tolist() == [4, 2, 3, 1]


def test_one_point_and_equal_points():
    assert lower_left_hull(np.array([]), np.array([])).tolist() == []
    assert lower_left_hull(np.zeros(3), np.ones(3)).tolist() == [0, 1, 2]
    # The lowest is also the leftmost: the hull is that point.
    assert lower_left_hull(np.array([1.0, 0.0]), np.array([1.0, 0.0])).tolist() == [1]


@given(st.integers(0, 10**6), st.integers(4, 60))
def test_against_qhull(seed, n):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    hull = ConvexHull(points)
    left, low = points[:, 0].argmin(), points[:, 1].argmin()
    # Vertices run counterclockwise: from the leftmost down to the lowest.
    ring = np.roll(hull.vertices, -int(np.flatnonzero(hull.vertices == left)[0]))
    expected = ring[: int(np.flatnonzero(ring == low)[0]) + 1]
    assert lower_left_hull(*points.T).tolist() == expected.tolist()


def test_accurate_and_diverse_pairs_are_kept_and_the_rest_is_not():
    """0 and 1 err least, 1 and 2 agree least; 3 errs most and agrees."""
    codes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    fitted = KappaErrorHullPruner().fit(votes(codes), [0] * 4)
    assert fitted.support_.tolist() == [0, 1, 2]


def test_members_that_share_no_row():
    F, y, _, _ = plain.random_votes(0)
    N, M, _ = F.shape
    held_out = np.zeros((N, M), dtype=bool)
    held_out[np.arange(M) % N, np.arange(M)] = True
    rows = plain.Rows(F, y, held_out)
    assert not plain.hull_pairs(rows)
    fitted = KappaErrorHullPruner().fit(F, y, held_out=held_out)
    assert fitted.support_.tolist() == plain.best(rows)[:1]
