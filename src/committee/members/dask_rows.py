"""Training data in memory, or one `TrainingData` for each chunk of Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_consistent_length

from committee._typing import IntArray
from committee._validation import check_sample_weight, n_rows
from committee.distributed import (
    Chunks,
    blank_rows,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    is_dask,
    map_rows,
    naming,
    numbered,
    row_chunks,
)
from committee.members.base import TrainingData
from committee.routing import checked_metadata


class Facts(NamedTuple):
    """What is known of a chunk before any member is trained."""

    n_rows: int
    #: The classes that it has rows of; None for regression.
    labels: Any
    #: Whether a row has a positive weight.
    counts: bool


@dataclass(frozen=True)
class ChunkedData:
    """Checked rows of Dask collections, a chunk of `TrainingData` each."""

    #: Made where the rows are, and again for every pass; None for no rows.
    data: Chunks
    #: The same without X, which may be costly to make.
    targets: Chunks
    #: One for each chunk.
    facts: list[Facts]
    #: The classes of all chunks, (K,) and sorted; None for regression.
    labels: Any
    #: Whether rows have weights.
    weighted: bool

    in_memory: ClassVar[bool] = False

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
        lead = blank_rows(self.sizes.tolist())
        return map_rows(_of_chunk, lead, tail, dtype, function, *args)


def training_data(
    committee: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    fit_params: dict[str, Any],
    check_y: Callable[[Any], Any],
) -> TrainingData | ChunkedData:
    """Return the checked rows that a committee is fitted on, in memory or in chunks.

    The committee checks X and learns its columns, and may refuse chunks; `check_y`
    returns labels or numbers, or raises ValueError.
    """
    if is_dask(X, y, sample_weight):
        committee._check_chunks(fit_params)
        check_lead(X=X, y=y, sample_weight=sample_weight)
        checker = clone(committee)  # knows the columns, and nothing heavy to send
        for each in (committee, checker):
            each._check_X(_one_row(X), reset=True)
        check_X = partial(checker._check_X, reset=False)
        return chunked_data(
            X,
            y,
            sample_weight,
            check_X=check_X,
            check_y=check_y,
            classes=is_classifier(committee),
        )
    X, y = committee._check_X(X, reset=True), check_y(y)
    check_consistent_length(X, y)
    labels = None
    if is_classifier(committee):
        labels, y = np.unique(y, return_inverse=True)
    n_classes = None if labels is None else len(labels)
    s = check_sample_weight(sample_weight, X)
    return TrainingData(
        X, y, n_classes, s, checked_metadata(committee, fit_params), labels
    )


def _one_row(X: Any) -> Any:
    """Return something in memory with the columns of a Dask collection."""
    return X._meta if hasattr(X, "columns") else np.empty((1, *X.shape[1:]))


def chunked_data(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    check_X: Callable[[Any], Any],
    check_y: Callable[[Any], Any],
    classes: bool,
) -> ChunkedData:
    """Look once at all targets, and return the rows of Dask collections.

    `check_X` and `check_y` return what members take of a block, or raise ValueError;
    `classes` is whether y holds labels.
    """
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
    return ChunkedData(data, targets, facts, labels, s is not None)


def _of_chunk(_: Any, function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _facts(number: int, y: Any, s: Any, check_y: Any, classes: bool) -> list[Facts]:
    """Return the facts about one chunk, in a list to be added to others."""
    if n_rows(y) == 0:
        return [Facts(0, None, False)]
    with naming(number):
        y = check_y(_column(y))
        s = check_chunk_weight(s, len(y))
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
        s = check_chunk_weight(s, len(y))
    if labels is None:
        return TrainingData(None, y, None, s)
    return TrainingData(None, np.searchsorted(labels, y), len(labels), s)


def _training_data(
    number: int, targets: TrainingData | None, X: Any, check_X: Any
) -> TrainingData | None:
    """Return the rows of one chunk with their X."""
    with naming(number):
        check_same_rows(X=X, y=[] if targets is None else targets.y)
        return None if targets is None else replace(targets, X=check_X(X))
