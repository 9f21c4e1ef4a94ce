"""Names, folders, a network that is not there."""

import os
import socket

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from studies import datasets as module
from studies.datasets import load
from tests.reference.data import BESIDE, load_or_skip


@pytest.mark.parametrize("name", [*module.DRAWN, "tic-tac-toe"])
def test_sets_that_need_no_file(name):
    dataset = load(name)
    assert len(dataset.X) == len(dataset.y) == module.DRAWN.get(name, 958)
    assert np.isfinite(dataset.X).all()
    if name in module.generators.SURFACES:
        assert dataset.clean.shape == dataset.y.shape
    else:
        assert np.unique(dataset.y).tolist() == list(range(dataset.y.max() + 1))


@pytest.mark.parametrize("name", module.DRAWN)
def test_same_seed_same_rows(name):
    first, again, other = (load(name, n=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert np.any(first.X != other.X)
    assert len(first.X) == 20


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(
        ValueError, match=r"no data set 'banana', only .*raetsch_banana"
    ):
        load("banana")


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
    assert dataset.y.tolist() == [0, 1, 0, 1, 1, 0]


def test_the_folder_may_come_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    assert load("boston").y.tolist() == np.linspace(5, 50, 6).tolist()


def test_an_archive_without_the_arrays_says_which(folder):
    with pytest.raises(
        ValueError, match=r"must contain the arrays X and y.*Got \['Z'\]"
    ):
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
    with pytest.raises(FileNotFoundError, match="set COMMITTEE_DATA or give --data"):
        load("raetsch_banana", data=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"banana.npz and no folder was given"):
        load("raetsch_banana")


@pytest.mark.parametrize(
    ("name", "target", "y"),
    [
        ("australian", np.array(["yes", "no", "yes"], dtype=object), [1, 0, 1]),
        ("boston", np.array(["24.0", "21.6", "20"]), [24.0, 21.6, 20.0]),
    ],
)
def test_openml_answers_where_there_is_no_file(tmp_path, monkeypatch, name, target, y):
    bunch = Bunch(data=np.ones((3, 13), dtype=object), target=target)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **options: bunch)
    dataset = load(name, data=tmp_path)
    assert dataset.y.tolist() == y
    assert dataset.X.dtype == np.float64
    assert dataset.source.startswith("OpenML")


@pytest.mark.parametrize(
    ("name", "shape"),
    [("boston", (506, 13)), ("australian", (690, 14)), ("adult", (48842, 14)),
     ("raetsch_banana", (5300, 2))],
)  # fmt: skip
def test_the_real_files_have_their_known_sizes(name, shape):
    load_or_skip(name)
    assert load(name, data=os.environ.get("COMMITTEE_DATA", BESIDE)).X.shape == shape
