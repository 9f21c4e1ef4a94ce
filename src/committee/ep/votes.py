"""Rows of votes: what the probit likelihood needs of them.

Sites stay with their rows. What leaves them are sums over rows, of the size of the
committee, so rows can be kept in one array or in many places.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.loo import LeaveOneOut, Score, ScoreSums, vote_loo
from committee.ep.probit_rows import (
    Index,
    Messages,
    RowSites,
    RowUpdate,
    float_blocks,
    row_messages,
    sites_at_zero,
    sweep,
)
from committee.ep.truncated import Normal


class Sums(Protocol):
    """The sums of a sweep over all rows."""

    @property
    def messages(self) -> Messages:
        """The messages of the new sites."""

    @property
    def log_scales(self) -> float:
        """The sum over rows of the old sites' log scales."""

    @property
    def mismatch(self) -> float:
        """The largest difference of moments of the old sites."""


class VoteRows(Protocol):
    """Signed rows S_n that can be swept over; their sites are theirs to understand."""

    @property
    def n_members(self) -> int:
        """M."""

    @property
    def n_rows(self) -> float:
        """The number of rows, or their total weight."""

    def initial_sites(self) -> Any:
        """Return the sites of a posterior without weights."""

    def messages(self, sites: Any) -> Messages:
        """Return the messages while no member is active."""

    def columns(self, sites: Any, members: Index) -> Array:
        """Return the columns S' diag(s t) S_i of L, (M, len(members))."""

    def sweep(
        self, sites: Any, active: Index, q: Normal, step: float
    ) -> tuple[Any, Sums]:
        """Move all sites; return the new ones, and sums over rows."""

    def score(self, sums: Any) -> Score:
        """Return the leave-one-out scores of a sweep."""

    def summed(self, sums: Any) -> SweepSums:
        """Return the sums of a sweep without its rows."""

    def mean_variance(self, active: Index, cov: Array) -> float:
        """Return the mean over rows of S_n' V S_n."""

    def save(self, sites: Any, folder: Path) -> None:
        """Save sites to a folder."""

    def load(self, folder: Path) -> Any:
        """Return the sites that were saved to a folder."""


class SweepSums(NamedTuple):
    """The sums of a sweep over the rows of some chunks."""

    messages: Messages
    log_scales: float
    mismatch: float
    scores: ScoreSums

    def plus(self, other: SweepSums) -> SweepSums:
        """Return the sums over both sets of rows, and the worse mismatch."""
        return SweepSums(
            self.messages.plus(other.messages),
            self.log_scales + other.log_scales,
            max(self.mismatch, other.mismatch),
            self.scores.plus(other.scores),
        )


@dataclass(frozen=True, eq=False)
class Votes:
    """Signed rows in one array, swept over in blocks that fit the cache.

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows y_n F_n of any real type; 0 is an abstention.
    weight : array of shape (N,), optional
        Row weights, as powers of the terms.
    group : int
        Number of consecutive rows that make one case.
    """

    S: Array
    weight: Array | None = None
    group: int = 1

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.S.shape[1])

    @property
    def n_rows(self) -> float:
        """Return the total weight of the rows."""
        return float(len(self.S) if self.weight is None else self.weight.sum())

    def initial_sites(self) -> RowSites:
        """Return the sites of a posterior without weights."""
        return sites_at_zero(self.S)

    def messages(self, sites: RowSites) -> Messages:
        """Return the messages while no member is active."""
        return row_messages(self.S, sites, self.weight)

    def columns(self, sites: RowSites, members: Index) -> Array:
        """Return the columns of L about some members, from the present sites."""
        t = sites.t if self.weight is None else sites.t * self.weight
        L = np.zeros((self.n_members, len(members)))
        for rows, S in float_blocks(self.S):
            L += S.T @ (S[:, members] * t[rows, None])
        return L

    def sweep(
        self, sites: RowSites, active: Index, q: Normal, step: float
    ) -> tuple[RowSites, RowUpdate]:
        """Run one parallel sweep over the rows."""
        update = sweep(self.S, active, sites, q, weight=self.weight, step=step)
        return update.sites, update

    def loo(self, update: RowUpdate) -> LeaveOneOut:
        """Return the cavities of a sweep, scored."""
        return vote_loo(
            update.c_mean, update.c_var, update.log_z, self.weight, self.group
        )

    def score(self, sums: RowUpdate) -> Score:
        """Return the leave-one-out scores of a sweep."""
        return self.loo(sums).score

    def summed(self, sums: RowUpdate) -> SweepSums:
        """Return the sums of a sweep without its rows."""
        return SweepSums(
            sums.messages, sums.log_scales, sums.mismatch, self.loo(sums).sums
        )

    def save(self, sites: RowSites, folder: Path) -> None:
        """Save sites to a folder."""
        sites.save(folder / "rows.npz")

    def load(self, folder: Path) -> RowSites:
        """Return the sites that were saved to a folder."""
        return RowSites.load(folder / "rows.npz", len(self.S))

    def total_variance(self, active: Index, cov: Array) -> float:
        """Return the sum over rows of S_n' V S_n."""
        total = 0.0
        for _, S in float_blocks(self.S):
            S_a = S[:, active]
            total += float(np.einsum("na,ab,nb->", S_a, cov, S_a, optimize=True))
        return total

    def mean_variance(self, active: Index, cov: Array) -> float:
        """Return the mean over rows of S_n' V S_n, the variance of a vote."""
        return self.total_variance(active, cov) / len(self.S)
