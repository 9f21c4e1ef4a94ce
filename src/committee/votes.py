"""Votes: F, y, mask and row weights of the rows that a combiner is fitted on.

`Votes` has the rows in memory, `ChunkedVotes` in chunks of Dask collections. Both give
sums over rows by `total`, so that a combiner is written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
    label_codes,
    n_rows,
)
from committee.diagnostics.correlation import (
    MomentSums,
    WeightSums,
    correlation_of,
    largest_error,
    moment_sums,
)
from committee.diagnostics.missing_votes import FilledProbabilities, FilledVotes
from committee.distributed.chunks import Chunks
from committee.distributed.collections import (
    check_chunk_weight,
    check_lead,
    check_same_rows,
    is_dask,
    naming,
    numbered,
    row_chunks,
)
from committee.ensembles import Roster
from committee.targets import as_numbers

_Rows = TypeVar("_Rows")
_Kept = TypeVar("_Kept")


@dataclass(frozen=True)
class Votes:
    """Checked rows: F (N, M) or (N, M, K), and y (N,) of numbers or class codes.

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
    held_out : bool array of shape (N, M), or None
        True where a member votes on a row. None if every member votes on every row.
    sample_weight : array of shape (N,), or None
    numbers : array of shape (M,), default=None
        Position of each member in the F that was given. None if all are here.
    """

    F: FloatArray
    y: FloatArray | IntArray
    held_out: BoolArray | None
    sample_weight: FloatArray | None
    numbers: IntArray | None = None

    #: False for `ChunkedVotes`, which give only sums over rows.
    in_memory: ClassVar[bool] = True

    @classmethod
    def checked(cls, F: Any, y: Any, held_out: Any, sample_weight: Any) -> Votes:
        """Return the rows of arrays; raise ValueError if they do not fit."""
        array = check_predictions(F)
        return Votes(
            array,
            check_targets(array, y),
            check_held_out(held_out, array.shape),
            check_sample_weight(sample_weight, array),
        )

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.F.shape[1])

    @property
    def n_classes(self) -> int | None:
        """K, or None for regression."""
        return int(self.F.shape[2]) if self.F.ndim == 3 else None

    def with_weight(self) -> Votes:
        """Return the rows with a positive sample weight."""
        s = self.sample_weight
        if s is None or np.all(s > 0):
            return self
        found = self.at(s > 0)
        mask = check_held_out(found.held_out, found.F.shape)
        return replace(found, held_out=mask)

    def at(self, rows: Any) -> Votes:
        """Return some of the rows, given by a mask or by their numbers."""
        mask, s = self.held_out, self.sample_weight
        return replace(
            self,
            F=self.F[rows],
            y=self.y[rows],
            held_out=None if mask is None else mask[rows],
            sample_weight=None if s is None else s[rows],
        )

    def with_votes(self) -> Votes:
        """Return the rows without the members that abstain on every row."""
        if not self.masked:
            return self
        *counts, n_rows = self._votes()
        members = np.flatnonzero(counts)
        if len(members) == self.n_members:
            return self
        masked = bool(np.min(np.take(counts, members)) < n_rows)
        return self.of_members(members, masked)

    def _votes(self) -> FloatArray:
        """Return the number of votes of each member, then the number of rows."""
        assert self.held_out is not None
        return np.append(self.held_out.sum(axis=0), len(self.held_out))

    def of_members(self, members: IntArray, masked: bool = True) -> Votes:
        """Return the rows of some members; without a mask unless `masked`."""
        found: Votes = _of_members(self, members, masked)
        return replace(found, numbers=members)

    def fit(self, combiner: Any) -> Any:
        """Fit a combiner on these rows, and return it."""
        mask, s = self.held_out, self.sample_weight
        return combiner.fit(self.F, self.y, held_out=mask, sample_weight=s)

    @property
    def masked(self) -> bool:
        """True if some member abstains on some row."""
        return self.held_out is not None

    @property
    def weighted(self) -> bool:
        """True if the rows have sample weights."""
        return self.sample_weight is not None

    @property
    def row_weights(self) -> FloatArray:
        """Weights of the rows, (N,); ones without sample weights."""
        s = self.sample_weight
        return np.ones(len(self.y)) if s is None else s

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(votes, *args), which is a sum over rows.

        `ChunkedVotes` call the function once for each chunk and add the results, by
        their method `plus` if they have one. Here it is called once, on all rows.
        """
        return function(self, *args)

    def aside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `total` of a function that does not read F."""
        return function(self, *args)

    def kept(
        self, rows: Callable[[Votes], _Rows], chunked: Callable[[Chunks], _Kept]
    ) -> _Rows | _Kept:
        """Return rows(votes) for many passes, or chunked(chunks of them).

        Parameters
        ----------
        rows : callable
            Makes the rows from `Votes`, here or in each chunk.
        chunked : callable
            Takes `Chunks` of the rows; called by `ChunkedVotes`.
        """
        return rows(self)

    @cached_property
    def filled(self) -> FilledVotes:
        """F with the votes of members that abstain filled."""
        return FilledVotes.of(self.F, self.y, self.held_out)

    @cached_property
    def filled_probabilities(self) -> FilledProbabilities:
        """The same for log-losses and Brier scores of probabilities."""
        return FilledProbabilities.of(self.filled)

    def baseline(self) -> float:
        """Return the most frequent class, or the mean: a prediction without members."""
        if self.n_classes is None:
            return float(np.average(self.y, weights=self.sample_weight))
        return float(np.bincount(self.y, self.sample_weight).argmax())

    def mean_weight(self) -> float:
        """Return the mean row weight; 1 without sample weights."""
        if not self.weighted:
            return 1.0
        total, n_rows = self.aside(weight_and_rows)
        return float(total / n_rows)

    def error_correlation(self) -> tuple[FloatArray, float]:
        """Return C in squared units of the errors, and the unit."""
        # The pass over F needs the effective number of rows, so weights come first.
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


class ChunkedVotes(Votes):
    """`Votes` whose rows are chunks of Dask collections.

    Every `total` reads all chunks again, which may be slow: `bare` has the same chunks
    without F. Facts that `Votes` reads from its arrays are given to the constructor.
    """

    chunks: Chunks
    bare: Chunks
    n_members: int = 0
    n_classes: int | None = None
    masked: bool = False
    weighted: bool = False
    numbers: IntArray | None = None
    #: Number of votes of each member, then the number of rows; None without a mask.
    votes: IntArray | None = None
    in_memory: ClassVar[bool] = False

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def with_weight(self) -> Votes:
        """Return self: the chunks have only rows with a positive sample weight."""
        return self

    def _votes(self) -> Any:
        return self.votes

    def of_members(self, members: IntArray, masked: bool = True) -> Votes:
        """Return the rows of some members; without a mask unless `masked`."""
        known = {
            **self.__dict__,
            "chunks": self.chunks.map(_of_members, members, masked),
            "bare": self.bare.map(_of_members, members, masked),
        }
        known.update(n_members=len(members), masked=masked, numbers=members)
        return ChunkedVotes(**known)

    def kept(self, rows: Any, chunked: Any) -> Any:
        """Return chunked(chunks of rows), for many passes."""
        return chunked(self.chunks.map(rows))

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(votes, *args), summed over chunks."""
        return _not_empty(self.chunks.sum(function, *args))

    def aside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `total` of a function that does not read F."""
        return _not_empty(self.bare.sum(function, *args))


def votes_of(combiner: Any, F: Any, y: Any, held_out: Any, sample_weight: Any) -> Votes:
    """Return the checked rows of arrays, or of Dask collections.

    Sets the number and names of members on the combiner. Its `check_chunks` raises
    if it takes no Dask collections.
    """
    if is_dask(F, y, held_out, sample_weight):
        check_lead(F=F, y=y, held_out=held_out, sample_weight=sample_weight)
        combiner.check_chunks(int(F.shape[2]) if len(F.shape) == 3 else None)
        votes: Votes = _chunked_votes(F, y, held_out, sample_weight)
        F = F._meta if hasattr(F, "columns") else np.empty((1, F.shape[1]))
    else:
        votes = Votes.checked(F, y, held_out, sample_weight)
    validate_data(combiner, F, skip_check_array=True)
    return votes


def checked_rows(
    roster: Roster, X: Any, y: Any, *, oob: bool, sample_weight: Any
) -> tuple[Any, BoolArray | None, FloatArray | None]:
    """Return targets, the held-out mask and the row weights of an ensemble's rows.

    Targets (N,) are numbers, or the positions of the labels in the ensemble's classes.
    The mask (N, M) is None without `oob`. Raises ValueError if `oob` is impossible.
    """
    if y is None:
        raise ValueError("y is None: pass a target for every row.")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    y = as_numbers(y) if roster.classes is None else label_codes(y, roster.classes)
    held_out = None
    if oob:
        if roster.held_out is None:
            raise ValueError(f"oob=True is not possible here. {roster.no_oob_reason}")
        held_out = roster.held_out(n_rows(X))
        check_held_out(held_out, held_out.shape)
    return y, held_out, check_sample_weight(sample_weight, X)


def packed(mask: BoolArray) -> dict[str, Any]:
    """Return a mask as its shape and its bits.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.votes import packed, unpacked
    >>> packed(np.eye(3, dtype=bool))
    {'shape': (3, 3), 'bits': array([136, 128], dtype=uint8)}
    >>> unpacked(**packed(np.eye(2, dtype=bool)))
    array([[ True, False],
           [False,  True]])
    """
    return {"shape": mask.shape, "bits": np.packbits(mask)}


def unpacked(shape: tuple[int, ...], bits: Any) -> BoolArray:
    """Return the mask of `packed`. Raises ValueError if shape and bits disagree."""
    size = math.prod(shape)
    if min(shape) < 0 or len(bits) != -(-size // 8):
        raise ValueError(f"A mask of shape {shape} does not have {8 * len(bits)} bits.")
    return np.unpackbits(bits, count=size).astype(bool).reshape(shape)


class Largest(NamedTuple):
    """The largest of some numbers, or the largest of each column."""

    value: Any

    def plus(self, other: Largest) -> Largest:
        """Return the larger of both."""
        return Largest(np.maximum(self.value, other.value))


class Sums(tuple[Any, ...]):
    """Several sums over the same rows, made in one pass."""

    def plus(self, other: Sums) -> Sums:
        """Add entry by entry."""
        return Sums(
            one.plus(two) if hasattr(one, "plus") else one + two
            for one, two in zip(self, other, strict=True)
        )


def weight_and_rows(votes: Votes) -> FloatArray:
    """Return the total weight and the number of rows."""
    assert votes.sample_weight is not None
    return np.array([votes.sample_weight.sum(), len(votes.sample_weight)])


def _weight_sums(votes: Votes) -> WeightSums:
    assert votes.sample_weight is not None
    return WeightSums.of(votes.sample_weight)


def _moment_sums(votes: Votes, weights: WeightSums | None, scale: float) -> MomentSums:
    s = votes.sample_weight
    if weights is not None and s is not None:
        s = weights.effective(s)
    return moment_sums(votes.F, votes.y, votes.held_out, s, scale)


def _largest_error(votes: Votes) -> Largest:
    return Largest(largest_error(votes.F, votes.y, votes.held_out))


def in_squared_units(value: FloatArray | float, unit: float) -> float:
    """Return max(value, 0) unit^2, such as w'Cw in the units of y."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.maximum(value, 0.0) * np.float64(unit) ** 2)


