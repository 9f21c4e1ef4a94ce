"""What a model costs: bytes and seconds."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee._validation import safe_indexing
from committee.ensembles import Roster
from committee.predictions import iter_predictions

#: Rows that are predicted to measure the time of one.
TIMED_ROWS = 1000


class _Counter:
    """A file that keeps nothing but the number of bytes written to it."""

    def __init__(self) -> None:
        self.total = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.total += size
        return size


def stored_bytes(model: Any) -> float:
    """Return how long the model's pickle is without making it; NaN if it has none."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except Exception:  # noqa: BLE001 (a lambda inside must not cost finished work)
        return float("nan")
    return float(counter.total)


def few_rows(X: Any) -> Any:
    """Return the rows to measure time on."""
    return safe_indexing(X, np.arange(min(X.shape[0], TIMED_ROWS)))


def seconds_per_row(predict: Callable[[Any], Any], X: Any, repeats: int = 3) -> float:
    """Return the least time of a few calls, for each row of X."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        predict(X)
        times.append(time.perf_counter() - start)
    return min(times) / int(X.shape[0])


def member_seconds(roster: Roster, X: Any) -> FloatArray:
    """Return the seconds that each member takes for a row of the prepared X."""
    seconds, start = [], time.perf_counter()
    for _ in iter_predictions(
        roster.members, X, classes=roster.spoken, votes=roster.votes
    ):
        end = time.perf_counter()
        seconds.append(end - start)
        start = end
    return np.array(seconds) / int(X.shape[0])
