"""The rows of a fit in chunks of Dask collections, checked where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from committee.cells.choose import Part
from committee.cells.row_chunks import RowChunks
from committee.coupled.rows import Rows, memory_rows
from committee.distributed import (
    Chunks,
    check_block,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    columns_of,
    is_dask,
    naming,
    numbered,
    row_chunks,
)
from committee.targets import at_least_two


class Facts(NamedTuple):
    """A summary of a chunk, which needs no rows.

    `n_counted` are rows with a positive weight; labels are the classes of all rows and
    of those that count, None for regression.
    """

    n_counted: int
    vector: bool
    labels: Any
    counted_labels: Any


class ChunkedRows:
    """`Rows` in chunks that stay where they are; facts are None for an empty chunk."""

    def __init__(self, parts: Chunks, facts: Sequence[Facts | None]) -> None:
        self.parts, self.facts = parts, facts

    @property
    def known(self) -> list[Facts]:
        """The facts of the chunks that have rows."""
        return [fact for fact in self.facts if fact is not None]

    @property
    def vector(self) -> bool:
        """Whether y has one axis."""
        return self.known[0].vector

    def classes(self) -> Any:
        """Return the labels of all rows, (K,), of which two must count."""
        counted = [fact.counted_labels for fact in self.known]
        at_least_two(np.unique(np.concatenate(counted)))
        return np.unique(np.concatenate([fact.labels for fact in self.known]))

    def coded(self, classes: Any) -> ChunkedRows:
        """Return the rows with class codes instead of labels, and targets +-1."""
        return ChunkedRows(self.parts.map(Rows.coded, classes), self.facts)

    def numbers(self) -> None:
        """Rows of chunks have no numbers here."""

    def chunks(self) -> RowChunks:
        """Return the rows with a positive weight, as cells take them."""
        sizes = [0 if fact is None else fact.n_counted for fact in self.facts]
        return RowChunks(self.parts.map(_counted_part), sizes)


def rows_of(
    estimator: Any, check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> Rows | ChunkedRows:
    """Return checked rows, in memory or in chunks, and set the estimator's columns.

    `check` is `regression_rows` or `label_rows`.
    """
    if is_dask(X, y, sample_weight):
        chunks = _chunked_rows(check, X, y, sample_weight)
        validate_data(estimator, columns_of(X), skip_check_array=True)
        return chunks
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
    if not any(fact.n_counted for fact in known):
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
    counted = rows.counted()
    is_labels = rows.Y.shape[1] == 0  # `label_rows` has no targets yet
    return Facts(
        len(counted),
        rows.vector,
        np.unique(rows.y) if is_labels else None,
        np.unique(rows.y[counted]) if is_labels else None,
    )


def _counted_part(rows: Rows) -> Part | None:
    """Return the rows of a chunk that count, None where there are none."""
    counted = rows.counted()
    if not len(counted):
        return None
    X, _, Y, s = rows if rows.s is None else rows.take(counted)
    return Part(X, Y, np.ones(len(X)) if s is None else s)
