"""One door to all data: names, folders, a network that is not there."""

import os
import socket

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

import committee
from committee.studies import datasets as module
from committee.studies import load, names
from tests.reference.data import BESIDE, load_or_skip

HERE = [*module.DRAWN, "tic-tac-toe", *module.BUNDLED]


def test_the_module_is_at_hand_without_an_import_of_its_own():
    assert committee.studies.load is load


def test_names_are_sorted_and_cover_the_studies():
    assert names() == sorted(set(names()))
    for name in ("sinc", "friedman", "gabor", "multi", "plane", "polynomial", "sine",
                 "twonorm", "ringnorm", "waveform", "tic-tac-toe", "poker", "boston",
                 "australian", "adult", "raetsch_banana"):  # fmt: skip
        assert name in names()
    assert len(module.RAETSCH) == 13


@pytest.mark.parametrize("name", HERE)
def test_sets_that_need_no_file(name):
    dataset = load(name)
    assert dataset.name == name
    assert len(dataset.X) == len(dataset.y) == module.DRAWN.get(name, len(dataset.X))
    assert dataset.X.dtype == np.float64
    assert np.isfinite(dataset.X).all()
    if dataset.task == "classification":
        assert dataset.y.dtype == np.intp
        assert np.unique(dataset.y).tolist() == list(range(dataset.y.max() + 1))
    else:
        assert dataset.y.dtype == np.float64


@pytest.mark.parametrize("name", module.DRAWN)
def test_same_seed_same_rows(name):
    first, again, other = (load(name, n=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert np.any(first.X != other.X)
    assert len(first.X) == 20
    assert first.source == "drawn with seed 3"


def test_few_rows_keep_the_codes_of_their_classes():
    """A hand of one pair is class 1, also where no other hand was dealt."""
    codes = {int(load("poker", n=1, seed=seed).y[0]) for seed in range(20)}
    assert codes >= {0, 1}
    assert {int(load("waveform", n=1, seed=s).y[0]) for s in range(20)} == {0, 1, 2}


def test_clean_targets_of_the_regressions_are_kept():
    dataset = load("plane", n=2000)
    np.testing.assert_allclose(dataset.clean, dataset.X @ [0.6, 0.3])
    assert np.std(dataset.y - dataset.clean) == pytest.approx(0.0645, rel=0.1)
    assert load("twonorm", n=10).clean is None


@pytest.mark.parametrize(
    ("name", "n", "message"),
    [
        ("friedmann", None, "no data set 'friedmann'; do you mean friedman"),
        ("banana", None, "raetsch_banana"),
        ("iris", 50, "'iris' has as many rows as it has"),
        ("sinc", 0, "n must be at least 1 row. Got 0"),
    ],
)
def test_wrong_requests_say_what_is_right(name, n, message):
    with pytest.raises(ValueError, match=message):
        load(name, n=n)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with three small archives in the three layouts."""
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.savez(
        tmp_path / "raetsch_banana.npz",
        X=X,
        y=np.array([-1, 1, 1, -1, 1, -1], dtype=np.int8),
        train_idx=np.array([[0, 1, 1], [2, 3, 4]], dtype=np.int16),
        test_idx=np.array([[2, 3, 5], [0, 1, 5]], dtype=np.int16),
    )
    np.savez(
        tmp_path / "adult.npz",
        X_train=X[:4],
        y_train=[0, 1, 0, 1],
        X_test=X[4:],
        y_test=[1, 0],
        categorical=[True, False],
    )
    np.savez(tmp_path / "boston.npz", X=X, y=np.linspace(5, 50, 6))
    np.savez(tmp_path / "australian.npz", Z=X)
    return tmp_path


def test_fixed_splits_come_with_the_set(folder):
    dataset = load("raetsch_banana", data=folder)
    assert dataset.y.tolist() == [0, 1, 1, 0, 1, 0]
    assert dataset.train[0].tolist() == [0, 1, 1]
    assert dataset.X[dataset.test[1]].tolist() == [[0, 1], [2, 3], [10, 11]]
    assert dataset.source.endswith("raetsch_banana.npz")


def test_a_published_split_becomes_one_of_one(folder):
    dataset = load("adult", data=str(folder))
    assert dataset.train.tolist() == [[0, 1, 2, 3]]
    assert dataset.test.tolist() == [[4, 5]]
    assert dataset.categorical.tolist() == [True, False]
    assert dataset.y.tolist() == [0, 1, 0, 1, 1, 0]


def test_the_folder_may_come_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    dataset = load("boston")
    assert dataset.task == "regression"
    assert dataset.y.tolist() == np.linspace(5, 50, 6).tolist()


def test_an_archive_without_the_arrays_says_which(folder):
    with pytest.raises(ValueError, match=r"must hold the arrays X and y.*Got \['Z'\]"):
        load("australian", data=folder)


def _no_network(*address, **options):
    raise OSError("no route to host")


def test_without_file_and_network_one_sentence_says_how_to_get_it(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    with pytest.raises(FileNotFoundError, match="OpenML, where it is number 531, did"):
        load("boston", data=tmp_path)
    with pytest.raises(FileNotFoundError, match="set COMMITTEE_DATA or pass data="):
        load("raetsch_banana", data=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"banana.npz and no folder was given"):
        load("raetsch_banana")


def test_openml_answers_where_there_is_no_file(tmp_path, monkeypatch):
    def fetch(**options):
        assert options["data_id"] == 40981
        return Bunch(
            data=np.array([[0.0, 1.5], [1.0, np.nan], [0.0, 2.5]]),
            target=np.array(["yes", "no", "yes"], dtype=object),
            feature_names=["A1", "A2"],
            categories={"A1": ["a", "b"]},
        )

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    dataset = load("australian", data=tmp_path)
    assert dataset.y.tolist() == [1, 0, 1]
    assert dataset.categorical.tolist() == [True, False]
    assert dataset.source == "OpenML 40981"


def test_boston_from_openml_is_a_regression(tmp_path, monkeypatch):
    bunch = Bunch(
        data=np.ones((2, 13), dtype=object), target=np.array(["24.0", "21.6"])
    )
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    dataset = load("boston", data=tmp_path)
    assert dataset.task == "regression"
    assert dataset.y.tolist() == [24.0, 21.6]
    assert dataset.X.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [("boston", 506, 13), ("australian", 690, 14), ("adult", 48842, 14),
     ("raetsch_banana", 5300, 2), ("poker-hand", 43498, 10)],
)  # fmt: skip
def test_the_real_files_have_their_known_sizes(name, rows, columns):
    load_or_skip(name)
    dataset = load(name, data=os.environ.get("COMMITTEE_DATA", BESIDE))
    assert dataset.X.shape == (rows, columns)
