"""Cells of rows in chunks: the answers of memory, whatever the chunks and groups."""

import numpy as np
import pytest

from committee.cells import train_cells
from committee.cells.choose import Part
from committee.cells.train import train
from committee.linalg import NotPositiveDefiniteError
from tests.cells.chunks import in_chunks, options, surface

pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("committee.cells.groups._GROUP_ROWS", 60)


def assert_same(found, expected):
    """What is not rounded is equal, the rest to 1e-8 of its size."""
    one, two = found.model, expected.model
    assert (found.coupling, found.alpha) == (expected.coupling, expected.alpha)
    assert found.errors == pytest.approx(expected.errors, rel=1e-9, nan_ok=True)
    assert one.kernel == two.kernel
    for name in ("centre", "directions", "thresholds", "children"):
        np.testing.assert_array_equal(getattr(one.tree, name), getattr(two.tree, name))
    for name in ("points", "starts", "n_rows", "width"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-8 * np.abs(two.coef).max())
    np.testing.assert_allclose(one.offset, two.offset, rtol=1e-12)
    _assert_same_variance(found.variance, expected.variance)
    assert found.joint.n_iter == expected.joint.n_iter
    for one, two in zip(found.measured, expected.measured, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.left_out.f, expected.left_out.f, atol=1e-7)
    np.testing.assert_allclose(
        found.left_out.variance, expected.left_out.variance, rtol=1e-8
    )


def _assert_same_variance(one, two):
    for name in ("ridge", "scale", "noise"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-10)
    for G, expected in zip(one.precision, two.precision, strict=True):
        np.testing.assert_allclose(G, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "couplings",
    [(0.0, 1.0, 10.0), (0.0,), (-0.001,)],
    ids=["chosen", "none", "negative"],
)
def test_the_training_of_memory(couplings):
    part, o = surface(), options(couplings=couplings)
    assert_same(train(in_chunks(part), o), train_cells(*part, o))


@pytest.mark.parametrize("group_rows", [30, 10**6], ids=["a cell each", "one group"])
@pytest.mark.parametrize("cuts", [(), (1, 2, 3, 399)], ids=["one chunk", "ragged"])
def test_chunks_and_groups_do_not_matter(group_rows, cuts, monkeypatch):
    monkeypatch.setattr("committee.cells.groups._GROUP_ROWS", group_rows)
    part = surface(T=1)
    found = train(in_chunks(part, cuts), options())
    assert_same(found, train_cells(*part, options()))


def test_everything_is_chosen_as_in_memory():
    part = surface(n=1200, T=1)
    o = options(max_cell=100, kernel=None, gamma=None, alpha=None)
    found = train(in_chunks(part, (500, 501)), o)
    assert_same(found, train_cells(*part, o))


def test_a_coupling_without_a_minimum_states_the_limit():
    part, o = surface(T=1), options(couplings=(-100.0,))
    with pytest.raises(
        NotPositiveDefiniteError, match=r"must be above -0\.1"
    ) as memory:
        train_cells(*part, o)
    with pytest.raises(NotPositiveDefiniteError) as chunks:
        train(in_chunks(part), o)
    assert str(chunks.value) == str(memory.value)


@pytest.mark.parametrize("alike", [200, 400])
def test_rows_that_are_all_alike_are_one(alike):
    part = surface(T=1)
    X = part.X.copy()
    X[:alike] = X[0]
    part = Part(X, part.Y, part.s)
    found = train(in_chunks(part), options())
    assert_same(found, train_cells(*part, options()))


def test_few_rows_decide_the_top_of_the_tree_of_many(monkeypatch):
    """Then it is another tree, and as good a model."""
    monkeypatch.setattr("committee.cells.groups.SAMPLE_ROWS", 100)
    part, new = surface(T=1), surface(n=500, T=1, seed=1)
    found = train(in_chunks(part), options()).model
    expected = train_cells(*part, options()).model
    assert not np.array_equal(found.tree.thresholds, expected.tree.thresholds)
    errors = [np.mean((m.predict(new.X) - new.Y) ** 2) for m in (found, expected)]
    assert errors[0] == pytest.approx(errors[1], rel=0.2)
