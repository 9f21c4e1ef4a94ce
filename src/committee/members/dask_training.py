"""Training rows of a committee: in memory, or in chunks of Dask collections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_consistent_length

from committee._typing import BoolArray, FloatArray, IntArray, Member, Output
from committee._validation import check_sample_weight, n_rows
from committee.distributed.chunks import Chunks
from committee.distributed.collections import (
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
from committee.members.base import (
    Generation,
    Generator,
    Sample,
    TrainingData,
    draw_seeds,
    split_off,
    take,
)
from committee.members.training import (
    Configured,
    begin_on_chunks,
    checked_metadata,
    fit_member,
    run_on_chunks,
)
from committee.predictions import predict_all


class Facts(NamedTuple):
    """Size and classes of a chunk."""

    n_rows: int
    #: Classes of its rows; None for regression.
    labels: Any
    #: True if some row has a positive weight.
    counts: bool


@dataclass(frozen=True)
class ChunkedData:
    """Checked rows of Dask collections: one `TrainingData` for each chunk."""

    #: Computed on the workers, anew in every pass; None for a chunk without rows.
    data: Chunks
    #: The same without X, which may be slow to compute.
    targets: Chunks
    #: One for each chunk.
    facts: list[Facts]
    #: The classes of all chunks, (K,) and sorted; None for regression.
    labels: Any
    #: True if rows have weights.
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
        """Return function(*args) for every chunk as one lazy Dask array (N, *tail).

        For `args` that are `Chunks`, each call gets the value of its chunk.
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

    The committee checks X, stores its columns, and raises if it cannot be fitted in
    chunks; `check_y` returns labels or numbers, or raises ValueError.
    """
    if is_dask(X, y, sample_weight):
        committee._check_chunks(fit_params)
        check_lead(X=X, y=y, sample_weight=sample_weight)
        checker = clone(committee)  # has the columns, and is small to send
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
    """Return an array or frame in memory with the columns of a Dask collection."""
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
    """Return the rows of Dask collections, after one pass over the targets.

    `check_X` and `check_y` return a checked block, or raise ValueError;
    `classes` is True if y holds labels.
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
    """Return the column of a table with one column, and anything else unchanged."""
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


@dataclass(frozen=True)
class Assignment:
    """The chunk and the seeds of each member."""

    #: Number of each member's chunk, (M,), sorted.
    chunk: IntArray
    #: For each chunk with members: their generator, and the seeds of their rows.
    local: dict[int, tuple[Any, IntArray]]
    #: The members' own seeds, (M,).
    seeds: IntArray

    def sample(self, member: int, data: TrainingData) -> Sample:
        """Return the rows of its chunk on which a member trains."""
        chunk = int(self.chunk[member])
        generator, row_seeds = self.local[chunk]
        first = int(np.searchsorted(self.chunk, chunk))
        sample: Sample = generator.sample(member - first, data, row_seeds)
        return sample


def check_generator(generator: Generator) -> None:
    """Raise TypeError for generators whose members need rows of all chunks."""
    if not hasattr(generator, "of_chunk"):
        raise TypeError(
            "On Dask collections members are made by Bagging or MiniBatches, each from "
            f"one chunk. Got {type(generator).__name__}: compute() as many rows as "
            'fit; joblib.parallel_config(backend="dask") trains members of these on '
            "the workers."
        )


