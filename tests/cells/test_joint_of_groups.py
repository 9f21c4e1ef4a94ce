import numpy as np

from committee.cells import Border, JointSystem, border_points, grow_tree
from committee.cells.borders import borders_of_groups
from committee.cells.groups import merged, solve_cells
from committee.cells.joint_of_groups import group_system, meetings
from committee.kernels import Kernel
from tests.cells.chunks import options, surface

FIRSTS = np.array([0, 3, 4, 9, 16])


def whole_system():
    """Return the joint system of sixteen cells."""
    part = surface()
    tree, cells = grow_tree(part.X, 25)
    assert tree.n_cells == FIRSTS[-1]
    points = border_points(tree, part.X, cells, 8)
    rows = [merged(type(part)(*(a[cell] for a in part)), 30) for cell in cells]
    fits = solve_cells(Kernel("matern32", 0.3), 0.1, rows, points, [], options())
    return JointSystem(points, [fit.border for fit in fits], 0.1)


def systems_of_groups(whole, borders):
    """Return the terms of each group, and the borders of its cells."""
    own = [
        [border_of(whole, c) for c in group.cells[: group.n_own]] for group in borders
    ]
    met = [
        meeting
        for group, cells in zip(borders, own, strict=True)
        for meeting in meetings(group, cells)
    ]
    return [
        group_system(
            group,
            cells,
            [m for m in met if m.other in group.cells[: group.n_own]],
            whole.alpha,
        )
        for group, cells in zip(borders, own, strict=True)
    ]


def border_of(whole, c):
    numbers, sign = whole.of_cell[c]
    S = sign[:, None] * whole.S[c] * sign
    return Border(np.ones((len(numbers), 2)), S, np.zeros((0, len(numbers))))


def test_every_point_is_in_the_groups_of_its_two_cells():
    points = whole_system().points
    borders = borders_of_groups(points, FIRSTS)
    for g, group in enumerate(borders):
        ends = np.stack([points.owner, points.other])
        inside = (ends >= FIRSTS[g]) & (ends < FIRSTS[g + 1])
        np.testing.assert_array_equal(group.numbers, np.flatnonzero(inside.any(axis=0)))
        for name in ("owner", "other"):
            local = getattr(group.points, name)
            expected = getattr(points, name)[group.numbers]
            np.testing.assert_array_equal(group.cells[local], expected)


def test_products_of_groups_add_up_to_that_of_all():
    whole = whole_system()
    borders = borders_of_groups(whole.points, FIRSTS)
    v = np.random.default_rng(0).normal(size=(len(whole.points.owner), 2))
    total = np.zeros_like(v)
    for group, system in zip(borders, systems_of_groups(whole, borders), strict=True):
        total[group.numbers] += system.product(v[group.numbers])
    np.testing.assert_allclose(total, whole.product(v), rtol=1e-12, atol=1e-14)


def test_blocks_of_a_cell_are_those_of_all():
    """Of cells outside only what they have in common with one cell is known."""
    whole = whole_system()
    borders = borders_of_groups(whole.points, FIRSTS)
    v = np.random.default_rng(0).normal(size=(len(whole.points.owner), 1))
    total = np.zeros_like(v)
    for group, system in zip(borders, systems_of_groups(whole, borders), strict=True):
        for c in range(group.n_own):
            np.testing.assert_allclose(
                system.precision(c, 1.0),
                whole.precision(int(group.cells[c]), 1.0),
                rtol=1e-10,
                atol=1e-12,
            )
        total[group.numbers] += system.preconditioner(10.0)(v[group.numbers])
    expected = whole.preconditioner(10.0)(v)
    np.testing.assert_allclose(total, expected, rtol=1e-10, atol=1e-12)
