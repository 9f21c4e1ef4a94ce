"""A hundred networks as one tensor, beside scikit-learn's networks one by one.

Time: 100 members on all rows, without early stopping, and `MLPRegressor` with the same
layers, epochs, batch and learning rate, in turns and with one thread each, in seconds of
that thread: on a busy machine it waits for others. A few of the MLPs are trained and their
time is scaled to 100. "error" is the root mean squared error of
members on fresh rows, divided by the standard deviation of y, with its standard deviation
over members. "peak" is what is allocated at most, beside X and y.

Errors: rates, or root mean squared errors divided by the standard deviation of y, on fresh
rows, mean and standard error over splits. The settings of `NetworkRegressor` were chosen
on other sets.
"""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from benchmarks._network_sets import SETS, errors
from benchmarks._timing import show
from committee import NetworkRegressor, Networks
from committee.members import TrainingData

#: Sizes: rows, columns, epochs.
SIZES = [(1_000, 10, 100), (1_000, 50, 100), (10_000, 10, 20), (10_000, 50, 20)]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks networks")
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--rivals", type=int, default=4, help="MLPs that are timed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batches", type=int, nargs="*", default=[200, 32])
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="first of four")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args(argv)
    title = f"{options.members} networks of 50 units: seconds of training"
    columns = ["N x columns, batch", "ours", "MLPs", "ratio", "error ours"]
    columns += ["error MLP", "peak MB", "bar"]
    rows = [
        timed(*size, batch, options)
        for batch in options.batches
        for size in SIZES[: options.sizes]
    ]
    if rows:
        show(title, columns, rows)
    for name in options.sets:  # one table each, as soon as it is known
        title = f"{name}: fresh rows, {options.splits} splits, mean ± standard error"
        show(
            title, ["method", "error", "members"], list(compared(name, options.splits))
        )


def timed(N: int, d: int, epochs: int, batch: int, options: Any) -> list[str]:
    """Return one line of the table of times."""
    X, y = _rows(N + 2000, d)
    y = (y - y.mean()) / y.std()
    fresh = slice(N, None)
    data = TrainingData(X[:N], y[:N], None)
    network = NetworkRegressor(
        (50,),
        batch_size=batch,
        learning_rate=0.001,
        weight_decay=0.0,
        max_epochs=epochs,
        patience=None,
    )
    networks = Networks(options.members)

    def ours() -> Any:
        return networks.generate(network, data, held_out=False, random_state=0).members

    def rival(seed: int) -> MLPRegressor:
        model = MLPRegressor(
            hidden_layer_sizes=(50,),
            alpha=0.0,
            batch_size=batch,
            max_iter=epochs,
            tol=0.0,
            n_iter_no_change=epochs,
            random_state=seed,
        )
        return model.fit(X[:N], y[:N])

    times: list[tuple[float, float]] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(options.repeats):
            alone, members = _seconds(ours)
            each, _ = _seconds(lambda seed=seed: rival(seed))
            times.append((alone, each * options.members))
        rivals = [rival(100 + seed) for seed in range(options.rivals)]
    alone, theirs = np.median(times, axis=0)
    ratio = np.median([b / a for a, b in times])
    return [
        f"{N:,} x {d}, {batch}",
        f"{alone:.2f}",
        f"{theirs:.1f}",
        f"{ratio:.1f}",
        _errors(members, X[fresh], y[fresh]),
        _errors(rivals, X[fresh], y[fresh]),
        f"{_peak(networks, network, data):.1f}",
        "10",
    ]


def _rows(N: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal columns, three of which matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(N)


def _seconds(call: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def _errors(models: Any, X: np.ndarray, y: np.ndarray) -> str:
    found = [
        np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std() for model in models
    ]
    return f"{np.mean(found):.3f} ± {np.std(found):.3f}"


def _peak(networks: Networks, network: NetworkRegressor, data: TrainingData) -> float:
    """Return the most that two epochs allocate, in MB; the bound is 2^28 bytes."""
    short = NetworkRegressor(**(network.get_params() | {"max_epochs": 2}))
    tracemalloc.start()
    networks.generate(short, data, held_out=False, random_state=0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def compared(name: str, n_splits: int) -> Iterator[list[str]]:
    """Yield the lines of one data set."""
    found: dict[str, list[tuple[float, float]]] = {}
    for split in range(n_splits):
        for method, error, size in errors(*SETS[name](split), seed=split):
            found.setdefault(method, []).append((error, size))
    for method, values in found.items():
        error, size = np.array(values).T
        spread = error.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
        yield [method, f"{error.mean():.4f} ± {spread:.4f}", f"{size.mean():.0f}"]
