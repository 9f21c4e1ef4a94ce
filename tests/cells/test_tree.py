import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.cells import border_width, grow_tree


def test_cells_are_halves_of_halves(rng):
    X = rng.normal(size=(1000, 3))
    tree, cells = grow_tree(X, 130)
    assert [len(c) for c in cells] == [125] * 8
    assert tree.n_cells == 8
    np.testing.assert_array_equal(np.sort(np.concatenate(cells)), np.arange(1000))


def test_cells_are_alike_whatever_their_number(rng):
    X = rng.normal(size=(1000, 3))
    for max_cell in (90, 101, 334, 600):
        sizes = [len(rows) for rows in grow_tree(X, max_cell)[1]]
        assert len(sizes) == -(-1000 // max_cell)
        assert max(sizes) <= max_cell
        assert max(sizes) - min(sizes) <= 2


def test_a_split_is_across_the_first_principal_direction(rng):
    X = rng.normal(size=(4000, 2)) @ np.array([[3.0, 3.0], [-0.5, 0.5]])
    tree, _ = grow_tree(X, 2000)
    np.testing.assert_allclose(np.abs(tree.directions[0]), np.sqrt(0.5), atol=0.02)


@given(
    seed=st.integers(0, 10_000),
    levels=st.integers(1, 4),
    offset=st.sampled_from([0, 1e6]),
)
def test_rows_are_found_in_their_cells_also_where_many_coincide(seed, levels, offset):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(80, 2)) + float(offset)
    tree, cells = grow_tree(X, 5)
    for c, rows in enumerate(cells):
        assert np.all(tree.cell_of(X[rows]) == c)
        alike = np.all(X[rows] == X[rows[0]])
        assert len(rows) <= 5 or alike


def test_rows_that_are_all_alike_are_one_cell():
    tree, cells = grow_tree(np.full((50, 3), 0.1), 10)
    assert tree.n_cells == 1
    assert len(cells[0]) == 50
    assert tree.shares(np.zeros((2, 3)), 1.0).weights.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("width", [0.05, 0.5, 5.0])
def test_weights_sum_to_one_and_move_without_jumps(width, rng):
    X = rng.normal(size=(500, 2))
    tree, _ = grow_tree(X, 60)
    line = np.linspace(-3, 3, 20_001)[:, None] * np.array([1.0, 0.7])
    rows, cells, weights = tree.shares(line, width)
    W = np.zeros((len(line), tree.n_cells))
    W[rows, cells] = weights
    np.testing.assert_allclose(W.sum(axis=1), 1.0, rtol=1e-12)
    # The slope of the ramp is at most 3 / 4 width; steps of 3.7e-4, three splits deep.
    assert np.abs(np.diff(W, axis=0)).max() < 3 * 0.75 * 3.7e-4 / width
    assert weights.min() > 0


def test_without_width_a_row_asks_its_own_cell(rng):
    X = rng.normal(size=(100, 2))
    tree, _cells = grow_tree(X, 30)
    rows, asked, weights = tree.shares(X, 0.0)
    assert np.all(weights == 1.0)
    assert np.all(np.diff(asked) >= 0)
    np.testing.assert_array_equal(np.sort(rows), np.arange(100))


@pytest.mark.parametrize("asked", [1.5, 2.0, 3.0])
def test_rows_ask_so_many_cells(asked, rng):
    X = rng.normal(size=(2000, 4))
    tree, _ = grow_tree(X, 130)
    n = len(tree.shares(X, border_width(tree, X, asked)).rows) / len(X)
    assert n == pytest.approx(asked, rel=0.03)


def test_two_cells_are_not_asked_twice(rng):
    X = rng.normal(size=(100, 1))
    tree, _ = grow_tree(X, 50)
    n = len(tree.shares(X, border_width(tree, X)).rows) / len(X)
    assert n == pytest.approx(1.5, abs=0.02)


def test_one_cell_has_no_border(rng):
    X = rng.normal(size=(10, 1))
    assert border_width(grow_tree(X, 50)[0], X) == 0.0
