"""Rows of votes, and the sweeps of the probit likelihood over them.

Rows are independent given the posterior (m, V) of the weights. A sweep is a map of
`update_block` over blocks of rows and a sum of what it returns. Sites stay with their
rows; only sums of the size of the committee leave them, so rows can be kept in one
array (`ProbitRows`) or in many chunks (`ChunkedProbitRows`).
"""

from __future__ import annotations

import os
import shutil
import weakref
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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
                "it is of other rows or other chunks."
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


class SweptRows(Protocol):
    """Signed rows S_n that can be swept over; the type of their sites is their own."""

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

    def products(self, sites: Any, members: IntArray) -> FloatArray:
        """Return S_b' diag(s t) S_b of the members b, (len(members), len(members))."""

    def sweep(
        self, sites: Any, active: IntArray, q: Normal, step: float
    ) -> tuple[Any, SweepSums]:
        """Move all sites; return the new ones, and sums over rows."""

    def save(self, sites: Any, folder: Path) -> None:
        """Save sites to a folder."""

    def load(self, folder: Path) -> Any:
        """Return the sites that were saved to a folder."""


@dataclass(frozen=True, eq=False)
class ProbitRows:
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
        """Return the part of L among some members, from the present sites."""
        t = sites.t if self.weight is None else sites.t * self.weight
        L = np.zeros((len(members), len(members)))
        for rows in row_blocks(len(self.S), len(members)):
            root = self.S[rows].take(members, axis=1) * np.sqrt(t[rows, None])
            L += root.T @ root
        return L

    def sweep(
        self, sites: RowSites, active: IntArray, q: Normal, step: float
    ) -> tuple[RowSites, SweepSums]:
        """Move the sites of all rows at once, by a share `step` of the way."""
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


Record = dict[str, Any]


class _Sites:
    """The sites after a sweep: in memory, or in the folder until they are needed."""

    def __init__(self, number: int, value: Any = None) -> None:
        self.number = number
        self.value = value


class RecordedRows:
    """Rows of votes with a record of all their sums: a fit can be interrupted and resumed.

    The control loop depends on the rows only through sums. They are recorded in order: a
    new start reads them instead of sweeping, comes to the same decisions, and continues
    with the sites of the last sweep, which are saved beside the sums.

    Parameters
    ----------
    rows : SweptRows
        The rows themselves, the same in every start.
    folder : path
        Made if it is not there; the workers of a cluster must reach it too.
    """

    def __init__(self, rows: SweptRows, folder: str | os.PathLike[str]) -> None:
        self.rows = rows
        self.n_members, self.n_rows = rows.n_members, rows.n_rows
        # Workers may have been started in another directory.
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._n_records = 0
        self._released: set[int] = set()

    def initial_sites(self) -> _Sites:
        """Return the sites of a posterior without weights."""
        return self._tracked(0)

    def messages(self, sites: _Sites) -> Messages:
        """Return the messages, once they agree with the record."""
        messages = self.rows.messages(self._value(sites))
        known = self._recall({"sites": sites.number})
        if known is None:
            self._record({"sites": sites.number, **messages._asdict()})
        elif not np.allclose(known["diagonal"], messages.diagonal, rtol=1e-9, atol=0.0):
            raise self._other_rows()
        return messages

    def products(self, sites: _Sites, members: IntArray) -> FloatArray:
        """Return the part of L among some members."""
        request = {"sites": sites.number, "members": members}
        known = self._recall(request)
        if known is not None:
            return np.asarray(known["products"])
        products = self.rows.products(self._value(sites), members)
        self._record({**request, "products": products})
        return products

    def sweep(
        self, sites: _Sites, active: IntArray, q: Normal, step: float
    ) -> tuple[_Sites, SweepSums]:
        """Sweep, unless the outcome is known."""
        request = {"sites": sites.number, "members": active, "mean": q.mean}
        number = self._n_records + 1
        known = self._recall(request)
        if known is not None:
            return self._tracked(number), _sums_of(known)
        value, sums = self.rows.sweep(self._value(sites), active, q, step)
        self.rows.save(value, self._place(number))
        self._record({**request, **_record_of(sums)})
        return self._tracked(number, value), sums

    def save(self, sites: _Sites, folder: Path) -> None:
        """Save the sites to another folder."""
        self.rows.save(self._value(sites), folder)

    def load(self, folder: Path) -> Any:
        """Return sites from another folder."""
        return self.rows.load(folder)

    def _tracked(self, number: int, value: Any = None) -> _Sites:
        """Return sites that are released when nothing refers to them."""
        sites = _Sites(number, value)
        weakref.finalize(sites, self._released.add, number).atexit = False
        return sites

    def _value(self, sites: _Sites) -> Any:
        if sites.value is None:
            if sites.number == 0:
                sites.value = self.rows.initial_sites()
            else:
                sites.value = self.rows.load(self._place(sites.number))
        return sites.value

    def _place(self, number: int) -> Path:
        return self.folder / f"sites-{number:05d}"

    def _recall(self, request: Record) -> Record | None:
        """Return the next record if there is one, of the same request."""
        file = self.folder / f"{self._n_records:05d}.npz"
        if not file.exists():
            return None
        with np.load(file) as stored:
            record = dict(stored)
        for name, value in request.items():
            if name not in record or not _equal(record[name], value):
                raise self._other_rows()
        self._n_records += 1
        return record

    def _record(self, record: Record) -> None:
        """Write a record; then remove the sites that were released."""
        with replaced_atomically(self.folder / f"{self._n_records:05d}.npz") as file:
            np.savez(file, **record)
        self._n_records += 1
        while self._released:
            shutil.rmtree(self._place(self._released.pop()), ignore_errors=True)

    def _other_rows(self) -> ValueError:
        return ValueError(
            f"The checkpoint in {self.folder} is of other rows or other options: give "
            "another folder, or remove this one."
        )


def _equal(known: Any, value: Any) -> bool:
    known, value = np.asarray(known), np.asarray(value)
    return known.shape == value.shape and np.allclose(known, value, rtol=1e-6)


def _record_of(sums: SweepSums) -> Record:
    """Return the sums as arrays."""
    measures = [sums.log_scales, sums.mismatch, *sums.scores]
    return {**sums.messages._asdict(), "measures": np.array(measures)}


def _sums_of(record: Record) -> SweepSums:
    log_scales, mismatch, *scores = record["measures"].tolist()
    messages = Messages(record["L"], record["h"], record["diagonal"])
    return SweepSums(messages, log_scales, mismatch, ScoreSums(*scores))
