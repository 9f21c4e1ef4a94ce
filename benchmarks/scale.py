"""Votes that never are in memory at once: EP on two Dask workers of 1.5 GiB each.

    python -m benchmarks scale --rows 100000 1000000 10000000 --memory-up-to 1000000

Rows are generated where they are used. Up to `--memory-up-to` rows the same fit is
run in one process as well, on the same votes, and the weights are compared.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks._timing import show
from committee import EPPruner
from committee.ep.chunked_rows import ChunkedProbitRows

MEMBERS = 100


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--chunk", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="1.5GiB")
    parser.add_argument("--memory-up-to", type=int, default=1_000_000)
    options = parser.parse_args(argv)
    table = []
    for n_rows in options.rows:
        sizes = chunk_sizes(n_rows, options.chunk)
        far = on_workers(sizes, options.workers, options.memory_limit)
        near = in_memory(sizes) if n_rows <= options.memory_up_to else None
        table.append(line(n_rows, len(sizes), far, near))
    columns = (
        "N chunks s cpu-s sweeps s/sweep peak-MB kept LOO alone-s cpu-s ratio |dw|"
    )
    show("scale: EP on workers and in memory", columns.split(), table)


def line(n_rows, n_chunks, far, near):
    pruner, seconds, cpu, sweeps, peak = far
    cells = [
        f"{n_rows:,}",
        str(n_chunks),
        f"{seconds:.1f}",
        f"{cpu:.1f}",
        str(len(sweeps)),
        f"{np.median(sweeps):.3f}",
        f"{peak / 1e6:.0f}",
        str(len(pruner.support_)),
        f"{pruner.loo_:.6f}",
    ]
    if near is None:
        return [*cells, "", "", "", ""]
    same, alone, own = near
    gap = np.abs(same.weights_ - pruner.weights_).max()
    ratio = f"{seconds / alone:.2f}"
    return [*cells, f"{alone:.1f}", f"{own:.1f}", ratio, f"{gap:.1e}"]


def chunk_sizes(n_rows, chunk):
    return [min(chunk, n_rows - start) for start in range(0, n_rows, chunk)]


def truth(number, size):
    """Return the classes of one chunk."""
    return np.random.default_rng([1, number]).integers(0, 2, size)


def votes(number, size):
    """Return one chunk of F: members of unequal skill that err on the same rows."""
    rng = np.random.default_rng([2, number])
    skill = np.linspace(0.1, 0.9, MEMBERS)
    ease = rng.normal(size=(size, 1), scale=0.8).astype(np.float32)
    noise = rng.standard_normal((size, MEMBERS), dtype=np.float32)
    right = ease + noise + skill.astype(np.float32) > 0.0
    said = np.where(
        right, truth(number, size)[:, None], 1 - truth(number, size)[:, None]
    )
    return (said[:, :, None] == np.arange(2)).astype(np.float32)


def on_workers(sizes, n_workers, memory_limit):
    """Return the pruner, its time, CPU time, times of sweeps, and a worker's memory."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(warm_up)
        before = cpu_seconds(client)
        F, y = lazy(votes, sizes, (MEMBERS, 2)), lazy(truth, sizes, ())
        spent = timed_sweeps()
        start = time.perf_counter()
        pruner = EPPruner().fit(F, y)
        seconds = time.perf_counter() - start
        cpu = cpu_seconds(client) - before
        peak = max(client.run(peak_bytes).values())
    return pruner, seconds, cpu, spent, peak


def warm_up():
    """Import what the fit needs, as this process has done."""
    import committee.votes  # noqa: F401


def cpu_seconds(client):
    """Return the CPU time of workers, scheduler and client: a busy machine adds none."""
    return time.process_time() + sum(client.run(time.process_time).values())


def lazy(function, sizes, tail):
    """Return a Dask array whose chunks are made by function(number, size)."""
    import dask.array as da
    from dask import delayed

    dtype = np.float32 if tail else np.intp
    made = [delayed(function)(i, n) for i, n in enumerate(sizes)]
    return da.concatenate(
        [
            da.from_delayed(part, (n, *tail), dtype=dtype)
            for part, n in zip(made, sizes, strict=True)
        ]
    )


def timed_sweeps():
    """Let ChunkedProbitRows note how long each of its sweeps takes."""
    spent = []
    original = getattr(ChunkedProbitRows, "untimed", ChunkedProbitRows.sweep)

    def sweep(self, *args):
        start = time.perf_counter()
        result = original(self, *args)
        spent.append(time.perf_counter() - start)
        return result

    ChunkedProbitRows.untimed, ChunkedProbitRows.sweep = original, sweep
    return spent


def peak_bytes():
    """Return the most memory that this process has had.

    getrusage would answer for the process that started it as well.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def in_memory(sizes):
    """Return the pruner, its time and CPU time in this process, votes made here too."""
    start, cpu = time.perf_counter(), time.process_time()
    F = np.concatenate([votes(i, n) for i, n in enumerate(sizes)])
    y = np.concatenate([truth(i, n) for i, n in enumerate(sizes)])
    pruner = EPPruner().fit(F, y)
    return pruner, time.perf_counter() - start, time.process_time() - cpu
