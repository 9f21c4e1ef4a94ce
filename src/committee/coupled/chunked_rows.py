"""The rows of a fit in chunks of Dask collections, asked for by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from committee._typing import FloatArray, IntArray
from committee.coupled.gram import Layout
from committee.coupled.lazy import check_columns, columns_of
from committee.coupled.link import refuse_one_class, signed_targets
from committee.coupled.rows import Rows, stacked
from committee.coupled.segments import SegmentPlan
from committee.distributed import Chunks, is_dask, naming, numbered, row_chunks
from committee.kernels import Kernel


class Facts(NamedTuple):
    """What is known of a chunk in one place.

    Attributes
    ----------
    n_rows : int
    counted : array of positions or None
        The rows with a positive weight; None without weights.
    y_shape : tuple of int
        Shape of y behind the rows.
    labels, counted_labels : arrays or None
        The classes of all rows and of those that count.
    """

    n_rows: int
    counted: IntArray | None
    y_shape: tuple[int, ...]
    labels: Any = None
    counted_labels: Any = None


class ChunkedRows:
    """`committee.coupled.rows.Rows` in chunks, which stay where they are.

    Parameters
    ----------
    chunks : Chunks of Rows
    facts : list of Facts, None for a chunk without rows
    """

    def __init__(self, chunks: Chunks, facts: Sequence[Facts | None]) -> None:
        self.chunks, self.facts = chunks, facts
        sizes = [0 if fact is None else fact.n_rows for fact in facts]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def known(self) -> list[Facts]:
        """The facts of the chunks that have rows."""
        return [fact for fact in self.facts if fact is not None]

    def pieces(self, rows: IntArray) -> Chunks:
        """Return some of the rows, not yet computed, one piece for each chunk of them.

        Parameters
        ----------
        rows : array of row numbers, in increasing order

        Returns
        -------
        Chunks of Rows
        """
        from dask import delayed

        picked = delayed(_picked, pure=False, traverse=False)
        cuts = np.searchsorted(rows, self.starts)
        pieces = []
        for c, part in enumerate(self.chunks.parts):
            here = rows[cuts[c] : cuts[c + 1]] - self.starts[c]
            if len(here):
                # They travel inside the graph, so in as few bytes as will do.
                pieces.append(picked(part, here.astype(np.min_scalar_type(here[-1]))))
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

    def plan(
        self,
        kernel: Kernel,
        subsets: Sequence[IntArray],
        X_coupling: FloatArray,
        layout: Layout,
        weighing: IntArray,
        *,
        keep: bool = False,
    ) -> SegmentPlan:
        """Return the plan of a fit; `keep` is for rows in one place."""
        return SegmentPlan(self, kernel, subsets, X_coupling, layout, weighing)


def chunk_regression(X: Any, y: Any, sample_weight: Any) -> ChunkedRows:
    """Return rows with numbers as targets, checked where they lie.

    Parameters
    ----------
    X : Dask array or frame of shape (N, d)
    y : Dask or plain array of shape (N,) or (N, T)
    sample_weight : Dask or plain array of shape (N,), a number or None

    Returns
    -------
    ChunkedRows
    """
    chunks = _checked_chunks(_numbers, X, y, sample_weight).kept()
    return ChunkedRows(chunks, _facts(chunks, _facts_of))


def chunk_classification(X: Any, y: Any, sample_weight: Any) -> tuple[Any, ChunkedRows]:
    """Return the classes, and rows with class codes as targets.

    Parameters
    ----------
    X, y, sample_weight : as for `chunk_regression`; y has shape (N,)

    Returns
    -------
    classes : array of shape (K,)
    rows : ChunkedRows
    """
    chunks = _checked_chunks(_labelled, X, y, sample_weight).kept()
    facts = _facts(chunks, _label_facts_of)
    known = [fact for fact in facts if fact is not None]
    classes = np.unique(np.concatenate([fact.labels for fact in known]))
    refuse_one_class(np.unique(np.concatenate([f.counted_labels for f in known])))
    return classes, ChunkedRows(chunks.map(_coded, classes), facts)


def _checked_chunks(
    check: Callable[..., Any], X: Any, y: Any, sample_weight: Any
) -> Chunks:
    """Return chunks of Rows, still to be computed."""
    if not is_dask(X):
        raise ValueError(
            "X must be a Dask collection where y or sample_weight is one: make X one "
            "of the same chunks, or compute the others."
        )
    columns = columns_of(X)
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    one_for_all = sample_weight is None or np.isscalar(sample_weight)
    if not one_for_all and np.ndim(sample_weight) == 0:
        raise ValueError(
            "sample_weight must have one entry for each row, or be a plain number. Got "
            "an array without axes."
        )
    blocks = row_chunks(X=X, y=y, sample_weight=None if one_for_all else sample_weight)
    lead = blocks["X"]
    assert lead is not None
    s = sample_weight if one_for_all else blocks["sample_weight"]
    return numbered(len(lead)).map(_checked, check, columns, lead, blocks["y"], s)


def _checked(
    number: int, check: Callable[..., Any], columns: Any, X: Any, y: Any, s: Any
) -> Rows | None:
    """Return the rows of one chunk, or None."""
    with naming(number):
        if len(X) != len(y):
            raise ValueError(
                f"X has {len(X)} rows and y has {len(y)}; chunks of both must be equal."
            )
        if len(X) == 0:
            return None
        check_columns(X, columns)
        X, y, Y = check(X, y)
        return Rows(X, y, Y, _checked_weight(s, len(X)))


def _numbers(X: Any, y: Any) -> tuple[Any, Any, Any]:
    X, y = check_X_y(X, y, dtype=np.float64, multi_output=True, y_numeric=True)
    y = y.astype(np.float64)
    return X, y, y.reshape(len(y), -1)


def _labelled(X: Any, y: Any) -> tuple[Any, Any, Any]:
    X, y = check_X_y(X, y, dtype=np.float64)
    # Each label twice: a chunk of few rows is no sign of too many classes.
    check_classification_targets(np.repeat(np.unique(y), 2))
    return X, y, np.zeros((len(y), 0))


def _coded(rows: Rows, classes: Any) -> Rows:
    """Replace labels by codes and targets."""
    codes = np.searchsorted(classes, rows.y)
    return rows._replace(y=codes, Y=signed_targets(codes, len(classes)))


def _checked_weight(s: Any, n_rows: int) -> FloatArray | None:
    if s is None:
        return None
    weight = np.full(n_rows, s) if np.isscalar(s) else np.asarray(s)
    weight = weight.astype(np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be {n_rows} numbers, one for each row. Got an array of "
            f"shape {weight.shape}."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite. Got NaN or infinity.")
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight must not be negative. Got a minimum of {weight.min():g}."
        )
    return weight


def _facts(chunks: Chunks, of: Callable[..., Facts]) -> list[Facts | None]:
    """Return the facts of all chunks, of which some must have rows that count."""
    facts: list[Facts | None] = chunks.map(of).values()
    known = [fact for fact in facts if fact is not None]
    if not known:
        raise ValueError("X must have at least one row. Every chunk is empty.")
    if all(fact.counted is not None and len(fact.counted) == 0 for fact in known):
        raise ValueError("sample_weight must have at least one positive entry.")
    return facts


def _facts_of(rows: Rows) -> Facts:
    counted = None if rows.s is None else np.flatnonzero(rows.s)
    return Facts(len(rows.X), counted, rows.y.shape[1:])


def _label_facts_of(rows: Rows) -> Facts:
    counted = rows.y if rows.s is None else rows.y[rows.s > 0]
    return _facts_of(rows)._replace(
        labels=np.unique(rows.y), counted_labels=np.unique(counted)
    )


class _Box(NamedTuple):
    """The least and the largest value of each column."""

    low: FloatArray
    high: FloatArray

    def plus(self, other: _Box) -> _Box:
        return _Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def _box_of(rows: Rows) -> _Box:
    return _Box(rows.X.min(axis=0), rows.X.max(axis=0))


def _picked(rows: Rows, here: IntArray) -> Rows:
    return rows.take(here)


def _points_of(rows: Rows) -> FloatArray:
    return rows.X
