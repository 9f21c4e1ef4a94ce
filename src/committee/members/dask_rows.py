"""Rows in many places, as one `TrainingData` for each chunk of a Dask collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import n_rows
from committee.distributed import (
    Chunks,
    is_dask,
    map_rows,
    naming,
    numbered,
    row_chunks,
)
from committee.members.base import TrainingData


class Facts(NamedTuple):
    """What is known of a chunk before any member is trained.

    Attributes
    ----------
    n_rows : int
    labels : array or None
        The classes that it has rows of; None for regression.
    counts : bool
        Whether a row has a positive weight.
    """

    n_rows: int
    labels: Any
    counts: bool


@dataclass(frozen=True)
class Partitions:
    """Checked rows of Dask collections.

    Attributes
    ----------
    data : Chunks of TrainingData
        Made where the rows are, and again for every pass; None for no rows.
    targets : Chunks of TrainingData
        The same without X, which may be costly to make.
    facts : list of Facts
        One for each chunk.
    labels : array of shape (K,) or None
        The classes of all chunks, sorted; None for regression.
    weighted : bool
        Whether rows have weights.
    """

    data: Chunks
    targets: Chunks
    facts: list[Facts]
    labels: Any
    weighted: bool

    @property
    def n_classes(self) -> int | None:
        """K, or None for regression."""
        return None if self.labels is None else len(self.labels)

    @property
    def sizes(self) -> IntArray:
        """The number of rows in each chunk."""
        return np.array([fact.n_rows for fact in self.facts])

    def lazily(
        self,
        function: Callable[..., Any],
        tail: tuple[int, ...],
        dtype: Any,
        *args: Any,
    ) -> Any:
        """Return function(*args) of every chunk as one lazy Dask array (N, *tail).

        Of `args` that are `Chunks` each call gets the value of its chunk.
        """
        import dask.array as da

        sizes = tuple(self.sizes.tolist())
        lead = da.zeros(sum(sizes), chunks=(sizes,), dtype=bool)
        return map_rows(_of_chunk, lead, tail, dtype, function, *args)


def partitions(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    check_X: Callable[[Any], Any],
    check_y: Callable[[Any], Any],
    classes: bool,
) -> Partitions:
    """Look once at all targets, and return the rows of Dask collections.

    Parameters
    ----------
    X : Dask array or frame
    y : Dask array or series, or array
    sample_weight : Dask array or series, array or None
    check_X, check_y : callable
        Return what members take of a block, or raise ValueError.
    classes : bool
        Whether y holds labels.
    """
    if not is_dask(X):
        raise ValueError(
            "y or sample_weight is a Dask collection, but X is not: hand in X as one "
            "too, or compute() the others."
        )
    columns = row_chunks(X=X, y=y, sample_weight=sample_weight)
    s, blocks = columns["sample_weight"], columns["X"]
    assert blocks is not None
    numbers = numbered(len(blocks))
    facts: list[Facts] = numbers.sum(_facts, columns["y"], s, check_y, classes)
    if not any(fact.n_rows for fact in facts):
        raise ValueError(
            "X must have at least one row (0 sample(s)). Every chunk is empty."
        )
    if not any(fact.counts for fact in facts):
        raise ValueError("sample_weight must have a positive entry. All are zero.")
    labels = None
    if classes:
        found = [fact.labels for fact in facts if fact.n_rows]
        labels = np.unique(np.concatenate(found))
    targets = numbers.map(_targets, columns["y"], s, check_y, labels)
    data = numbers.map(_training_data, targets, blocks, check_X)
    return Partitions(data, targets, facts, labels, s is not None)


def _of_chunk(_: Any, function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _facts(number: int, y: Any, s: Any, check_y: Any, classes: bool) -> list[Facts]:
    """Return the facts about one chunk, in a list to be added to others."""
    if n_rows(y) == 0:
        return [Facts(0, None, False)]
    with naming(number):
        y = check_y(_column(y))
        s = _check_weight(s, len(y))
        labels = np.unique(y) if classes else None
    return [Facts(len(y), labels, s is None or bool(s.any()))]


def _column(y: Any) -> Any:
    """Return the one column of a table, other things as they are."""
    one = np.ndim(y) == 2 and np.shape(y)[1] == 1
    return np.asarray(y)[:, 0] if one else y


def _targets(
    number: int, y: Any, s: Any, check_y: Any, labels: Any
) -> TrainingData | None:
    """Return targets and weights of one chunk, coded, or None for no rows."""
    if n_rows(y) == 0:
        return None
    with naming(number):
        y = check_y(_column(y))
        s = _check_weight(s, len(y))
    if labels is None:
        return TrainingData(None, y, None, s)
    return TrainingData(None, np.searchsorted(labels, y), len(labels), s)


def _training_data(
    number: int, targets: TrainingData | None, X: Any, check_X: Any
) -> TrainingData | None:
    """Return the rows of one chunk with their X."""
    with naming(number):
        expected = 0 if targets is None else len(targets)
        if n_rows(X) != expected:
            raise ValueError(
                f"X has {n_rows(X)} rows and y has {expected}; chunks of both must be "
                "equal."
            )
        return None if targets is None else replace(targets, X=check_X(X))


def _check_weight(s: Any, n: int) -> FloatArray | None:
    """Return the weights of one chunk, which may all be zero."""
    if s is None:
        return None
    weight: FloatArray = np.asarray(s, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or np.any(weight < 0):
        raise ValueError(
            f"sample_weight must be {n} finite numbers >= 0. Got an array of shape "
            f"{weight.shape}."
        )
    return weight
