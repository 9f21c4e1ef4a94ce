"""Made-up rows stay between rows that there are."""

import numpy as np

from committee.refining import made_up_rows


def test_columns_come_from_a_row_and_one_of_its_neighbours():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(50, 6)) * [1, 1, 1, 1e6, 1, 1]  # units do not matter
    units = X / X.std(axis=0)
    made = made_up_rows(X, 100, np.random.RandomState(1))
    for row, first, second in zip(*made, strict=True):
        base, other = np.unique(np.argmax(row == X, axis=0), return_counts=True)
        assert len(base) == 2
        assert other.tolist() == [3, 3]
        assert sorted([first, second]) == base.tolist()
        distance = ((units - units[first]) ** 2).sum(axis=1)
        assert second in np.argsort(distance)[:21]


def test_missing_values_and_constant_columns_are_handed_on():
    X = np.c_[np.arange(20.0), np.full(20, np.nan), np.ones(20)]
    found = made_up_rows(X, 30, np.random.RandomState(0)).X
    assert np.isnan(found[:, 1]).all()
    assert (found[:, 2] == 1).all()


def test_one_row_is_its_own_neighbour():
    assert (made_up_rows(np.ones((1, 3)), 4, np.random.RandomState(0)).X == 1).all()
