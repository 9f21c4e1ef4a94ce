"""The rows of a fit in chunks of Dask collections, taken by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from committee._typing import FloatArray, IntArray
from committee.coupled.link import refuse_one_class
from committee.coupled.rows import Drawn, Rows, memory_rows, stacked
from committee.coupled.segments import SegmentPlan
from committee.distributed import (
    Chunks,
    check_block,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    columns_of,
    deferred,
    is_dask,
    naming,
    numbered,
    row_chunks,
)


class Facts(NamedTuple):
    """What is known of a chunk without its rows.

    `counted` are positions of rows with a positive weight, None without weights;
    labels are the classes of all rows and of those that count, None for regression.
    """

    n_rows: int
    counted: IntArray | None
    vector: bool
    labels: Any
    counted_labels: Any


class ChunkedRows:
    """`Rows` in chunks that stay where they are; facts are None for an empty chunk."""

    def __init__(self, chunks: Chunks, facts: Sequence[Facts | None]) -> None:
        self.chunks, self.facts = chunks, facts
        sizes = [0 if fact is None else fact.n_rows for fact in facts]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def known(self) -> list[Facts]:
        """The facts of the chunks that have rows."""
        return [fact for fact in self.facts if fact is not None]

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.starts[-1])

    @property
    def vector(self) -> bool:
        """Whether y has one axis."""
        return self.known[0].vector

    def classes(self) -> Any:
        """Return the labels of all rows, (K,), of which two must count."""
        counted = [fact.counted_labels for fact in self.known]
        refuse_one_class(np.unique(np.concatenate(counted)))
        return np.unique(np.concatenate([fact.labels for fact in self.known]))

    def coded(self, classes: Any) -> ChunkedRows:
        """Return the rows with class codes instead of labels, and targets +-1."""
        return ChunkedRows(self.chunks.map(Rows.coded, classes), self.facts)

    def pieces(self, rows: IntArray) -> Chunks:
        """Return the rows of the given numbers, in increasing order, as Chunks of Rows.

        They are not yet computed; each chunk that has any of them makes one piece.
        """
        cuts = np.searchsorted(rows, self.starts)
        pieces = []
        for c, part in enumerate(self.chunks.parts):
            here = rows[cuts[c] : cuts[c + 1]] - self.starts[c]
            if len(here):
                # They travel inside the graph, so in as few bytes as will do.
                here = here.astype(np.min_scalar_type(here[-1]))
                pieces.append(deferred(Rows.take, part, here))
        return Chunks(pieces)

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, by numbers in increasing order."""
        return stacked(self.pieces(rows).values())

    def counted(self) -> IntArray:
        """Return the numbers of rows with a positive weight."""
        parts = []
        for start, fact in zip(self.starts, self.facts, strict=False):
            if fact is not None:
                here = np.arange(fact.n_rows) if fact.counted is None else fact.counted
                parts.append(start + here)
        return np.concatenate(parts)

    def box(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each column over some rows."""
        box = self.pieces(rows).sum(_box_of)
        return box.low, box.high

    def points(self) -> FloatArray:
        """Return X of all rows, (N, d), in one place."""
        parts = self.chunks.map(_points_of).values()
        return np.concatenate([X for X in parts if X is not None])

    def gathered(self) -> Rows:
        """Return all rows in one place."""
        return stacked([rows for rows in self.chunks.values() if rows is not None])

    def plan(self, drawn: Drawn, *, keep: bool = False) -> SegmentPlan:
        """Return the plan of a fit; `keep` is for rows in one place."""
        return SegmentPlan(self, drawn)


def rows_of(
    estimator: Any, check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> Rows | ChunkedRows:
    """Return checked rows, in memory or in chunks, and set the estimator's columns.

    `check` is `regression_rows` or `label_rows`.
    """
    if is_dask(X, y, sample_weight):
        estimator._check_chunks()
        chunks = _chunked_rows(check, X, y, sample_weight)
        validate_data(estimator, columns_of(X), skip_check_array=True)
        # One submodel is one system of all rows.
        return chunks.gathered() if estimator.n_members == 1 else chunks
    return memory_rows(estimator, check, X, y, sample_weight)


def _chunked_rows(
    check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> ChunkedRows:
    """Return rows in chunks, checked where they are, of which some must count."""
    check_lead(X=X, y=y, sample_weight=sample_weight)
    columns = columns_of(X)
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    # A number is the weight of every row and has no chunks.
    number = sample_weight is None or np.isscalar(sample_weight)
    if not number and np.ndim(sample_weight) == 0:
        raise ValueError(
            "sample_weight must have one entry for each row, or be a plain number. Got "
            "an array without axes."
        )
    blocks = row_chunks(X=X, y=y, sample_weight=None if number else sample_weight)
    lead = blocks["X"]
    assert lead is not None
    s = sample_weight if number else blocks["sample_weight"]
    chunks = numbered(len(lead)).map(_checked, check, columns, lead, blocks["y"], s)
    chunks = chunks.kept()
    facts: list[Facts | None] = chunks.map(_facts_of).values()
    known = [fact for fact in facts if fact is not None]
    if not known:
        raise ValueError("X must have at least one row. Every chunk is empty.")
    if all(fact.counted is not None and len(fact.counted) == 0 for fact in known):
        raise ValueError("sample_weight must have at least one positive entry.")
    return ChunkedRows(chunks, facts)


def _checked(
    number: int, check: Callable[..., Rows], columns: Any, X: Any, y: Any, s: Any
) -> Rows | None:
    """Return the rows of one chunk, or None."""
    with naming(number):
        check_same_rows(X=X, y=y)
        if len(X) == 0:
            return None
        check_block(X, columns)
        return check(X, y, check_chunk_weight(s, len(X)))


def _facts_of(rows: Rows) -> Facts:
    counted = None if rows.s is None else np.flatnonzero(rows.s)
    is_labels = rows.Y.shape[1] == 0  # `label_rows` has no targets yet
    return Facts(
        len(rows.X),
        counted,
        rows.vector,
        np.unique(rows.y) if is_labels else None,
        np.unique(rows.y[rows.counted()]) if is_labels else None,
    )


class _Box(NamedTuple):
    """The least and the largest value of each column."""

    low: FloatArray
    high: FloatArray

    def plus(self, other: _Box) -> _Box:
        return _Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _box_of(rows: Rows) -> _Box:
    return _Box(rows.X.min(axis=0), rows.X.max(axis=0))


def _points_of(rows: Rows) -> FloatArray:
    return rows.X
