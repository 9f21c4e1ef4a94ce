"""Rows of votes, and the sweeps of the probit likelihood over them.

Rows are independent given the posterior (m, V) of the weights. A sweep is a map of
`update_block` over blocks of rows and a sum of what it returns. Sites stay with their
rows; only sums of the size of the committee leave them, so rows can be kept in one
array (`ProbitRows`) or in many chunks (`ChunkedProbitRows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dtrmm
from sklearn.utils import check_array

from committee._files import replaced_atomically
from committee._typing import FloatArray, IntArray
from committee._validation import check_sample_weight
from committee.ep.arrays import float_blocks, row_blocks, signed_scale
from committee.ep.loo import LeaveOneOut, ScoreSums, vote_loo
from committee.ep.sites import Normal, cavity, log_scale, moment_mismatch, tilted


class RowSites(NamedTuple):
    """Sites (t_n, u_n) of the rows; a row of weight s counts s copies of its site."""

    t: FloatArray
    u: FloatArray

    def of_rows(self, rows: slice) -> RowSites:
        """Return the sites of some rows."""
        return RowSites(self.t[rows], self.u[rows])

    def save(self, path: Path) -> None:
        """Write the sites to a file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_atomically(path) as file:
            np.savez(file, t=self.t, u=self.u)

    @classmethod
    def load(cls, path: Path, n_rows: int) -> RowSites:
        """Read the sites of a number of rows from a file."""
        with np.load(path) as stored:
            sites = cls(stored["t"], stored["u"])
        if len(sites.t) != n_rows:
            raise ValueError(
                f"{path} has the sites of {len(sites.t)} rows, but there are {n_rows}: "
                "it belongs to other rows or chunks."
            )
        return sites


class Messages(NamedTuple):
    """The rows' messages about the weights, summed over rows.

    L = S' diag(s t) S_a of shape (M, a), h = S' (s u) of shape (M,), and
    diagonal = sum_n s_n t_n S_n^2 of shape (M,).
    """

    L: FloatArray
    h: FloatArray
    diagonal: FloatArray

    def plus(self, other: Messages) -> Messages:
        """Return the messages of both sets of rows."""
        return Messages(
            self.L + other.L, self.h + other.h, self.diagonal + other.diagonal
        )


class SweepSums(NamedTuple):
    """The sums of a sweep: messages of the new sites, all else of the old ones.

    `mismatch` is the largest difference of moments; `rows` are the leave-one-out
    estimates row by row, None where only their sums left the rows.
    """

    messages: Messages
    log_scales: float
    mismatch: float
    scores: ScoreSums
    rows: LeaveOneOut | None = None

    def plus(self, other: SweepSums) -> SweepSums:
        """Return the sums over both sets of rows, and the worse mismatch."""
        return SweepSums(
            self.messages.plus(other.messages),
            self.log_scales + other.log_scales,
            max(self.mismatch, other.mismatch),
            self.scores.plus(other.scores),
        )


@dataclass(frozen=True, eq=False)
class ProbitRows:
    """Signed rows in one array, swept over in blocks that fit the cache.

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows y_n F_n of any real type; 0 is an abstention.
    weight : array of shape (N,), default=None
        Row weights, as powers of the terms.
    group : int
        Number of consecutive rows that make one case.
    """

    S: FloatArray
    weight: FloatArray | None = None
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
        """Return Phi matched at w'S_n = 0: t = r(0)^2, u = r(0).

        Rows on which every member abstains have no site: (0, 0).
        """
        S = self.S
        voted = np.concatenate([S[rows].any(axis=1) for rows in row_blocks(*S.shape)])
        u = np.sqrt(2.0 / np.pi) * voted
        return RowSites(u * u, u)

    def messages(self, sites: RowSites) -> Messages:
        """Return the messages while no member is active."""
        no_member = np.arange(0)
        blocks = [
            _messages(
                S, no_member, S[:, :0], sites.of_rows(rows), self._weight_of(rows)
            )
            for rows, S in float_blocks(self.S)
        ]
        return reduce(Messages.plus, blocks)

    def products(self, sites: RowSites, members: IntArray) -> FloatArray:
        """Return S_b' diag(s t) S_b of the members b, from the present sites."""
        t = sites.t if self.weight is None else sites.t * self.weight
        L = np.zeros((len(members), len(members)))
        for rows in row_blocks(len(self.S), len(members)):
            root = self.S[rows].take(members, axis=1) * np.sqrt(t[rows, None])
            L += root.T @ root
        return L

    def sweep(
        self, sites: RowSites, active: IntArray, q: Normal, step: float
    ) -> tuple[RowSites, SweepSums]:
        """Update the sites of all rows at once, damped by `step`.

        Returns the new sites, and sums over rows.
        """
        blocks = [
            update_block(
                S, active, sites.of_rows(rows), q, self._weight_of(rows), step=step
            )
            for rows, S in float_blocks(self.S)
        ]
        t, u, c_mean, c_var, log_z = (
            np.concatenate(arrays)
            for arrays in zip(
                *((*b.sites, b.c_mean, b.c_var, b.log_z) for b in blocks), strict=True
            )
        )
        rows = vote_loo(c_mean, c_var, log_z, self.weight, self.group)
        return RowSites(t, u), SweepSums(
            reduce(Messages.plus, (block.messages for block in blocks)),
            sum(block.log_scales for block in blocks),
            max(block.mismatch for block in blocks),
            rows.sums,
            rows,
        )

    def save(self, sites: RowSites, folder: Path) -> None:
        """Save sites to a folder."""
        sites.save(folder / "rows.npz")

    def load(self, folder: Path) -> RowSites:
        """Return the sites that were saved to a folder."""
        return RowSites.load(folder / "rows.npz", len(self.S))

    def _weight_of(self, rows: slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]


