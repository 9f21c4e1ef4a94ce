"""A scheduler that goes away in the middle of a fit."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from committee import EPPruner

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

SERVE = """
import signal
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    print(cluster.scheduler_address, flush=True)
    signal.pause()
"""


@pytest.fixture
def server(tmp_path):
    """A scheduler and a worker in processes of their own."""
    script = tmp_path / "serve.py"
    script.write_text(SERVE)
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    yield process
    stop(process)


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.filterwarnings("ignore")  # those of the closing client
def test_a_scheduler_that_goes_away_and_a_new_start(server, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    right = rng.random((600, 10)) < np.linspace(0.55, 0.8, 10)
    F = 1.0 * ((right == (y == 1)[:, None])[:, :, None] == np.arange(2))
    lazy = da.from_array(F, chunks=(200, 10, 2)), da.from_array(y, 200)
    folder, steps = tmp_path / "sweeps", []

    def breaker():
        def callback(step):
            steps.append(step)
            if len(steps) == 3:
                stop(server)

        return callback

    # The timeout is also how long a client waits for its scheduler to come back.
    client = distributed.Client(server.stdout.readline().strip(), timeout=4)
    with monkeypatch.context() as patch:
        patch.setattr("committee.combiners.ep_pruner.step_printer", breaker)
        with pytest.raises(
            RuntimeError, match="connection to the Dask scheduler was lost"
        ):
            EPPruner(verbose=True, checkpoint=folder).fit(*lazy)
    client.close(timeout=1)
    before = len(list(folder.glob("*.npz")))
    found = EPPruner(checkpoint=folder).fit(*lazy)
    expected = EPPruner().fit(F, y)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)
    assert found.loo_ == pytest.approx(expected.loo_, rel=1e-8)
    assert 0 < before < len(list(folder.glob("*.npz")))
