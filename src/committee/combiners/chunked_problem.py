"""A combiner's problem whose rows lie in many places."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
)
from committee.combiners.problem import Problem, of_members
from committee.distributed import (
    Chunks,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    is_dask,
    naming,
    numbered,
    row_chunks,
)


def problem_of(
    combiner: Any, F: Any, y: Any, held_out: Any, sample_weight: Any
) -> Problem:
    """Return the checked problem of arrays or of Dask collections.

    The combiner may refuse collections, and learns the number and names of members.
    """
    if is_dask(F, y, held_out, sample_weight):
        check_lead(F=F, y=y, held_out=held_out, sample_weight=sample_weight)
        combiner.check_chunks(int(F.shape[2]) if len(F.shape) == 3 else None)
        problem: Problem = _chunked_problem(F, y, held_out, sample_weight)
        F = F._meta if hasattr(F, "columns") else np.empty((1, F.shape[1]))
    else:
        array = check_predictions(F)
        problem = Problem(
            array,
            check_targets(array, y),
            check_held_out(held_out, array.shape),
            check_sample_weight(sample_weight, array),
        )
    validate_data(combiner, F, skip_check_array=True)
    return problem


class ChunkedProblem(Problem):
    """Checked inputs of a combiner as `Chunks` of problems.

    Sums over rows come from `total`, so that a combiner does not know the difference.
    The chunks are made anew for every pass, which may be costly: `bare` has them
    without F. What a `Problem` reads off its arrays is known before they are made.
    """

    chunks: Chunks
    bare: Chunks
    n_members: int = 0
    n_classes: int | None = None
    masked: bool = False
    weighted: bool = False
    numbers: IntArray | None = None
    #: Rows that each member votes on, and the number of rows, where there is a mask.
    votes: IntArray | None = None
    in_memory: ClassVar[bool] = False

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def counted(self) -> Problem:
        """Return the problem itself: chunks come without rows of weight zero."""
        return self

    def _votes(self) -> Any:
        return self.votes

    def _of_members(self, members: IntArray, masked: bool) -> Problem:
        known = {
            **self.__dict__,
            "chunks": self.chunks.map(_of_members, members, masked),
            "bare": self.bare.map(_of_members, members, masked),
        }
        known.update(n_members=len(members), masked=masked, numbers=members)
        return ChunkedProblem(**known)

    def kept(self, rows: Any, memory: Any, chunked: Any) -> Any:
        """Return rows that are read again and again, in chunks."""
        return chunked(self.chunks.map(rows))

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(problem, *args), summed over chunks."""
        return _some(self.chunks.sum(function, *args))

    def aside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `total` of a function that does not look at F."""
        return _some(self.bare.sum(function, *args))


def refusal(combiner: Any, why: str) -> ValueError:
    """Return the error of a combiner that needs more than sums over chunks, and why."""
    # The nearest base class with combiners that take chunks: of the same kind first.
    *names, last = next(
        takers for kind in type(combiner).__mro__ if (takers := _takers(kind))
    )
    others = f"{', '.join(names)} or {last}" if names else last
    return ValueError(
        f"{type(combiner).__name__} {why} and takes no Dask collections for that: "
        f"compute() the rows, or take {others}."
    )


def _takers(kind: type) -> list[str]:
    """Return the names of a kind's combiners that take chunks of any problem."""
    combiners = import_module("committee.combiners")  # which imports this module
    found = ((name, getattr(combiners, name)) for name in combiners.__all__)
    return [
        name
        for name, other in found
        if issubclass(other, kind)
        and getattr(other, "takes_chunks", False)
        and other.needs_all == combiners.Combiner.needs_all
    ]


def _some(total: Any) -> Any:
    if total is None:
        raise ValueError(
            "F must have at least one row of positive weight. Every chunk is empty."
        )
    return total


