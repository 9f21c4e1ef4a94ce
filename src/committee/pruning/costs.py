"""Costs of a model: bytes and seconds."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray, Member
from committee._validation import n_rows, safe_indexing
from committee.ensembles import Roster
from committee.export import compiled
from committee.predictions import iter_members

#: Rows that are predicted to measure the time of one.
TIMED_ROWS = 1000
#: Calls of a few rows each that are timed together.
_CALLS = 50


class _Counter:
    """A file that keeps nothing but the number of bytes written to it."""

    def __init__(self) -> None:
        self.total = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.total += size
        return size


def stored_bytes(model: Any) -> float:
    """Return the bytes of the pickled model; NaN if it cannot be pickled."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except Exception:  # noqa: BLE001 (a lambda inside must not cost finished work)
        return float("nan")
    return float(counter.total)


@dataclass(frozen=True, eq=False)
class MemberBytes:
    """Bytes of each member alone, (M,), and bytes that any two members share.

    For example, the rounds of a booster share its table of bins.
    """

    alone: FloatArray
    shared: float

    @classmethod
    def of(cls, members: list[Member]) -> Self:
        """Measure the members."""
        alone = np.array([stored_bytes(member) for member in members])
        pair = stored_bytes(members[:2]) if len(members) > 1 else alone[0]
        return cls(alone, max(0.0, float(alone[:2].sum() - pair)))

    def total(self, members: IntArray) -> float:
        """Return the bytes of some members in one file; shared bytes count once."""
        return float(self.alone[members].sum() - (len(members) - 1) * self.shared)


def compared_costs(
    ensemble: Any, seconds_before: float, committee: Any, X: Any
) -> dict[str, Any]:
    """Return the entries of a Summary that are costs, by name; X are rows to time."""
    return {
        "bytes_before": stored_bytes(ensemble),
        "bytes_after": stored_bytes(committee),
        "seconds_before": seconds_before,
        "seconds_after": seconds_per_row(committee.predict, X),
    }


def few_rows(X: Any) -> Any:
    """Return the rows to measure time on."""
    return safe_indexing(X, np.arange(min(n_rows(X), TIMED_ROWS)))


def seconds_per_row(predict: Callable[[Any], Any], X: Any, repeats: int = 3) -> float:
    """Return the least time of a few calls, for each row of X."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        predict(X)
        times.append(time.perf_counter() - start)
    return min(times) / n_rows(X)


def served_seconds(
    committee: Any, X: Any, rows: int, runtime: str, repeats: int = 3
) -> float:
    """Return the least time for a row of a few passes, in calls of this many rows."""
    predict = committee.predict
    if runtime != "python":
        predict = compiled(committee, runtime).predict
    starts = range(0, max(n_rows(X) - rows, 0) + 1, rows)[:_CALLS]
    blocks = [safe_indexing(X, np.arange(a, min(a + rows, n_rows(X)))) for a in starts]
    predict(blocks[0])
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for block in blocks:
            predict(block)
        times.append(time.perf_counter() - begin)
    return min(times) / sum(map(n_rows, blocks))


def member_seconds(roster: Roster, X: Any, repeats: int = 3) -> FloatArray:
    """Return the least seconds of each member for a row of the prepared X."""
    passes = np.empty((repeats, len(roster)))
    for times in passes:
        start = time.perf_counter()
        for m, _ in enumerate(iter_members(roster, X)):
            end = time.perf_counter()
            times[m], start = end - start, end
    least: FloatArray = passes.min(axis=0) / n_rows(X)
    return least