def checked_votes(
    S: ArrayLike, sample_weight: ArrayLike | None, group: int
) -> tuple[ProbitRows, FloatArray]:
    """Return signed rows with columns of moderate size, and the unit of their weights."""
    votes = check_array(S, dtype=[np.float64, np.float32], input_name="S")
    weight = check_sample_weight(sample_weight, votes)
    if group < 1 or len(votes) % group:
        raise ValueError(
            f"group must divide the number of rows, {len(votes)}, into cases. Got "
            f"{group}."
        )
    votes, scale = signed_scale(votes)
    return ProbitRows(votes, weight, group), 1.0 / scale


class RowUpdate(NamedTuple):
    """New sites and their messages; the other measures belong to the old sites."""

    sites: RowSites
    messages: Messages
    log_scales: float
    c_mean: FloatArray
    c_var: FloatArray
    log_z: FloatArray
    mismatch: float


def update_block(
    S: FloatArray,
    active: IntArray,
    sites: RowSites,
    q: Normal,
    weight: FloatArray | None = None,
    *,
    step: float = 1.0,
) -> RowUpdate:
    """Move the probit sites of one block S of shape (B, M), all at once.

    s2_n = S_n' V S_n,  mu_n = S_n' m,  cavity without (t_n, u_n), match Phi

    q is the posterior of the a active weights that `sites` gave. The term Phi^s of a
    row of weight s is s copies of one site; the cavity is without one copy, or
    without all there is when s < 1.
    """
    # S[:, active] would be in Fortran order, at three times the cost.
    S_a = S if len(active) == S.shape[1] else S.take(active, axis=1)
    # diag(S V S') by the root of V: never negative, and no (B, B) matrix. The root is
    # triangular, its transpose in Fortran order, and so is the one of S_a.
    half = dtrmm(1.0, q.root.T, S_a.T, lower=1)
    s2 = np.einsum("an,an->n", half, half)
    share = 1.0 if weight is None else np.minimum(weight, 1.0)
    c_mean, c_var = cavity(S_a @ q.mean, s2, share * sites.t, share * sites.u)
    term = tilted(c_mean, c_var, noise=1.0)
    log_s = log_scale(term.log_z, c_mean, c_var, sites.t, sites.u)
    # Equal to (mu, s2), except for weights below one, whose cavity keeps a share.
    grown = 1.0 + sites.t * c_var
    mismatch = moment_mismatch(
        (c_mean + c_var * sites.u) / grown, c_var / grown, term.mean, term.var
    )
    new_t, new_u = term.site
    t = sites.t + step * (new_t - sites.t)
    u = sites.u + step * (new_u - sites.u)
    # No active member votes here. A row on which others do keeps its site, which
    # measures what they could gain; one without any vote never has one.
    idle = (s2 == 0.0) & (sites.u == 0.0)
    if idle.any():
        voted = S[idle].any(axis=1)
        t[idle] *= voted
        u[idle] *= voted
    new = RowSites(t, u)
    return RowUpdate(
        new,
        _messages(S, active, S_a, new, weight),
        float(log_s.sum() if weight is None else weight @ log_s),
        c_mean,
        c_var,
        term.log_z,
        mismatch,
    )


def _messages(
    S: FloatArray,
    active: IntArray,
    S_a: FloatArray,
    sites: RowSites,
    weight: FloatArray | None,
) -> Messages:
    """Return the messages of one block of rows."""
    t, u = sites
    if weight is not None:
        t, u = weight * t, weight * u
    if 2 * len(active) > S.shape[1]:
        # All of S' diag(t) S as R'R, of which BLAS computes one half, costs less than
        # more than half of its columns.
        R = S * np.sqrt(t)[:, None]
        G = R.T @ R
        return Messages(G[:, active], u @ S, G.diagonal())
    return Messages(S.T @ (S_a * t[:, None]), u @ S, t @ (S * S))