def _chunked_problem(
    F: Any, y: Any, held_out: Any, sample_weight: Any
) -> ChunkedProblem:
    """Return the problem of Dask collections; blocks are checked where they are."""
    if len(F.shape) not in (2, 3):
        raise ValueError(
            "F must have shape (N, M) for regression, or (N, M, K) with K >= 2 "
            f"classes on the last axis. Got shape {F.shape} instead."
        )
    blocks = row_chunks(F=F, y=y, held_out=held_out, sample_weight=sample_weight)
    mask, weight = blocks["held_out"], blocks["sample_weight"]
    lead = blocks["F"]
    assert lead is not None
    numbers = numbered(len(lead))
    votes = None
    if mask is not None:
        votes = _count_votes(numbers, mask, weight, int(F.shape[1]))
        # A mask of True only is none, as in memory: no sums over pairs are needed then.
        mask = None if np.all(votes == votes[-1]) else mask
    n_classes = int(F.shape[2]) if len(F.shape) == 3 else None
    return ChunkedProblem(
        chunks=numbers.map(_checked, lead, blocks["y"], mask, weight),
        bare=numbers.map(_bare, blocks["y"], mask, weight, n_classes),
        n_members=int(F.shape[1]),
        n_classes=n_classes,
        masked=mask is not None,
        weighted=weight is not None,
        votes=votes,
    )


def _of_members(
    problem: Problem | None, members: IntArray, masked: bool
) -> Problem | None:
    return None if problem is None else of_members(problem, members, masked)


def _count_votes(
    numbers: Chunks, mask: Chunks, weight: Chunks | None, n_members: int
) -> IntArray:
    """Return the members' votes and the rows; refuse a mask that is False everywhere."""
    votes: IntArray = numbers.sum(_count_true, mask, weight, n_members)
    if votes[-1] > 0 and not votes[:-1].any():
        raise ValueError(
            "held_out is False everywhere: no member left out any of the rows (or "
            "every such row has weight zero), so nothing is known about their errors. "
            "Give rows that the members have not seen, or held_out=None to use the "
            "training rows."
        )
    return votes


def _count_true(number: int, mask: Any, s: Any, n_members: int) -> Any:
    """Return how many entries of each column are True, and how many rows count."""
    mask = np.asarray(mask)
    with naming(number):
        if mask.dtype != np.bool_ or mask.shape[1:] != (n_members,):
            raise ValueError(
                f"held_out must be a boolean array with a column for each of the "
                f"{n_members} members. Got dtype {mask.dtype} and shape {mask.shape}."
            )
        if s is not None and len(s) == len(mask):
            mask = mask[np.asarray(s) > 0]
    return np.append(np.count_nonzero(mask, axis=0), len(mask))


def _checked(number: int, F: Any, y: Any, mask: Any, s: Any) -> Problem | None:
    """Return the problem of one chunk without rows of weight zero, or None."""
    with naming(number):
        F, y = np.asarray(F), np.asarray(y)
        check_same_rows(F=F, y=y)
        if len(F) == 0:
            return None
        F = check_predictions(F)
        return _counted(F, check_targets(F, y), mask, s)


def _bare(
    number: int, y: Any, mask: Any, s: Any, n_classes: int | None
) -> Problem | None:
    """Return the problem of one chunk with an F of no members."""
    with naming(number):
        if len(y) == 0:
            return None
        F = np.zeros((len(y), 0) if n_classes is None else (len(y), 0, n_classes))
        return _counted(F, check_targets(F, np.asarray(y)), mask, s)


def _counted(F: FloatArray, y: Any, mask: Any, s: Any) -> Problem | None:
    """Return the problem of the rows with a positive weight, or None."""
    mask = None if mask is None else np.asarray(mask)
    if mask is not None and (mask.dtype != np.bool_ or len(mask) != len(F)):
        raise ValueError(
            f"held_out must be a boolean array with {len(F)} rows. Got dtype "
            f"{mask.dtype} and shape {mask.shape}."
        )
    s = check_chunk_weight(s, len(y))
    problem = Problem(F, y, mask, s)
    if s is None or np.all(s > 0):
        return problem
    return problem.at(s > 0) if np.any(s > 0) else None
