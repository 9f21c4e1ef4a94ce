"""Real worker processes: the same answers, also when one of them is killed."""

import os
import signal
import warnings

import numpy as np
import pytest

from committee import (
    ARDPruner,
    EPPruner,
    LeastSquares,
    OptimalWeights,
    SimplexWeights,
)
from committee.distributed.collections import map_rows

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

N, M = 600, 10


def votes(seed=0):
    """F (N, M, 2) of votes, and codes y."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    right = rng.random((N, M)) < np.linspace(0.55, 0.8, M)
    predicted = np.where(right, y[:, None], 1 - y[:, None])
    return (predicted[:, :, None] == np.arange(2)).astype(np.float64), y


def numbers(seed=0):
    """F (N, M) and y of a regression."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=N)
    return y[:, None] + np.linspace(0.3, 2.0, M) * rng.normal(size=(N, M)), y


def spread(array, rows):
    return da.from_array(array, chunks=(rows, *array.shape[1:]))


def assert_same(found, expected):
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)
    if hasattr(expected, "path_"):
        for name in ("weights", "error", "error_se", "log_evidence"):
            np.testing.assert_allclose(
                getattr(found.path_, name),
                getattr(expected.path_, name),
                rtol=1e-8,
                atol=1e-8,
            )


@pytest.mark.parametrize("problem", [votes, numbers])
@pytest.mark.parametrize(
    "kind", [OptimalWeights, SimplexWeights, LeastSquares, EPPruner, ARDPruner]
)
def test_workers_find_the_weights_of_memory(two_workers, kind, problem):
    F, y = problem()
    found = kind().fit(spread(F, (200, 0, 350, 50)), da.from_array(y, 250))
    assert_same(found, kind().fit(F, y))


def deadly_rows(F, rows, mark):
    """Rows of which one block kills the worker that makes it, once."""

    def deadly(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return spread(F, rows).map_blocks(deadly, dtype=F.dtype, meta=np.empty((0, 0)))


def kill_a_worker(client):
    """Kill the process of a worker that holds rows."""
    pids = client.run(os.getpid)
    held = client.has_what()
    victim = max(pids, key=lambda address: len(held.get(address, ())))
    os.kill(pids[victim], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "problem"), [(1, numbers), (2, votes)], indirect=["client"]
)
def test_a_worker_killed_in_the_middle_of_ep(client, problem, monkeypatch):
    F, y = problem()
    steps = []

    def killer():
        def callback(step):
            steps.append(step)
            if len(steps) == 3:
                kill_a_worker(client)

        return callback

    expected = EPPruner().fit(F, y)
    monkeypatch.setattr("committee.combiners.ep_pruner.step_printer", killer)
    found = EPPruner(verbose=True).fit(spread(F, 100), da.from_array(y, 100))
    assert_same(found, expected)
    assert len(steps) >= 3


def test_a_worker_killed_in_the_middle_of_moments(client, tmp_path):
    F, y = numbers()
    mark = tmp_path / "killed"
    found = SimplexWeights().fit(deadly_rows(F, 100, mark), da.from_array(y, 100))
    assert mark.exists()
    assert_same(found, SimplexWeights().fit(F, y))


@pytest.mark.slow
def test_a_large_model_travels_without_a_warning(two_workers):
    """Dask warns of graphs above 10 MB; ours hold a model once, on purpose."""
    F, y = numbers()
    heavy = np.zeros(2_000_000)
    lazy = map_rows(lambda block, _: block, spread(F, 200), (M,), np.float64, heavy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SimplexWeights().fit(lazy, da.from_array(y, 200))
    assert_same(found, SimplexWeights().fit(F, y))
