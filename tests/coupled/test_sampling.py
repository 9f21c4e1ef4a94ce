import numpy as np
import pytest

from committee.coupled.sampling import (
    draw_coupling,
    draw_subsets,
    draw_weighing,
    split_rows,
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


def test_rows_are_split_off_only_for_a_fraction():
    for weigh_on in ("train", "held-out"):
        train, apart = split_rows(ROWS, weigh_on, 3, rng())
        np.testing.assert_array_equal(train, ROWS)
        assert apart is None
    train, apart = split_rows(ROWS, 0.25, 3, rng())
    assert len(apart) == 6
    np.testing.assert_array_equal(np.sort(np.r_[train, apart]), ROWS)


def test_a_subset_of_one_row_is_refused():
    assert len(split_rows(ROWS, "train", 11, rng())[0]) == 23
    with pytest.raises(
        ValueError, match="n_members=12 needs at least 24 training rows"
    ):
        split_rows(ROWS, "train", 12, rng())


def test_coupling_points():
    X = np.arange(20.0).reshape(10, 2)
    drawn = draw_coupling(X, 0.3, "train", rng())
    assert drawn.shape == (3, 2)
    assert {tuple(x) for x in drawn} <= {tuple(x) for x in X}
    assert len(draw_coupling(X, 10, "train", rng())) == 10
    box = draw_coupling(X, 100, "box", rng())
    assert np.all((box >= X[0]) & (box <= X[-1]))
    with pytest.raises(
        ValueError, match="n_coupling=11 points cannot be drawn from 10"
    ):
        draw_coupling(X, 11, "train", rng())


def test_weighing_rows():
    many = np.arange(5000)
    assert len(draw_weighing(many, None, 8, rng())) == 1000
    assert len(draw_weighing(many, None, 800, rng())) == 1600
    assert len(draw_weighing(many, 7, 800, rng())) == 7
    np.testing.assert_array_equal(draw_weighing(ROWS, None, 8, rng()), ROWS)
