import numpy as np
import pytest

from committee.coupled.rows import (
    check_subsets,
    draw_coupling,
    draw_subsets,
    draw_weighing,
)

ROWS = np.arange(10, 33)


def rng():
    return np.random.RandomState(0)


@pytest.mark.parametrize("q", [1, 4, 11])
def test_subsets_are_a_partition_of_nearly_equal_parts(q):
    subsets = draw_subsets(ROWS, q, rng())
    np.testing.assert_array_equal(np.sort(np.concatenate(subsets)), ROWS)
    sizes = [len(rows) for rows in subsets]
    assert max(sizes) - min(sizes) <= 1


def test_coupling_points():
    X = np.arange(30.0).reshape(15, 2)
    rows = X[2:12]
    drawn = draw_coupling(rows, 0.3, "train", rng())
    assert drawn.shape == (3, 2)
    assert {tuple(x) for x in drawn} <= {tuple(x) for x in rows}
    assert len(draw_coupling(rows, 10, "train", rng())) == 10
    box = draw_coupling(rows, 100, "box", rng())
    assert np.all((box >= rows[0]) & (box <= rows[-1]))
    # The range of 100 uniform numbers is 0.98 of theirs in the mean.
    assert np.ptp(box) > 0.8 * np.ptp(rows)


def test_centres_are_the_means_of_the_rows_that_are_nearest():
    """As many as asked for, or as there are different rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))[10:]
    random = np.random.RandomState(0)
    centres = draw_coupling(X, 7, "centres", random)
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    means = [X[nearest == k].mean(axis=0) for k in range(7)]
    np.testing.assert_allclose(centres, means, atol=1e-3)
    few = draw_coupling(np.repeat(X[:3], 10, axis=0), 0.5, "centres", random)
    np.testing.assert_allclose(np.sort(few[:, 0]), np.sort(X[:3, 0]), atol=1e-12)


def test_weighing_rows():
    many = np.arange(5000)
    assert len(draw_weighing(many, 8, rng())) == 1000
    assert len(draw_weighing(many, 800, rng())) == 1600
    np.testing.assert_array_equal(draw_weighing(ROWS, 8, rng()), ROWS)


def test_given_subsets_are_sorted_and_lose_rows_that_do_not_count():
    found = check_subsets([[5, 2, 3], (9, 0)], 2, 10, np.array([0, 2, 5, 9]))
    assert [part.tolist() for part in found] == [[2, 5], [0, 9]]


@pytest.mark.parametrize(
    ("subsets", "match"),
    [
        ([[0, 1]], r"must be 2 lists of row numbers.* Got 1\."),
        (
            [[0, 1], [2.0, 3.0]],
            r"subsets\[1\] must be a non-empty list of row numbers.*float64",
        ),
        ([[True, False], [2, 3]], r"subsets\[0\] must be a non-empty list.*dtype bool"),
        ([[0, 1], []], r"subsets\[1\] must be a non-empty list"),
        ([[[0], [1]], [2, 3]], r"shape \(2, 1\)"),
        (
            [[[0, 4], [1]], [2, 3]],
            r"subsets\[0\] must be a non-empty list.*dtype object",
        ),
        ([[0, 1], [2, 10]], r"from 0 to 9\. Got 2 to 10"),
        ([[-1, 1], [2, 3]], r"Got -1 to 1"),
        ([[0, 1], [1, 3]], r"disjoint\. Row 1 occurs 2 times"),
        ([[0, 0], [1, 3]], r"Row 0 occurs 2 times"),
        ([[0, 1], [7, 8]], r"subsets\[1\] must have at least one row with a positive"),
        (3, r"must be 2 lists of row numbers.* Got 3"),
        ("random", r"must be 2 lists of row numbers"),
    ],
)
def test_given_subsets_are_refused_in_a_sentence(subsets, match):
    with pytest.raises(ValueError, match=match):
        check_subsets(subsets, 2, 10, np.arange(7))