def generate_members(
    generator: Any,
    estimator: Member | None,
    data: TrainingData | ChunkedData,
    *,
    weigh_on: str | float | None,
    n_jobs: int | None,
    random_state: np.random.RandomState,
    verbose: bool,
) -> tuple[Generation, TrainingData]:
    """Train members; return them, and the rows of their F.

    `weigh_on` is "held-out", "train", a fraction to split off, or None if no F is needed.
    `n_jobs` applies to data in memory only.
    """
    if isinstance(data, ChunkedData):
        assert estimator is not None
        return generate_in_chunks(
            generator,
            estimator,
            data,
            weigh_on=weigh_on,
            random_state=random_state,
            verbose=verbose,
        )
    rows = data
    if not (weigh_on is None or isinstance(weigh_on, str)):
        data, rows = split_off(data, weigh_on, random_state)
    generation = generator.generate(
        estimator,
        data,
        held_out=weigh_on == "held-out",
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    if generation.rows is not None:
        rows = take(rows, generation.rows)
    return generation, rows


def generate_in_chunks(
    generator: Any,
    estimator: Member,
    rows: ChunkedData,
    *,
    weigh_on: str | float | None,
    random_state: np.random.RandomState,
    verbose: bool,
) -> tuple[Generation, TrainingData]:
    """Train each member on the worker that has its rows.

    With one chunk, members equal those of `generator.generate`. F, the mask, the targets
    and the row weights are lazy Dask arrays; X is None.
    """
    assignment = _assigned(generator, rows, random_state)
    chunks = Chunks([rows.data.parts[c] for c in assignment.chunk])
    begun = begin_on_chunks(_fit, estimator, chunks, assignment, verbose=verbose)
    results = run_on_chunks(begun, label="training", verbose=verbose)
    members = _members(results)
    to_weigh_on = _to_weigh_on(rows)
    if weigh_on is None:
        return Generation(members), to_weigh_on
    M, K = len(members), rows.n_classes
    tail = (M,) if K is None else (M, K)
    # Members stay on the workers until they are weighed: sending them again for every
    # pass over the rows would take longer than their predictions.
    on_workers = begun.listed().map(_members).kept().parts[0]
    predict = Configured(_predict)
    F = rows.lazily(predict, tail, np.float64, rows.data, on_workers, generator.output)
    mask = None
    if weigh_on == "held-out":
        numbers = numbered(len(rows.data))
        mask = rows.lazily(_left_out, (M,), np.bool_, rows.targets, numbers, assignment)
    return Generation(members, F, mask), to_weigh_on


def assigned_chunks(sizes: IntArray, n_members: int) -> IntArray:
    """Return a chunk for each member, in proportion to rows, sorted.

        member m in the chunk of row  (m + 1/2) N / M

    A chunk of n rows has M n / N members, rounded up or down.
    """
    ends = np.cumsum(sizes)
    rows = (np.arange(n_members) + 0.5) * (ends[-1] / n_members)
    chunk: IntArray = np.searchsorted(ends, rows, side="right")
    return chunk


def _assigned(
    generator: Any,
    rows: ChunkedData,
    rng: np.random.RandomState,
) -> Assignment:
    """Assign the members to chunks, and draw all seeds."""
    generator._validate_params()
    counted = np.array([fact.counts for fact in rows.facts])
    sizes = np.where(counted, rows.sizes, 0)
    chunk = assigned_chunks(sizes, generator.n_members)
    _check_assignment(rows, chunk, int(np.count_nonzero(sizes)))
    found, counts = np.unique(chunk, return_counts=True)
    total = int(sizes.sum())
    local = [
        generator.of_chunk(int(m), int(sizes[c]), total)
        for c, m in zip(found, counts, strict=True)
    ]
    ends = np.cumsum([each.n_seeds() for each in local])
    row_seeds = np.split(draw_seeds(rng, int(ends[-1])), ends[:-1])
    pairs = zip(local, row_seeds, strict=True)
    seeds = draw_seeds(rng, len(chunk))
    return Assignment(chunk, dict(zip(found.tolist(), pairs, strict=True)), seeds)


def _check_assignment(rows: ChunkedData, chunk: IntArray, n_chunks: int) -> None:
    """Raise for a chunk with one class; warn about chunks without members."""
    for c in np.unique(chunk):
        labels = rows.facts[c].labels
        if labels is not None and len(labels) == 1:
            raise ValueError(
                f"Chunk {c} has rows of one class only, {labels.tolist()[0]!r}, so a "
                "member cannot be trained on it: shuffle the rows before, or make "
                "larger partitions."
            )
    if len(chunk) < n_chunks:
        warnings.warn(
            f"{len(chunk)} members are trained on {len(np.unique(chunk))} of {n_chunks} "
            "chunks, and none on the other chunks: use more members, or larger "
            "partitions.",
            stacklevel=8,  # the line that called fit
        )


def _fit(
    estimator: Member, data: TrainingData, member: int, assignment: Assignment
) -> tuple[Member]:
    """Train a member on the worker of its chunk."""
    with naming(int(assignment.chunk[member])):
        sample = assignment.sample(member, data)
        return (fit_member(estimator, data, sample, int(assignment.seeds[member])),)


def _members(results: Iterable[tuple[Member]]) -> list[Member]:
    return [member for (member,) in results]


def _predict(data: TrainingData, members: list[Member], output: Output) -> FloatArray:
    """Return F of one chunk."""
    return predict_all(members, data.X, classes=data.classes, output=output)


def _left_out(targets: TrainingData, number: int, assignment: Assignment) -> BoolArray:
    """Return the mask of one chunk: False where a member trained on the row."""
    mask = np.ones((len(targets), len(assignment.chunk)), dtype=bool)
    for m in np.flatnonzero(assignment.chunk == number):
        mask[assignment.sample(int(m), targets).rows, m] = False
    return mask


def _to_weigh_on(rows: ChunkedData) -> TrainingData:
    """Return lazy targets and row weights, without X."""
    dtype = np.float64 if rows.labels is None else np.intp
    y = rows.lazily(attrgetter("y"), (), dtype, rows.targets)
    s = None
    if rows.weighted:
        s = rows.lazily(attrgetter("sample_weight"), (), np.float64, rows.targets)
    return TrainingData(None, y, rows.n_classes, s)
