"""The coupled system solved by Dask: each segment where its kernel blocks are made.

    rows of the chunks -> rows of a segment        about (1 + 3 S / q) N d numbers
    rows of a segment  -> kernel blocks -> factor  stay there as a rule
    separators         -> one small system         3 m^2 numbers from each segment
    solution           -> coefficients             m T for each submodel

A segment is lost with its worker; Dask makes it again from the same rows by the same
functions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.coupled.expansion import outputs_of
from committee.coupled.gram import GramBlocks, Layout, threads_for
from committee.coupled.rows import Drawn, Options, Rows, stacked
from committee.coupled.system import (
    CoupledSolution,
    RightSides,
    advice,
    solve_uncoupled,
    system_block,
)
from committee.distributed import Chunks, deferred, shared
from committee.distributed.workers import current_client
from committee.kernels import Kernel
from committee.linalg import NotPositiveDefiniteError
from committee.linalg.substructure import (
    Eliminated,
    Reduced,
    Segment,
    cut_segments,
    eliminate_segment,
    join_segments,
    segment_solution,
)

if TYPE_CHECKING:
    from committee.coupled.chunked_rows import ChunkedRows

#: Submodels in a segment, at least: shorter ones cost more at their ends than they save.
_LEAST_MEMBERS = 4


class Job(NamedTuple):
    """What all segments have in common; submodels are evaluated on `points`, (n, d)."""

    kernel: Kernel
    X_coupling: FloatArray
    layout: Layout
    alpha: float
    nu: float
    points: FloatArray | None


class Local(NamedTuple):
    """The rows of a segment, and the positions of every D_i that it needs."""

    rows: Rows
    subsets: dict[int, IntArray]

    def gram(self, job: Job) -> GramBlocks:
        """Return the kernel blocks, made when they are needed."""
        rows = self.rows
        return GramBlocks(
            job.kernel,
            rows.X,
            self.subsets,
            job.X_coupling,
            job.layout,
            sample_weight=rows.s,
        )


class Done(NamedTuple):
    """A segment that was eliminated: all but `reduced` stays there as a rule."""

    segment: Segment
    local: Local
    kept: Eliminated
    reduced: Reduced


class SegmentSolution(NamedTuple):
    """Coefficients of a segment's submodels, and their outputs on the points."""

    coef: list[FloatArray]
    outputs: FloatArray | None


@dataclass(frozen=True)
class SegmentPlan:
    """Rows in chunks and everything drawn; the counterpart of `Plan`."""

    rows: ChunkedRows
    drawn: Drawn

    def solve(
        self, points: FloatArray | None, options: Options
    ) -> tuple[CoupledSolution, FloatArray | None]:
        """Return the coefficients, and the outputs on the points, (n, M, T) or None."""
        alpha, nu = options["alpha"], options["coupling"]
        kernel, subsets, X_coupling, layout, _ = self.drawn
        job = Job(kernel, X_coupling, layout, alpha, nu, points)
        solutions = self._tasks(job, n_segments(layout.n_members))
        try:
            # Tasks of Dask's own threads share the BLAS of this process.
            with threads_for(3 * max(len(rows) for rows in subsets)):
                parts: list[SegmentSolution] = solutions.values()
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(advice(alpha, nu, None)) from error
        coef = [a for part in parts for a in part.coef]
        if points is None:
            return CoupledSolution(coef), None
        outputs = [part.outputs for part in parts if part.outputs is not None]
        return CoupledSolution(coef), np.concatenate(outputs, axis=1)

    def points(self) -> FloatArray:
        """Return the rows that kernels are centred on, (N, d)."""
        return self.rows.points()

    def _tasks(self, job: Job, wanted: int) -> Chunks:
        """Return the answer of every segment, still to be computed."""
        ring = job.layout.topology == "ring"
        segments = cut_segments(job.layout.n_members, wanted, ring=ring)
        common = shared(job)
        coupled = job.nu != 0.0 and bool(job.layout.edges)
        first = _eliminated if coupled else _uncoupled
        done = [
            deferred(first, common, shared(segment), shared(owner), *pieces.parts)
            for segment in segments
            for owner, pieces in [self._shuffled(segment)]
        ]
        if not coupled:
            return Chunks(done)
        reduced = [deferred(_reduced, part) for part in done]
        ends = deferred(_joined, shared(segments), *reduced)
        return Chunks([deferred(_solved, common, part, ends) for part in done])

    def _shuffled(self, segment: Segment) -> tuple[IntArray, Chunks]:
        """Return the subset of each row that a segment needs, and pieces of the rows."""
        members = [*segment.members, *([] if segment.left is None else [segment.left])]
        subsets, layout = self.drawn.subsets, self.drawn.layout
        needed = sorted({i for j in members for i in layout.support(j)})
        rows = np.concatenate([subsets[i] for i in needed])
        owner = np.repeat(
            np.array(needed, dtype=np.min_scalar_type(needed[-1])),
            [len(subsets[i]) for i in needed],
        )
        order = np.argsort(rows)
        return owner[order], self.rows.pieces(rows[order])


def n_segments(n_members: int) -> int:
    """Return the number of segments: one for each thread, and at most sqrt(q)."""
    # A segment of q / S blocks is one of S tasks at the same time, the S separators are
    # joined by one task: q / S + S is least at sqrt(q).
    most = min(n_members // _LEAST_MEMBERS, round(math.sqrt(n_members)))
    return max(1, min(n_threads(), most))


def n_threads() -> int:
    """Return the threads of the cluster, or without one of this machine."""
    client = current_client()
    # Workers may be yet to come.
    threads = 0 if client is None else sum(client.ncores().values())
    return threads or os.cpu_count() or 1


def _local(owner: IntArray, pieces: Sequence[Rows]) -> Local:
    """Return the rows of a segment; `owner` is the subset of each."""
    subsets = {int(i): np.flatnonzero(owner == i) for i in np.unique(owner)}
    return Local(stacked(pieces), subsets)


def _uncoupled(
    job: Job, segment: Segment, owner: IntArray, *pieces: Rows
) -> SegmentSolution:
    """Train submodels that are not coupled."""
    local = _local(owner, pieces)
    gram = local.gram(job)
    coef = solve_uncoupled(gram, local.rows.Y, job.alpha, segment.members)
    return _with_outputs(gram, segment, coef, job)


def _eliminated(job: Job, segment: Segment, owner: IntArray, *pieces: Rows) -> Done:
    """Make the blocks of a segment and eliminate them."""
    local = _local(owner, pieces)
    gram = local.gram(job)
    block = system_block(gram, job.alpha, job.nu)
    kept, reduced = eliminate_segment(block, RightSides(gram, local.rows.Y), segment)
    return Done(segment, local, kept, reduced)


def _reduced(done: Done) -> Reduced:
    """Return what a segment sends to the others."""
    return done.reduced


def _joined(segments: Sequence[Segment], *reduced: Reduced) -> dict[int, FloatArray]:
    """Return the solution of the separators."""
    return join_segments(segments, reduced)[0]


def _solved(job: Job, done: Done, ends: dict[int, FloatArray]) -> SegmentSolution:
    """Go back through a segment."""
    coef = segment_solution(done.segment, done.kept, ends)
    return _with_outputs(done.local.gram(job), done.segment, coef, job)


def _with_outputs(
    gram: GramBlocks, segment: Segment, coef: list[FloatArray], job: Job
) -> SegmentSolution:
    if job.points is None:
        return SegmentSolution(coef, None)
    by_number = dict(zip(segment.members, coef, strict=True))
    return SegmentSolution(coef, outputs_of(gram, by_number, job.points))
