"""Coupled fits by worker processes: the same answer, also when one of them is killed."""

import os
import pickle
import signal

import numpy as np
import pytest

from committee import CoupledKernelClassifier, CoupledKernelRegressor
from committee.coupled import Layout
from committee.coupled.rows import Rows
from committee.coupled.segments import (
    Job,
    _eliminated,
    _reduced,
    n_segments,
    n_threads,
)
from committee.kernels import Kernel
from committee.linalg.substructure import cut_segments
from tests.coupled.test_chunked_rows import assert_same, labels, spread, waves
from tests.distributed.test_cluster import deadly_rows

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.parametrize("topology", ["ring", "chain"])
def test_workers_find_the_submodels_of_memory(two_workers, topology):
    for kind, (X, y) in [
        (CoupledKernelRegressor, waves(2)),
        (CoupledKernelClassifier, labels(3)),
    ]:
        options = {"topology": topology, "weigh_on": "held-out", "random_state": 0}
        expected = kind(13, **options).fit(X, y)
        found = kind(13, **options).fit(spread(X, (40, 0, 77, 13)), spread(y, 60))
        assert_same(found, expected, X)
        predicted = found.predict(spread(X, 50))
        assert isinstance(predicted, da.Array)
        if kind is CoupledKernelRegressor:
            np.testing.assert_allclose(predicted, expected.predict(X), atol=1e-8)
        else:
            np.testing.assert_array_equal(predicted, expected.predict(X))


def deadly_kernel(folder, at):
    """A kernel that kills the worker which makes the block of number `at`, once."""
    here = os.getpid()
    calls, mark = folder / "calls", folder / "killed"

    def kernel(X, Z):
        if os.getpid() != here:
            with calls.open("ab") as log:
                log.write(b".")
            if calls.stat().st_size >= at and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return (1.0 + X @ Z.T) ** 2

    return kernel


@pytest.mark.slow
@pytest.mark.parametrize("when", [0.4, 0.9], ids=["eliminating", "going back"])
def test_a_worker_killed_in_the_middle_of_a_coupled_solve(two_workers, when, tmp_path):
    X, y = waves()
    options = {"alpha": 0.1, "random_state": 0}
    no_failure = tmp_path / "no_failure"
    no_failure.mkdir()
    model = CoupledKernelRegressor(
        12, kernel=deadly_kernel(no_failure, np.inf), **options
    )
    expected = model.fit(X, y).dual_coef_
    found = model.fit(spread(X, 30), spread(y, 30)).dual_coef_
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    n_calls = (no_failure / "calls").stat().st_size

    kernel = deadly_kernel(tmp_path, int(when * n_calls))
    model = CoupledKernelRegressor(12, kernel=kernel, **options)
    found = model.fit(spread(X, 30), spread(y, 30)).dual_coef_
    assert (tmp_path / "killed").exists()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_a_worker_killed_while_rows_are_read(two_workers, tmp_path):
    X, y = waves()
    mark = tmp_path / "killed"
    lazy = deadly_rows(X, 30, mark)
    found = CoupledKernelRegressor(12, random_state=0).fit(lazy, spread(y, 30))
    assert mark.exists()
    assert_same(found, CoupledKernelRegressor(12, random_state=0).fit(X, y), X)


def test_one_segment_for_each_thread_but_no_short_ones(two_workers):
    assert [n_segments(q) for q in (1, 3, 7, 8, 100)] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("q", [1, 4, 16, 96, 1000])
def test_the_join_does_not_grow_beyond_a_segment(q, monkeypatch):
    monkeypatch.setattr("committee.coupled.segments.n_threads", lambda: 10**6)
    S = n_segments(q)
    assert max(1, min(q // 4, np.sqrt(q) - 1)) <= S <= max(1, np.sqrt(q) + 1)


class Client:
    """As much of a client as the number of its threads takes."""

    def __init__(self, asynchronous, threads):
        self.asynchronous, self.threads = asynchronous, threads

    def get(self):
        """Do what a client does when Dask computes; its owner is the client."""

    def ncores(self):
        assert not self.asynchronous
        return self.threads


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (Client(True, None), os.cpu_count()),
        (Client(False, {}), os.cpu_count()),
        (Client(False, {"one": 3, "two": 4}), 7),
    ],
    ids=["asynchronous", "no workers", "two workers"],
)
def test_threads_of_the_cluster(client, expected, monkeypatch):
    monkeypatch.setattr("dask.base.get_scheduler", lambda: client.get)
    assert n_threads() == expected


@pytest.mark.parametrize("topology", ["ring", "chain"])
def test_three_blocks_are_all_that_leaves_a_segment(topology):
    """The more so, the longer it is: kernel blocks and factors stay."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    rows = Rows(X, X[:, 0], X[:, :1], None)
    job = Job(Kernel("rbf"), X[:30], Layout(20, topology), 1.0, 1.0, X[:5])
    owner = np.repeat(np.arange(20), 20)
    m = 3 * 20  # rows of a block
    for segment in cut_segments(20, 2, ring=topology == "ring"):
        done = _eliminated(job, segment, owner, rows)
        sent, all_of_it = (len(pickle.dumps(v)) for v in (_reduced(done), done))
        assert sent < 8 * (3 * m * m + 2 * m) + 2000
        assert all_of_it > 5 * sent
