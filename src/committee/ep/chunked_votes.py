"""Probit rows in chunks: sites stay with them, sums of a x a matrices travel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from committee.distributed.chunks import Chunks
from committee.distributed.collections import numbered
from committee.ep.gaussian import Array
from committee.ep.loo import Score
from committee.ep.moments import moderate_scale
from committee.ep.probit_rows import Index, Messages, RowSites, column_tops
from committee.ep.truncated import Normal
from committee.ep.votes import SweepSums, Votes


class _Swept(NamedTuple):
    """What stays with a chunk after a sweep, and what is taken from it."""

    sites: RowSites
    sums: SweepSums | None


class _Facts(NamedTuple):
    """Number and total weight of rows, and the largest entry of each column."""

    n_rows: int
    weight: float
    tops: Array

    def plus(self, other: _Facts) -> _Facts:
        return _Facts(
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            np.maximum(self.tops, other.tops),
        )


class ChunkedVotes:
    """`committee.ep.Votes` in chunks, all swept at once by Dask.

    Parameters
    ----------
    chunks : Chunks of Votes

    Attributes
    ----------
    unit : array of shape (M,)
        Factor from weights of these rows to weights of the rows as they came.
    """

    def __init__(self, chunks: Chunks) -> None:
        chunks = chunks.map(_compact).kept()
        facts = chunks.sum(_facts)
        if facts is None:
            raise ValueError("F must have at least one row. Every chunk is empty.")
        scale = moderate_scale(facts.tops)
        if (scale != 1.0).any():
            chunks = chunks.map(_scaled, scale).kept()
        self.chunks = chunks
        self.unit = 1.0 / scale
        self._count: int = facts.n_rows
        self._weight: float = facts.weight

    @property
    def n_members(self) -> int:
        """M."""
        return len(self.unit)

    @property
    def n_rows(self) -> float:
        """Return the total weight of the rows."""
        return self._weight

    def initial_sites(self) -> Chunks:
        """Return the sites of a posterior without weights, chunk by chunk."""
        return self.chunks.map(_initial_sites).kept()

    def messages(self, sites: Chunks) -> Messages:
        """Return the messages while no member is active."""
        total: Messages = self.chunks.sum(_messages, sites)
        return total

    def columns(self, sites: Chunks, members: Index) -> Array:
        """Return the columns of L about some members, from the present sites."""
        total: Array = self.chunks.sum(_columns, sites, members)
        return total

    def sweep(
        self, sites: Chunks, active: Index, q: Normal, step: float
    ) -> tuple[Chunks, SweepSums]:
        """Sweep over every chunk where it is; only (m, V) is sent there."""
        sent = q._replace(cov=np.empty((0, 0)))
        swept = self.chunks.map(_sweep, sites, active, sent, step).kept()
        return swept, swept.sum(_sums)

    def score(self, sums: SweepSums) -> Score:
        """Return the leave-one-out scores of a sweep."""
        return sums.scores.score

    def summed(self, sums: SweepSums) -> SweepSums:
        """Return the sums as they are."""
        return sums

    def save(self, sites: Chunks, folder: Path) -> None:
        """Let every worker save the sites of its chunks."""
        numbered(len(sites)).sum(_save, sites, folder)

    def load(self, folder: Path) -> Chunks:
        """Return the sites that were saved, each with its chunk."""
        return self.chunks.map(_load, numbered(len(self.chunks)), folder).kept()

    def mean_variance(self, active: Index, cov: Array) -> float:
        """Return the mean over rows of S_n' V S_n."""
        total: float = self.chunks.sum(Votes.total_variance, active, cov)
        return total / self._count


def _compact(votes: Votes) -> Votes:
    """Keep S in the smallest type that holds it exactly: a byte for a vote."""
    S = votes.S
    for kind in (np.int8, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):
            small: Any = S.astype(kind)
        if np.array_equal(small, S):
            return Votes(small, votes.weight, votes.group)
    return votes


def _facts(votes: Votes) -> _Facts:
    return _Facts(len(votes.S), votes.n_rows, column_tops(votes.S).astype(np.float64))


def _scaled(votes: Votes, scale: Array) -> Votes:
    return Votes(votes.S / scale, votes.weight, votes.group)


def _initial_sites(votes: Votes) -> _Swept:
    return _Swept(votes.initial_sites(), None)


def _messages(votes: Votes, swept: _Swept) -> Messages:
    return votes.messages(swept.sites)


def _columns(votes: Votes, swept: _Swept, members: Index) -> Array:
    return votes.columns(swept.sites, members)


def _sweep(
    votes: Votes, swept: _Swept, active: Index, q: Normal, step: float
) -> _Swept:
    """Sweep over one chunk, and score it while its cavities are at hand."""
    sites, update = votes.sweep(swept.sites, active, q, step)
    return _Swept(sites, votes.summed(update))


def _sums(swept: _Swept) -> SweepSums | None:
    return swept.sums


def _save(number: int, swept: _Swept | None, folder: Path) -> int:
    if swept is not None:
        swept.sites.save(folder / f"{number:05d}.npz")
    return 1


def _load(votes: Votes, number: int, folder: Path) -> _Swept:
    return _Swept(RowSites.load(folder / f"{number:05d}.npz", len(votes.S)), None)