def _of_members(votes: Any, members: IntArray, masked: bool) -> Any:
    """Return the rows with some of the members; None for a chunk without rows."""
    if votes is None:
        return None
    mask, F = votes.held_out, votes.F
    return replace(
        votes,
        F=F[:, members] if F.shape[1] else F,
        held_out=mask[:, members] if masked and mask is not None else None,
    )


def _not_empty(total: Any) -> Any:
    if total is None:
        raise ValueError(
            "F must have at least one row of positive weight. Every chunk is empty."
        )
    return total


def _chunked_votes(F: Any, y: Any, held_out: Any, sample_weight: Any) -> ChunkedVotes:
    """Return the rows of Dask collections; each block is checked where it is."""
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
        # A mask that is True everywhere is dropped, as it is in memory.
        mask = None if np.all(votes == votes[-1]) else mask
    n_classes = int(F.shape[2]) if len(F.shape) == 3 else None
    return ChunkedVotes(
        chunks=numbers.map(_checked, lead, blocks["y"], mask, weight),
        bare=numbers.map(_bare, blocks["y"], mask, weight, n_classes),
        n_members=int(F.shape[1]),
        n_classes=n_classes,
        masked=mask is not None,
        weighted=weight is not None,
        votes=votes,
    )


def _count_votes(
    numbers: Chunks, mask: Chunks, weight: Chunks | None, n_members: int
) -> IntArray:
    """Return the votes of each member, then the rows; raise if nobody votes."""
    votes: IntArray = numbers.sum(_count_true, mask, weight, n_members)
    if votes[-1] > 0 and not votes[:-1].any():
        raise ValueError(
            "held_out is False everywhere: no member left out any of the rows (or "
            "every such row has weight zero), so their errors cannot be estimated. "
            "Pass rows that the members were not trained on, or held_out=None to use "
            "the training rows."
        )
    return votes


