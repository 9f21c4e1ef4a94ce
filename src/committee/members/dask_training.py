"""Members of training data in memory, or each of one chunk of rows, trained there."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray, Member, Output
from committee._validation import safe_indexing
from committee.distributed import Chunks, naming, numbered
from committee.members.base import (
    Generation,
    Generator,
    Sample,
    TrainingData,
    check_fraction,
    draw_seeds,
    split_off,
    split_rows,
    take,
)
from committee.members.dask_rows import ChunkedData
from committee.members.training import (
    Configured,
    begin_on_chunks,
    fit_member,
    run_on_chunks,
)
from committee.predictions import predict_all

#: The rows of a chunk to train on, and those to weigh on.
Cut = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Assignment:
    """Where each member is trained, and by which seeds."""

    #: The number of each member's chunk, (M,), in rising order.
    chunk: IntArray
    #: For each chunk with members: the generator of these, and the seeds of their rows.
    local: dict[int, tuple[Any, IntArray]]
    #: The members' own seeds, (M,).
    seeds: IntArray

    def sample(self, member: int, data: TrainingData) -> Sample:
        """Return the rows of its chunk that a member trains on."""
        chunk = int(self.chunk[member])
        generator, row_seeds = self.local[chunk]
        first = int(np.searchsorted(self.chunk, chunk))
        sample: Sample = generator.sample(member - first, data, row_seeds)
        return sample


def check_generator(generator: Generator) -> None:
    """Refuse generators whose members have to see rows of all chunks."""
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
    """Train members; return them, and the rows that their F is for.

    `weigh_on` is "held-out", "train", a fraction to split off, or None where no F is
    needed; `n_jobs` is for data in memory, in chunks Dask decides.
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

    With one chunk the members are those of `generator.generate`. F, the mask, and the
    targets and weights to weigh members on are lazy Dask arrays; there is no X.
    """
    cut = None
    if not (weigh_on is None or isinstance(weigh_on, str)):
        cut = _cut(rows, weigh_on, random_state)
    assignment = _assigned(generator, rows, weigh_on, random_state)
    data = rows.data if cut is None else rows.data.map(_to_train, cut)
    chunks = Chunks([data.parts[c] for c in assignment.chunk])
    begun = begin_on_chunks(_fit, estimator, chunks, assignment, verbose=verbose)
    results = run_on_chunks(begun, label="training", verbose=verbose)
    members = [member for (member,) in results]
    to_weigh_on = _to_weigh_on(rows, cut)
    if weigh_on is None:
        return Generation(members), to_weigh_on
    M, K = len(members), rows.n_classes
    tail = (M,) if K is None else (M, K)
    # Members stay on the workers until they are weighed: to send them once more, from
    # here and for every pass over the rows, would take longer than their predictions.
    on_workers = begun.listed().map(_members).kept().parts[0]
    predict = Configured(_predict)
    F = rows.lazily(
        predict, tail, np.float64, rows.data, on_workers, generator.output, cut
    )
    mask = None
    if weigh_on == "held-out":
        numbers = numbered(len(rows.data))
        mask = rows.lazily(_left_out, (M,), np.bool_, rows.targets, numbers, assignment)
    return Generation(members, F, mask), to_weigh_on


def assigned_chunks(sizes: IntArray, n_members: int) -> IntArray:
    """Return a chunk for each member, in proportion to rows and in rising order.

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
    weigh_on: str | float | None,
    rng: np.random.RandomState,
) -> Assignment:
    """Assign the members to chunks, and draw all seeds."""
    generator._validate_params()
    counted = np.array([fact.counts for fact in rows.facts])
    sizes = np.where(counted, rows.sizes, 0)
    if not (weigh_on is None or isinstance(weigh_on, str)):
        sizes = sizes - np.ceil(weigh_on * sizes).astype(np.intp)
        if not sizes.any():
            raise ValueError(
                f"weigh_on={weigh_on:g} leaves nothing to train on in any of the "
                f"{len(sizes)} chunks: make larger partitions."
            )
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
    """Refuse to train on one class, and warn of rows that no member trains on."""
    for c in np.unique(chunk):
        labels = rows.facts[c].labels
        if labels is not None and len(labels) == 1:
            raise ValueError(
                f"Chunk {c} has rows of one class only, {labels.tolist()[0]!r}, and a "
                "member that is trained there would know no other: shuffle the rows "
                "before, or make larger partitions."
            )
    if len(chunk) < n_chunks:
        warnings.warn(
            f"{len(chunk)} members are trained on {len(np.unique(chunk))} of {n_chunks} "
            "chunks, and none learns from the others: take more members, or larger "
            "partitions.",
            stacklevel=8,  # the line that called fit
        )


def _fit(
    estimator: Member, data: TrainingData, member: int, assignment: Assignment
) -> tuple[Member]:
    """Train a member where its chunk is."""
    with naming(int(assignment.chunk[member])):
        sample = assignment.sample(member, data)
        return (fit_member(estimator, data, sample, int(assignment.seeds[member])),)


def _members(results: list[tuple[Member]]) -> list[Member]:
    return [member for (member,) in results]


def _predict(
    data: TrainingData, members: list[Member], output: Output, cut: Cut | None
) -> FloatArray:
    """Return F of one chunk, zero on rows that members are not weighed on."""
    how: dict[str, Any] = {"classes": data.classes, "output": output}
    if cut is None:
        return predict_all(members, data.X, **how)
    _, weighing = cut
    part = predict_all(members, safe_indexing(data.X, weighing), **how)
    F = np.zeros((len(data), *part.shape[1:]))
    F[weighing] = part
    return F


def _left_out(targets: TrainingData, number: int, assignment: Assignment) -> BoolArray:
    """Return the mask of one chunk: False where its members trained."""
    mask = np.ones((len(targets), len(assignment.chunk)), dtype=bool)
    for m in np.flatnonzero(assignment.chunk == number):
        mask[assignment.sample(int(m), targets).rows, m] = False
    return mask


def _cut(rows: ChunkedData, fraction: float, rng: np.random.RandomState) -> Chunks:
    """Split a fraction of the rows off within every chunk."""
    check_fraction(fraction, int(rows.sizes.sum()))
    seeds = draw_seeds(rng, len(rows.facts))
    return rows.targets.map(_split, numbered(len(rows.facts)), fraction, seeds)


def _split(targets: TrainingData, number: int, fraction: float, seeds: IntArray) -> Cut:
    """Return the rows on both sides; what is too small is for weighing."""
    if np.ceil(fraction * len(targets)) >= len(targets):
        return np.arange(0), np.arange(len(targets))
    return split_rows(targets, fraction, int(seeds[number]))


def _to_train(data: TrainingData, cut: Cut) -> TrainingData:
    train, _ = cut
    return take(data, train)


def _to_weigh_on(rows: ChunkedData, cut: Chunks | None) -> TrainingData:
    """Return lazy targets and weights; rows that do not count have weight zero."""
    dtype = np.float64 if rows.labels is None else np.intp
    y = rows.lazily(_y, (), dtype, rows.targets)
    s = None
    if rows.weighted or cut is not None:
        s = rows.lazily(_weight, (), np.float64, rows.targets, cut)
    return TrainingData(None, y, rows.n_classes, s)


def _y(targets: TrainingData) -> Any:
    return targets.y


def _weight(targets: TrainingData, cut: Cut | None) -> FloatArray:
    s = targets.sample_weight
    if s is None:
        s = np.ones(len(targets))
    if cut is None:
        return s
    full = np.zeros(len(targets))
    _, weighing = cut
    full[weighing] = s[weighing]
    return full
