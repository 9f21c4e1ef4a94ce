"""What a combiner is given: F, y, who was held out, and the weights of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import check_held_out
from committee.diagnostics.correlation import (
    MomentSums,
    WeightSums,
    correlation_of,
    largest_error,
    moment_sums,
)
from committee.distributed import Chunks

_Rows = TypeVar("_Rows")
_Kept = TypeVar("_Kept")


@dataclass(frozen=True)
class Problem:
    """Checked inputs of a combiner: F (N, M) or (N, M, K), y (N,) of floats or codes.

    held_out is the mask (N, M), or None where every member votes on every row;
    sample_weight (N,) or None. numbers (M,) are those of the members among all that
    were given, None for all.
    """

    F: FloatArray
    y: FloatArray | IntArray
    held_out: BoolArray | None
    sample_weight: FloatArray | None
    numbers: IntArray | None = None

    #: False for `ChunkedProblem`: there are only sums over rows.
    in_memory: ClassVar[bool] = True

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.F.shape[1])

    @property
    def n_classes(self) -> int | None:
        """K, or None for regression."""
        return int(self.F.shape[2]) if self.F.ndim == 3 else None

    def counted(self) -> Problem:
        """Return the problem without rows of weight zero."""
        s = self.sample_weight
        if s is None or np.all(s > 0):
            return self
        found = self.at(s > 0)
        mask = check_held_out(found.held_out, found.F.shape)
        return replace(found, held_out=mask)

    def at(self, rows: Any) -> Problem:
        """Return the problem of some rows, by mask or number."""
        mask, s = self.held_out, self.sample_weight
        return replace(
            self,
            F=self.F[rows],
            y=self.y[rows],
            held_out=None if mask is None else mask[rows],
            sample_weight=None if s is None else s[rows],
        )

    def with_votes(self) -> Problem:
        """Return the problem of the members that vote on some row, if not on all.

        Of one that never votes nothing is known, and nothing must be made up.
        """
        if not self.masked:
            return self
        *counts, n_rows = self._votes()
        members = np.flatnonzero(counts)
        if len(members) == self.n_members:
            return self
        masked = bool(np.min(np.take(counts, members)) < n_rows)
        return self._of_members(members, masked)

    def _votes(self) -> FloatArray:
        """Return on how many rows each member votes, and the number of rows."""
        assert self.held_out is not None
        return np.append(self.held_out.sum(axis=0), len(self.held_out))

    def _of_members(self, members: IntArray, masked: bool) -> Problem:
        return replace(of_members(self, members, masked), numbers=members)

    @property
    def masked(self) -> bool:
        """Whether members abstain on some rows."""
        return self.held_out is not None

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.sample_weight is not None

    @property
    def row_weights(self) -> FloatArray:
        """Weights of the rows, (N,): ones where there are none."""
        s = self.sample_weight
        return np.ones(len(self.y)) if s is None else s

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(problem, *args), a sum over rows.

        The function sees a problem with some of the rows, and what it returns has a
        method `plus` or can be added; here all rows are in memory.
        """
        return function(self, *args)

    def aside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `total` of a function that does not look at F."""
        return function(self, *args)

    def kept(
        self,
        rows: Callable[[Problem], _Rows],
        memory: Callable[[_Rows], _Kept],
        chunked: Callable[[Chunks], _Kept],
    ) -> _Kept:
        """Return rows that are read again and again, in memory or in chunks.

        `rows` makes them of a problem with some of the rows; `memory` takes these,
        `chunked` takes `Chunks` of them, to what stands for all rows.
        """
        return memory(rows(self))

    def mean_weight(self) -> float:
        """Return the mean row weight, 1 where rows have none."""
        if not self.weighted:
            return 1.0
        total, n_rows = self.aside(weight_and_rows)
        return float(total / n_rows)

    def error_correlation(self) -> tuple[FloatArray, float]:
        """Return C in squared units of the errors, and the unit."""
        # Weights first: their effective number has to be known before the pass over F.
        weights = self.aside(_weight_sums) if self.weighted else None
        return correlation_of(
            lambda scale: self.total(_moment_sums, weights, scale),
            lambda: self.total(_largest_error).value,
        )

    def centred_targets(self) -> FloatArray:
        """Return y as (N, 1), or one-hot targets minus 1/K as (N, K)."""
        if self.n_classes is None:
            return np.asarray(self.y, dtype=np.float64)[:, None]
        K = self.n_classes
        centred: FloatArray = (self.y[:, None] == np.arange(K)) - 1.0 / K
        return centred


def of_members(problem: Problem, members: IntArray, masked: bool) -> Problem:
    """Return the rows of a problem with some of the members, or with none."""
    mask, F = problem.held_out, problem.F
    return replace(
        problem,
        F=F[:, members] if F.shape[1] else F,
        held_out=mask[:, members] if masked and mask is not None else None,
    )


class Largest(NamedTuple):
    """The largest of some numbers, or of each column; its sum is that of all."""

    value: Any

    def plus(self, other: Largest) -> Largest:
        """Return the larger of both."""
        return Largest(np.maximum(self.value, other.value))


class Sums(tuple[Any, ...]):
    """Several sums over the same rows, of one pass."""

    def plus(self, other: Sums) -> Sums:
        """Add each to its like."""
        return Sums(
            one.plus(two) if hasattr(one, "plus") else one + two
            for one, two in zip(self, other, strict=True)
        )


def weight_and_rows(problem: Problem) -> FloatArray:
    """Return the total weight and the number of rows."""
    assert problem.sample_weight is not None
    return np.array([problem.sample_weight.sum(), len(problem.sample_weight)])


def _weight_sums(problem: Problem) -> WeightSums:
    assert problem.sample_weight is not None
    return WeightSums.of(problem.sample_weight)


def _moment_sums(
    problem: Problem, weights: WeightSums | None, scale: float
) -> MomentSums:
    s = problem.sample_weight
    if weights is not None and s is not None:
        s = weights.effective(s)
    return moment_sums(problem.F, problem.y, problem.held_out, s, scale)


def _largest_error(problem: Problem) -> Largest:
    return Largest(largest_error(problem.F, problem.y, problem.held_out))


def in_squared_units(value: FloatArray | float, unit: float) -> float:
    """Return value unit^2, such as w'Cw in the units of y, and no less than zero."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.maximum(value, 0.0) * np.float64(unit) ** 2)
