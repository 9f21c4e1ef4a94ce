import pytest

from committee.cells import border_width, grow_tree


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
