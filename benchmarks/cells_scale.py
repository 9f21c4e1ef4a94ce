"""Kernel machines in cells on two Dask workers, beside one process that has all rows.

    python -m benchmarks cells-scale --rows 100000 300000 1000000 --memory-up-to 1000000

Rows of a smooth surface in ten columns are made where they are used; errors are those of
20,000 others. Seconds of a busy machine mean little: CPU seconds are beside them.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from benchmarks._timing import show
from benchmarks.scale import chunk_sizes, cpu_seconds, peak_bytes
from committee import CellKernelRegressor

COLUMNS = 10
TEST = 20_000


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cells-scale")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[10**5, 3 * 10**5, 10**6]
    )
    parser.add_argument("--chunk", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="3GiB")
    parser.add_argument("--memory-up-to", type=int, default=10**6)
    parser.add_argument("--max-cell", type=int, default=1500)
    options = parser.parse_args(argv)
    table = []
    for n_rows in options.rows:
        sizes = chunk_sizes(n_rows, options.chunk)
        far = on_workers(sizes, options)
        near = [None] * 5
        if n_rows <= options.memory_up_to:
            # A process of its own, whose peak is its own.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                near = pool.submit(in_memory, sizes, options.max_cell).result()
        table.append(line(n_rows, len(sizes), far, near))
    columns = "N chunks place fit-s cpu-s predict-s peak-MB RMSE"
    rows = [row for pair in table for row in pair]
    show("cells: two workers, and one process", columns.split(), rows)


def line(n_rows, n_chunks, far, near):
    """Return two lines: of the workers, whose peak is the largest of one, and of memory."""
    lines = []
    for place, numbers in (("workers", far), ("memory", near)):
        if numbers[0] is not None:
            fit, cpu, predict, peak, rmse = numbers
            cells = f"{fit:.1f}", f"{cpu:.1f}", f"{predict:.1f}", f"{peak / 1e6:.0f}"
            lines.append([f"{n_rows:,}", str(n_chunks), place, *cells, f"{rmse:.5f}"])
    return lines


def inputs(number, size):
    """Return X of one chunk."""
    return np.random.default_rng([1, number]).uniform(-1, 1, size=(size, COLUMNS))


def surface(X):
    """Return a smooth function of five of the columns."""
    wave = np.sin(3 * X[:, 0] + X[:, 1] ** 2) * np.cos(2 * X[:, 2])
    return wave + X[:, 3] * X[:, 4]


def targets(number, size):
    """Return y of one chunk: the surface and noise."""
    noise = np.random.default_rng([2, number]).standard_normal(size)
    return surface(inputs(number, size)) + 0.1 * noise


def error(model):
    """Return the error on the surface itself at other rows."""
    X = inputs(10**6, TEST)
    return float(np.sqrt(np.mean((model.predict(X) - surface(X)) ** 2)))


def on_workers(sizes, options):
    """Return seconds and CPU seconds of fit, seconds of predicting all rows, peak, RMSE."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=options.memory_limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(warm_up)
        X, y = lazy(inputs, sizes, (COLUMNS,)), lazy(targets, sizes, ())
        before, start = cpu_seconds(client), time.perf_counter()
        model = CellKernelRegressor(max_cell=options.max_cell)
        model.fit(X, y)
        fit = time.perf_counter() - start
        cpu = cpu_seconds(client) - before
        peak = max(client.run(peak_bytes).values())
        start = time.perf_counter()
        model.predict(lazy(inputs, sizes, (COLUMNS,))).sum().compute()
        predict = time.perf_counter() - start
        return fit, cpu, predict, peak, error(model)


def warm_up():
    """Import what the fit needs, as this process has done."""
    import committee.coupled  # noqa: F401


def lazy(function, sizes, tail):
    """Return a Dask array whose chunks are made by function(number, size)."""
    import dask.array as da
    from dask import delayed

    return da.concatenate(
        [
            da.from_delayed(delayed(function)(i, n), (n, *tail), dtype=np.float64)
            for i, n in enumerate(sizes)
        ]
    )


def in_memory(sizes, max_cell):
    """Return the same of one process with two threads."""
    X = np.concatenate([inputs(i, n) for i, n in enumerate(sizes)])
    y = np.concatenate([targets(i, n) for i, n in enumerate(sizes)])
    start, before = time.perf_counter(), time.process_time()
    model = CellKernelRegressor(max_cell=max_cell, n_jobs=2)
    model.fit(X, y)
    fit, cpu = time.perf_counter() - start, time.process_time() - before
    peak = peak_bytes()
    start = time.perf_counter()
    model.predict(X).sum()
    return fit, cpu, time.perf_counter() - start, peak, error(model)
