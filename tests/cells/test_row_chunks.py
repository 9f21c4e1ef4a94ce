import numpy as np
import pytest

from committee.cells import grow_tree
from committee.cells.groups import graft, shuffled
from tests.cells.chunks import in_chunks, surface

pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("committee.cells.groups._GROUP_ROWS", 60)


@pytest.mark.parametrize("max_cell", [30, 100, 1000])
def test_groups_are_leaves_of_the_tree_of_memory(max_cell):
    part = surface()
    top, rows = shuffled(in_chunks(part), max_cell)
    _, cells = grow_tree(part.X, max_cell, max_group=max(60, max_cell))
    groups = rows.values()
    assert top.n_cells == len(groups) == len(cells)
    for group, cell in zip(groups, cells, strict=True):
        for one, two in zip(group, part, strict=True):
            np.testing.assert_array_equal(one, two[cell])


def test_a_grafted_tree_is_the_one_that_grows_at_once():
    X = surface().X
    top, groups = grow_tree(X, 20, max_group=90)
    whole = graft(top, [grow_tree(X[rows], 20, top.centre)[0] for rows in groups])
    expected, _ = grow_tree(X, 20)
    for name in ("centre", "directions", "thresholds", "children"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(expected, name))


def test_a_sample_decides_the_groups_of_many_rows(monkeypatch):
    """Medians of n rows are off by about 1 / sqrt(n) of the rows: here 0.1."""
    monkeypatch.setattr("committee.cells.groups.SAMPLE_ROWS", 100)
    part = surface(n=1000)
    top, rows = shuffled(in_chunks(part), max_cell=30)
    sizes = np.array([len(group.X) for group in rows.values()])
    assert top.n_cells == len(sizes)
    assert sizes.sum() == 1000
    assert sizes.max() < 3 * 60


def test_there_are_never_too_many_groups(monkeypatch):
    monkeypatch.setattr("committee.cells.groups._MOST_GROUPS", 4)
    # A split leaves a third on one side at least, so groups are thirds at least.
    assert 4 <= len(shuffled(in_chunks(surface()), max_cell=30)[1]) <= 3 * 4


def test_rows_are_found_by_their_numbers():
    part = surface()
    rows = in_chunks(part)
    some = np.array([0, 59, 60, 249, 250, 399])
    for one, two, three in zip(rows.take(some), part, rows.some(5), strict=True):
        np.testing.assert_array_equal(one, two[some])
        np.testing.assert_array_equal(three, two[[0, 99, 199, 299, 399]])
    np.testing.assert_allclose(
        rows.mean(), np.average(part.Y, axis=0, weights=part.s), rtol=1e-14
    )