def _count_true(number: int, mask: Any, s: Any, n_members: int) -> Any:
    """Return the True entries of each column, then the rows with positive weight."""
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


def _checked(number: int, F: Any, y: Any, mask: Any, s: Any) -> Votes | None:
    """Return the rows of one chunk with a positive weight, or None."""
    with naming(number):
        F, y = np.asarray(F), np.asarray(y)
        check_same_rows(F=F, y=y)
        if len(F) == 0:
            return None
        F = check_predictions(F)
        return _counted(F, check_targets(F, y), mask, s)


def _bare(
    number: int, y: Any, mask: Any, s: Any, n_classes: int | None
) -> Votes | None:
    """Return the rows of one chunk with an F of no members, or None."""
    with naming(number):
        if len(y) == 0:
            return None
        F = np.zeros((len(y), 0) if n_classes is None else (len(y), 0, n_classes))
        return _counted(F, check_targets(F, np.asarray(y)), mask, s)


def _counted(F: FloatArray, y: Any, mask: Any, s: Any) -> Votes | None:
    """Return the rows with a positive weight, or None if there is none."""
    mask = None if mask is None else np.asarray(mask)
    if mask is not None and (mask.dtype != np.bool_ or len(mask) != len(F)):
        raise ValueError(
            f"held_out must be a boolean array with {len(F)} rows. Got dtype "
            f"{mask.dtype} and shape {mask.shape}."
        )
    s = check_chunk_weight(s, len(y))
    votes = Votes(F, y, mask, s)
    if s is None or np.all(s > 0):
        return votes
    return votes.at(s > 0) if np.any(s > 0) else None
