"""Clusters that lose all their workers."""

import pytest

from committee import SimplexWeights
from committee.distributed import chunks
from tests.distributed.test_cluster import assert_same, deadly_rows, numbers

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


class Shrunk:
    """A local cluster that has closed some of its workers."""

    def __init__(self, workers):
        self.workers = dict.fromkeys(range(workers))
        self.worker_spec = dict.fromkeys(range(3))

    def scale(self, n):
        self.workers = dict.fromkeys(range(n))


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_cluster_that_has_shrunk_starts_its_workers_again(left, monkeypatch):
    client = Alone()
    client.cluster = Shrunk(left)
    monkeypatch.setattr("distributed.wait", lambda futures, timeout: None)
    chunks.wait_for_workers_too(client, [])
    assert len(client.cluster.workers) == 3


@pytest.mark.slow
@pytest.mark.parametrize("client", [1], indirect=True)
def test_a_cluster_that_has_closed_its_last_worker(client, tmp_path, monkeypatch):
    """Dask closes a worker for good that is not back in time: 15 s as a rule."""
    F, y = numbers()
    mark = tmp_path / "killed"
    monkeypatch.setattr(chunks, "_LOOK_EVERY", 0.5)
    impatient = {"distributed.deploy.lost-worker-timeout": "1 ms"}
    with dask.config.set(impatient):
        found = SimplexWeights().fit(deadly_rows(F, 100, mark), da.from_array(y, 100))
    assert mark.exists()
    assert_same(found, SimplexWeights().fit(F, y))


class Alone:
    """A client that has lost its workers."""

    cluster = None
    threads = ({"one": 1}, {})

    def ncores(self):
        first, *rest = self.threads
        self.threads = rest or [first]
        return first


def test_workers_that_never_come_back_are_an_error(monkeypatch):
    def not_yet(futures, timeout):
        raise TimeoutError

    monkeypatch.setattr("distributed.wait", not_yet)
    monkeypatch.setattr(chunks, "_PATIENCE", -1.0)
    with pytest.raises(RuntimeError, match=r"All Dask workers were lost, and none has"):
        chunks.wait_for_workers_too(Alone(), [])
