"""Read scores from arrays, data frames and runs as one table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import FloatArray


@dataclass(frozen=True)
class Scores:
    """Finite scores of k >= 2 methods on N >= 2 data sets.

    Attributes
    ----------
    methods, datasets : tuple
        Names or numbers.
    means : array of shape (N, k)
    runs : list or None
        `runs[i][j]` has the runs of method j on data set i; None for means alone.
    """

    methods: tuple[Hashable, ...]
    datasets: tuple[Hashable, ...]
    means: FloatArray
    runs: list[list[FloatArray]] | None = None


def read_scores(scores: Any) -> Scores:
    """Return the table of scores; raise ValueError if no test is defined for it."""
    if isinstance(scores, Mapping):
        table = _from_mapping(scores)
    elif hasattr(scores, "columns"):
        table = _from_frame(scores)
    else:
        table = _from_array(scores)
    _check(table)
    return table


def _from_array(scores: Any) -> Scores:
    """Read an array; methods and data sets are numbered, a third axis has runs."""
    values = _floats(scores, "scores")
    if values.ndim not in (2, 3):
        raise ValueError(
            "scores must be data sets x methods, or data sets x methods x runs. Got "
            f"an array of shape {values.shape}."
        )
    datasets, methods = (tuple(range(size)) for size in values.shape[:2])
    if values.ndim == 2:
        return Scores(methods, datasets, values)
    return _from_runs(methods, datasets, [list(row) for row in values])


def _from_frame(frame: Any) -> Scores:
    """Read a frame of methods; a column of text or the index names the data sets."""
    columns = {name: np.asarray(frame[name]) for name in frame.columns}
    text = [name for name, column in columns.items() if column.dtype.kind not in "fiub"]
    if len(text) > 1:
        raise ValueError(
            "A data frame of scores has a column of numbers for each method, and at "
            f"most one column of text, with the data sets. The columns {text} do not "
            "hold numbers."
        )
    if text:
        datasets = tuple(columns.pop(text[0]).tolist())
    else:
        datasets = tuple(getattr(frame, "index", range(len(frame))))
    if len(columns) != len(frame.columns) - len(text):
        raise ValueError(f"Methods need different names. Got {list(frame.columns)}.")
    values = [column.astype(np.float64) for column in columns.values()]
    return Scores(
        tuple(columns), datasets, np.array(values).T.reshape(len(frame), len(columns))
    )


def _from_mapping(scores: Mapping[Any, Any]) -> Scores:
    """Read {data set: {method: runs}}."""
    methods: tuple[Hashable, ...] = ()
    for name, row in scores.items():
        if not isinstance(row, Mapping):
            raise TypeError(
                "A mapping of scores must read {data set: {method: runs}}. Got "
                f"{type(row).__name__} for data set {name!r}."
            )
        methods = methods or tuple(row)
        if set(row) != set(methods):
            raise ValueError(
                f"Every data set needs the same methods. {name!r} has {list(row)}, "
                f"the first has {list(methods)}."
            )
    runs = [
        [np.atleast_1d(_floats(row[m], f"{m!r} on {name!r}")) for m in methods]
        for name, row in scores.items()
    ]
    return _from_runs(methods, tuple(scores), runs)


def _from_runs(
    methods: tuple[Hashable, ...],
    datasets: tuple[Hashable, ...],
    runs: list[list[FloatArray]],
) -> Scores:
    """Return the table of runs and their means; raise ValueError for single runs."""
    fewest = min((len(cell) for row in runs for cell in row), default=2)
    if fewest < 2:
        raise ValueError(
            "Tests on runs need at least 2 runs of each method on each data set. Got "
            f"{fewest}; give the mean scores as data sets x methods instead."
        )
    # Exact sums: the same runs in another order tie.
    means = [[math.fsum(cell) / len(cell) for cell in row] for row in runs]
    return Scores(
        methods, datasets, np.array(means).reshape(len(runs), len(methods)), runs
    )


def _floats(values: Any, name: str) -> FloatArray:
    """Return numbers as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be numbers in a full table, with as many entries in each row."
        ) from None


def _check(table: Scores) -> None:
    """Raise ValueError for a table that is too small, or not finite."""
    n, k = table.means.shape
    if k < 2:
        raise ValueError(f"compare needs at least 2 methods, in columns. Got {k}.")
    if n < 2:
        raise ValueError(
            f"compare counts over data sets and needs at least 2, in rows. Got {n}; "
            "for the runs of two methods on one data set take "
            "scipy.stats.mannwhitneyu or ttest_ind."
        )
    failed = np.argwhere(~np.isfinite(table.means))
    if len(failed):
        i, j = failed[0]
        raise ValueError(
            f"Method {table.methods[j]!r} has no finite score on data set "
            f"{table.datasets[i]!r} ({len(failed)} missing scores): leave out the method "
            "or the data set, or fill in a score for failures."
        )
