"""Estimators of cells on Dask collections: the answers of memory, lazily."""

import pickle

import numpy as np
import pytest

from committee import CellKernelClassifier, CellKernelRegressor, load, save
from tests.coupled.test_chunked_rows import GIVEN, N, holes, labels, spread, waves
from tests.distributed.test_cluster import deadly_rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("committee.cells.groups._GROUP_ROWS", 40)


def problems():
    """Return estimators and rows of one target, two, two classes and three."""
    kinds = [CellKernelRegressor] * 2 + [CellKernelClassifier] * 2
    return zip(kinds, [waves(), waves(2), labels(2), labels(3)], strict=True)


def test_the_answers_of_memory():
    s = np.random.default_rng(0).uniform(0.5, 2.0, N)
    s[:40] = 0.0  # a whole chunk that counts for nothing
    s[::7] = 0.0
    for kind, (X, y) in problems():
        expected = kind(**GIVEN).fit(X, y, s)
        lazy = spread(X, (30, 0, 50, 50))
        found = kind(**GIVEN).fit(lazy, spread(y, 40), spread(s, 65))
        assert found.loo_error_ == pytest.approx(expected.loo_error_, rel=1e-9)
        assert found.n_iter_ == expected.n_iter_
        np.testing.assert_array_equal(found.coupling_points_, expected.coupling_points_)
        for method in ("predict", "predict_proba", "decision_function"):
            if not hasattr(expected, method):
                continue
            here = getattr(found, method)(X)
            there = getattr(found, method)(spread(X, 50))
            assert isinstance(there, da.Array)
            memory = getattr(expected, method)(X)
            assert there.shape == memory.shape
            if memory.dtype.kind == "U":
                np.testing.assert_array_equal(here, memory)
                np.testing.assert_array_equal(there.compute(), memory)
            else:
                np.testing.assert_allclose(here, memory, atol=1e-9)
                np.testing.assert_allclose(there, memory, atol=1e-9)


def test_a_learned_metric():
    X, y = waves()
    given = {**GIVEN, "metric": "learned"}
    expected = CellKernelRegressor(**given).fit(X, y)
    found = CellKernelRegressor(**given).fit(spread(X, 30), spread(y, 30))
    assert expected.metric_ is not None
    np.testing.assert_allclose(found.metric_, expected.metric_, rtol=1e-12)
    # Blocks of X R may round otherwise than all of it.
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-8)
    np.testing.assert_allclose(
        found.predict(spread(X, 50)), expected.predict(X), atol=1e-8
    )


def test_frames_of_unknown_sizes():
    X, y = labels(3)
    plain = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "s": 1.0 + np.arange(N)})
    lazy = dd.from_pandas(plain, npartitions=4)
    some, kept, names = lazy[lazy.a > -2.5], plain[plain.a > -2.5], ["a", "b"]
    expected = CellKernelClassifier(**GIVEN).fit(kept[names], kept["y"], kept["s"])
    found = CellKernelClassifier(**GIVEN).fit(some[names], some["y"], some["s"])
    np.testing.assert_array_equal(found.feature_names_in_, names)
    np.testing.assert_array_equal(
        found.predict(lazy[names]), expected.predict(plain[names])
    )
    score = expected.score(plain[names], plain["y"], plain["s"])
    assert found.score(lazy[names], lazy["y"], lazy["s"]) == pytest.approx(score)


def test_copies_and_files_have_the_whole_model(tmp_path):
    X, y = waves()
    model = CellKernelRegressor(**GIVEN).fit(spread(X, 30), spread(y, 30))
    save(model, tmp_path / "model.skops")
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.skops")):
        np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


def test_how_sure_they_are():
    X, y = waves()
    expected = CellKernelRegressor(**GIVEN).fit(X, y)
    found = CellKernelRegressor(**GIVEN).fit(spread(X, 30), spread(y, 30))
    assert found.noise_ == pytest.approx(expected.noise_)
    np.testing.assert_allclose(
        found.predict(X, return_std=True)[1], expected.predict(X, True)[1], rtol=1e-8
    )
    lazy = spread(X, 50)
    np.testing.assert_allclose(
        found.predict_interval(lazy, method="constant"),
        expected.predict_interval(X, method="constant"),
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        found.predict(lazy, return_std=True)[1], expected.predict(X, True)[1], rtol=1e-8
    )
    np.testing.assert_allclose(
        found.predict_interval(lazy), expected.predict_interval(X), rtol=1e-8
    )


def test_sets_of_classes():
    X, y = labels(3)
    expected = CellKernelClassifier(**GIVEN).fit(X, y)
    found = CellKernelClassifier(**GIVEN).fit(spread(X, 30), spread(y, 30))
    np.testing.assert_array_equal(
        found.predict_set(spread(X, 50)), expected.predict_set(X)
    )


def test_every_cell_on_every_row():
    X, y = waves()
    model = CellKernelRegressor(**GIVEN).fit(spread(X, 30), spread(y, 30))
    lazy = model.member_predictions(spread(X, 30))
    np.testing.assert_allclose(lazy, model.member_predictions(X), rtol=1e-12)


def test_rows_that_cannot_be_predicted_name_the_chunk():
    X, y = waves()
    model = CellKernelRegressor(**GIVEN).fit(spread(X, 30), spread(y, 30))
    with pytest.raises(ValueError, match=r"^Chunk 3: Input X contains NaN"):
        model.predict(spread(holes(X), 30)).compute()
    with pytest.raises(ValueError, match=r"X has 1 features, but .* expecting 2"):
        model.predict(spread(X[:, :1], 30))


def test_a_second_fit_in_memory_leaves_nothing_of_the_first():
    X, y = waves()
    model = CellKernelRegressor(**GIVEN).fit(spread(X, 30), spread(y, 30))
    assert not hasattr(model, "subsets_")
    model.fit(X, y)
    assert len(np.concatenate(model.subsets_)) == N
    model.fit(spread(X, 30), spread(y, 30))
    assert not hasattr(model, "subsets_")


@pytest.mark.slow
def test_worker_processes_give_the_answers_of_memory(two_workers):
    for kind, (X, y) in problems():
        expected = kind(**GIVEN).fit(X, y).predict(X)
        found = kind(**GIVEN).fit(spread(X, (40, 0, 77, 13)), spread(y, 60))
        predicted = found.predict(spread(X, 50)).compute()
        if expected.dtype.kind == "U":
            np.testing.assert_array_equal(predicted, expected)
        else:
            np.testing.assert_allclose(predicted, expected, atol=1e-8)


@pytest.mark.slow
def test_a_worker_killed_while_rows_are_read(two_workers, tmp_path):
    X, y = waves()
    mark = tmp_path / "killed"
    model = CellKernelRegressor(**GIVEN)
    found = model.fit(deadly_rows(X, 30, mark), spread(y, 30)).predict(X)
    assert mark.exists()
    expected = CellKernelRegressor(**GIVEN).fit(X, y).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-8)
