import numpy as np
import pytest

from committee.cells.model import rows_of_groups
from committee.cells.train import train
from committee.distributed import each
from tests.cells.chunks import in_chunks, options, surface

pytest.importorskip("dask")


@pytest.fixture
def training(monkeypatch):
    monkeypatch.setattr("committee.cells.row_chunks._GROUP_ROWS", 60)
    return train(in_chunks(surface()), options())


@pytest.fixture
def model(training):
    return training.model


def test_groups_predict_as_the_whole(model):
    X = surface(n=300, seed=1).X
    expected = model.gathered().predict(X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12, atol=1e-12)
    bounds = [(0, 0), (0, 1), (1, 300)]
    answers = model.predict_blocks(each([X[a:b] for a, b in bounds])).values()
    for f, (a, b) in zip(answers, bounds, strict=True):
        np.testing.assert_allclose(f, expected[a:b], rtol=1e-12, atol=1e-12)


def test_a_group_is_asked_about_the_rows_of_its_cells_only(model):
    X = surface(n=300, seed=1).X
    shares = model.tree.shares(X, model.width)
    asked = rows_of_groups(X, model.tree, model.width, model.firsts)
    assert sum(len(own.shares.rows) for own in asked) == len(shares.rows)
    assert max(len(own.X) for own in asked) < len(X)
    for g, own in enumerate(asked):
        cells = own.shares.cells + model.firsts[g]
        assert np.all(cells < model.firsts[g + 1])
        np.testing.assert_array_equal(own.X, X[own.numbers])


def test_the_size_is_that_of_points_and_coefficients(model):
    whole = model.gathered()
    assert model.n_bytes == whole.points.nbytes + whole.coef.nbytes


def test_groups_are_as_sure_as_the_whole(training):
    X = surface(n=300, seed=1).X
    whole = training.variance.gathered().std(training.model.gathered(), X)
    found = training.variance.kept().std(training.model, X)
    np.testing.assert_allclose(found, whole, rtol=1e-9)
