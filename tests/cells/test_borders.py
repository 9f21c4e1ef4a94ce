import numpy as np

from committee.cells import border_points, grow_tree
from committee.cells.joint import borders_of_groups


def test_points_lie_where_two_cells_meet(rng):
    X = rng.normal(size=(400, 3))
    tree, cells = grow_tree(X, 60)
    found = border_points(tree, X, cells, 5)
    assert np.all(np.bincount(found.owner) == 5)
    assert np.all(found.owner != found.other)
    # However small the width, a point on a border asks both cells for one half.
    rows, asked, weights = tree.shares(found.points, 1e-9)
    for p, (i, j) in enumerate(zip(found.owner, found.other, strict=True)):
        mine = dict(zip(asked[rows == p], weights[rows == p], strict=True))
        np.testing.assert_allclose([mine[i], mine[j]], 0.5, atol=1e-5)


def test_the_points_of_a_cell_have_signs(rng):
    X = rng.normal(size=(100, 2))
    tree, cells = grow_tree(X, 30)
    found = border_points(tree, X, cells, 4)
    numbers, sign = found.of_cell(0)
    np.testing.assert_array_equal(sign > 0, found.owner[numbers] == 0)
    assert np.all(
        (found.owner == 0) | (found.other == 0)
        == np.isin(np.arange(len(found.owner)), numbers)
    )


def test_one_cell_has_no_borders(rng):
    X = rng.normal(size=(20, 2))
    tree, cells = grow_tree(X, 30)
    assert border_points(tree, X, cells, 4).points.shape == (0, 2)


def test_every_point_is_in_the_groups_of_its_two_cells(rng):
    X = rng.normal(size=(400, 3))
    tree, cells = grow_tree(X, 25)
    assert tree.n_cells == 16
    points = border_points(tree, X, cells, 8)
    firsts = np.array([0, 3, 4, 9, 16])
    borders = borders_of_groups(points, firsts)
    for first, end, group in zip(firsts[:-1], firsts[1:], borders, strict=True):
        for c in range(first, end):
            numbers, sign = points.of_cell(c)
            own, own_sign = group.points.of_cell(c - first)
            np.testing.assert_array_equal(group.numbers[own], numbers)
            np.testing.assert_array_equal(own_sign, sign)
        np.testing.assert_array_equal(group.points.points, points.points[group.numbers])
    # A point between two groups is in both.
    home = np.searchsorted(firsts, [points.owner, points.other], side="right")
    assert sum(len(group.numbers) for group in borders) == len(points.owner) + np.sum(
        home[0] != home[1]
    )
