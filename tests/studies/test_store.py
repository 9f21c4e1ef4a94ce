import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import numpy as np
import pytest

from studies.store import Finished, Store
from studies.study import Job


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.sqlite"


@pytest.fixture
def store(path):
    return Store(path)


def finished(run=0, **numbers):
    return Finished(Job("toy", "a", run), {"paper": numbers}, 0.5, 100.0, "a.npz")


def test_numbers_come_back_as_they_were(store):
    store.add(finished(x=0.1 + 0.2, curve=np.array([1.0, np.nan]), size=np.int64(3)))
    results = store.results("toy")
    assert results.rows["paper", "a"][0]["size"] == 3
    assert results.values("paper", "a", "x").tolist() == [0.1 + 0.2]
    np.testing.assert_array_equal(results.values("paper", "a", "curve"), [[1, np.nan]])
    (cost,) = store.costs("toy").itertuples()
    assert (cost.seconds, cost.peak_mb) == (0.5, 100.0)
    assert "scikit-learn" in cost.versions
    assert "a.npz" in cost.versions


def test_a_run_that_is_there_stays(store):
    store.add(finished(x=1.0))
    store.add(finished(x=2.0))
    assert store.results("toy").values("paper", "a", "x").tolist() == [1.0]


def test_a_run_is_done_under_all_protocols_or_not(store):
    both = {"paper": {"x": 1.0}, "of old": {"x": 1.0}}
    store.add(Finished(Job("toy", "a", 0), both, 0.5, None))
    assert store.done("toy", ("paper",)) == {("a", 0)}
    assert store.done("toy", ("paper", "held-out")) == set()


def test_a_store_may_be_made_by_several_at_once(tmp_path):
    n_threads, n_stores = 4, 10
    barrier = Barrier(n_threads)

    def open_all(_):
        for k in range(n_stores):
            barrier.wait()
            assert Store(tmp_path / f"{k}.sqlite").done("toy", ("paper",)) == set()
        return True

    with ThreadPoolExecutor(n_threads) as pool:
        assert all(pool.map(open_all, range(n_threads)))


def test_a_locked_store_is_not_called_broken(path, store, monkeypatch):
    store.add(finished(x=1.0))
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, timeout: connect(p, timeout=0.0))
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match=r"cannot be used.*locked"):
            store.add(finished(run=1, x=1.0))
    store.add(finished(run=1, x=1.0))
    assert len(store.done("toy", ("paper",))) == 2


def test_a_file_that_is_no_database_is_one_sentence(path, store):
    path.write_text("this is no database, and long enough to be sure of it " * 9)
    with pytest.raises(ValueError, match=r"is not a sound store.*name another file\.$"):
        store.results("toy")


def test_a_store_with_a_broken_page_is_one_sentence(path, store):
    store.add(finished(x=[0.5] * 5000))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a sound store"):
        store.results("toy")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("PRAGMA user_version = 99", "has layout 99; this version"),
        ("PRAGMA application_id = 0", "a database of something else"),
    ],
)
def test_another_layout_or_database_is_left_alone(path, store, command, message):
    store.add(finished(x=1.0))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(command)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        store.add(finished(run=1, x=1.0))
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be used.*its folder"):
        Store(tmp_path / "no" / "s.sqlite").results("toy")
