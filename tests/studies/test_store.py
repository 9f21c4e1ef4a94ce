import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from committee.studies.store import Finished, Store
from committee.studies.study import Job


def finished(cell="a", run=0, **numbers):
    return Finished(Job("toy", cell, run), {"paper": numbers}, 0.5, 100.0)


def test_numbers_come_back_as_they_were(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store.add(finished(x=0.1 + 0.2, curve=[1.0, float("nan")], size=3))
    (numbers,) = store.results("toy").rows["paper", "a"].values()
    assert numbers == {"x": 0.1 + 0.2, "curve": [1.0, None], "size": 3}
    cost = store.costs("toy")
    assert (cost["runs"], cost["seconds"], cost["peak_mb"]) == (1, 0.5, 100.0)
    assert "scikit-learn" in cost["versions"][0]


def test_a_run_that_is_there_stays(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store.add(finished(x=1.0))
    store.add(finished(x=2.0))
    assert store.results("toy").values("paper", "a", "x").tolist() == [1.0]


def test_a_run_is_done_under_all_protocols_or_not(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store.add(finished(x=1.0))
    assert store.done("toy", ("paper",)) == {("a", 0)}
    assert store.done("toy", ("paper", "held-out")) == set()


def test_other_protocols_do_not_make_a_run_done(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    both = {"paper": {"x": 1.0}, "of old": {"x": 1.0}}
    store.add(Finished(Job("toy", "a", 0), both, 0.5, None))
    assert store.done("toy", ("paper", "held-out")) == set()
    assert store.done("toy", ("paper",)) == {("a", 0)}


def test_where_data_came_from_is_kept_apart_from_versions(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    for run, source in enumerate(("b.npz", "a.npz", "")):
        job = Job("toy", "a", run)
        store.add(Finished(job, {"paper": {"x": 1.0}}, 0.5, None, source))
    cost = store.costs("toy")
    assert cost["sources"] == ["a.npz", "b.npz"]
    assert len(cost["versions"]) == 1


def test_a_locked_store_is_not_called_broken(tmp_path, monkeypatch):
    path = tmp_path / "s.sqlite"
    store = Store(path)
    store.add(finished(x=1.0))
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, timeout: connect(p, timeout=0.0))
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match=r"cannot be used just now.*locked"):
            store.add(finished(run=1, x=1.0))
    store.add(finished(run=1, x=1.0))
    assert len(store.done("toy", ("paper",))) == 2


def test_a_store_may_be_made_by_several_at_once(tmp_path):
    n_threads, n_stores = 6, 30
    together = Barrier(n_threads)

    def open_all(_):
        for k in range(n_stores):
            together.wait()
            assert Store(tmp_path / f"{k}.sqlite").done("toy", ("paper",)) == set()
        return True

    with ThreadPoolExecutor(n_threads) as pool:
        assert all(pool.map(open_all, range(n_threads)))


def test_the_file_is_in_write_ahead_mode(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path).add(finished(x=1.0))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_corrupted_store_is_one_sentence(tmp_path):
    path = tmp_path / "s.sqlite"
    path.write_text("this is no database, and long enough to be sure of it " * 9)
    with pytest.raises(ValueError, match=r"is not a sound store.*name another file\.$"):
        Store(path).results("toy")


def test_a_store_with_a_broken_page_is_one_sentence(tmp_path):
    path = tmp_path / "s.sqlite"
    store = Store(path)
    store.add(finished(x=[0.5] * 5000))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a sound store"):
        store.results("toy")


def test_a_store_of_another_layout_is_one_sentence(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path).add(finished(x=1.0))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match="has layout 99; this version"):
        Store(path).add(finished(run=1, x=1.0))


def test_a_database_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(ValueError, match="a database of something else"):
        Store(path).results("toy")


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="cannot be opened"):
        Store(tmp_path / "no" / "s.sqlite").results("toy")
