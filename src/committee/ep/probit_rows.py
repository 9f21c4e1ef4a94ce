"""The N probit terms: one block of rows at a time, given the posterior of w.

Rows are independent given (m, V). A sweep is therefore a map of `update_block` over
blocks of rows and a sum of what it returns, wherever the map runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee._files import replaced_atomically
from committee.ep.gaussian import Array, cavity, log_scale
from committee.ep.sites import PROBIT
from committee.ep.truncated import Normal, moment_mismatch

Index = NDArray[np.intp]

# Elements of S in one block: two megabytes, what a core's own cache holds.
_BLOCK_ELEMENTS = 2**18


class RowSites(NamedTuple):
    """Sites (t_n, u_n) of the rows; a row of weight s counts s copies of its site."""

    t: Array
    u: Array

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

    L: Array
    h: Array
    diagonal: Array

    def plus(self, other: Messages) -> Messages:
        """Return the messages of both sets of rows."""
        return Messages(
            self.L + other.L, self.h + other.h, self.diagonal + other.diagonal
        )


class RowUpdate(NamedTuple):
    """New sites and their messages; the other measures belong to the old sites."""

    sites: RowSites
    messages: Messages
    log_scales: float
    c_mean: Array
    c_var: Array
    log_z: Array
    mismatch: float

    @classmethod
    def merge(cls, blocks: Sequence[RowUpdate]) -> RowUpdate:
        """Put blocks of rows together: sums, concatenated rows, worst mismatch."""
        return cls(
            RowSites(
                np.concatenate([b.sites.t for b in blocks]),
                np.concatenate([b.sites.u for b in blocks]),
            ),
            reduce(Messages.plus, (b.messages for b in blocks)),
            sum(b.log_scales for b in blocks),
            np.concatenate([b.c_mean for b in blocks]),
            np.concatenate([b.c_var for b in blocks]),
            np.concatenate([b.log_z for b in blocks]),
            max(b.mismatch for b in blocks),
        )


def column_tops(F: Array) -> Array:
    """Return the largest |F_ni| of each column."""
    blocks = row_blocks(*F.shape)
    return np.asarray(np.max([np.abs(F[b]).max(axis=0) for b in blocks], axis=0))


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the rows into blocks that fit the cache."""
    size = max(64, _BLOCK_ELEMENTS // max(n_columns, 1))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def float_blocks(S: Array) -> Iterator[tuple[slice, Array]]:
    """Yield (rows, S[rows] as floats); what is yielded lasts until the next one.

    Rows of another type are converted in one place: new memory for every block can
    cost more than the arithmetic.
    """
    room: Array | None = None
    for rows in row_blocks(*S.shape):
        if S.dtype == np.float64:
            yield rows, S[rows]
            continue
        if room is None:
            room = np.empty((rows.stop, S.shape[1]))
        block = room[: rows.stop - rows.start]
        block[...] = S[rows]
        yield rows, block


def update_block(
    S: Array,
    active: Index,
    sites: RowSites,
    q: Normal,
    *,
    weight: Array | None = None,
    step: float = 1.0,
) -> RowUpdate:
    """Move the probit sites of one block of rows, all at once.

    s2_n = S_n' V S_n,  mu_n = S_n' m,  cavity without (t_n, u_n), match Phi

    Parameters
    ----------
    S : array of shape (B, M)
        Signed predictions y_n F_n of the block, all members.
    active : array of shape (a,)
        The members that q is about.
    sites : RowSites
        The sites that q was computed from.
    q : Normal
        The posterior of the a weights.
    weight : array of shape (B,), optional
        Row weights s_n. The term Phi^s is s copies of one site. The cavity is
        without one copy, or without all there is when s < 1.
    step : float
        Damping: 1 moves the sites all the way.

    Returns
    -------
    RowUpdate
        `sites` are the new ones and `messages` theirs; `log_scales`, the cavities
        (`c_mean`, `c_var`), `log_z` = log Phi and `mismatch` belong to the old.
    """
    S = np.asarray(S, dtype=np.float64)
    S_a = S if len(active) == S.shape[1] else S[:, active]
    half = S_a @ q.root
    s2 = np.einsum("na,na->n", half, half)
    share = 1.0 if weight is None else np.minimum(weight, 1.0)
    c_mean, c_var = cavity(S_a @ q.mean, s2, share * sites.t, share * sites.u)
    log_z, rho, kappa, shrink = PROBIT.tilted(c_mean, c_var)
    log_s = log_scale(log_z, c_mean, c_var, sites.t, sites.u)
    # Equal to (mu, s2), except for weights below one, whose cavity keeps a share.
    grown = 1.0 + sites.t * c_var
    mismatch = moment_mismatch(
        (c_mean + c_var * sites.u) / grown,
        c_var / grown,
        c_mean + c_var * rho,
        c_var * shrink,
    )
    t = sites.t + step * (kappa / shrink - sites.t)
    u = sites.u + step * ((rho + c_mean * kappa) / shrink - sites.u)
    idle = s2 == 0.0
    if idle.any():
        votes = S[idle].any(axis=1)
        t[idle] *= votes
        u[idle] *= votes
    new = RowSites(t, u)
    return RowUpdate(
        new,
        block_messages(S, S_a, new, weight),
        float(log_s.sum() if weight is None else weight @ log_s),
        c_mean,
        c_var,
        log_z,
        mismatch,
    )


def block_messages(
    S: Array, S_a: Array, sites: RowSites, weight: Array | None
) -> Messages:
    """Return the messages of one block of rows."""
    t, u = sites
    if weight is not None:
        t, u = weight * t, weight * u
    # The same as t @ (S * S), without another array of the size of S.
    diagonal = np.einsum("n,nm,nm->m", t, S, S)
    return Messages(S.T @ (S_a * t[:, None]), u @ S, diagonal)


def sweep(
    S: Array,
    active: Index,
    sites: RowSites,
    q: Normal,
    *,
    weight: Array | None = None,
    step: float = 1.0,
) -> RowUpdate:
    """Run `update_block` over all rows, in blocks that fit the cache."""
    return RowUpdate.merge(
        [
            update_block(
                block,
                active,
                RowSites(sites.t[rows], sites.u[rows]),
                q,
                weight=None if weight is None else weight[rows],
                step=step,
            )
            for rows, block in float_blocks(S)
        ]
    )


def row_messages(S: Array, sites: RowSites, weight: Array | None) -> Messages:
    """Return the messages of all rows when no member is active yet."""
    no_member = np.zeros((len(S), 0))
    blocks = [
        block_messages(
            block,
            no_member[rows],
            RowSites(sites.t[rows], sites.u[rows]),
            None if weight is None else weight[rows],
        )
        for rows, block in float_blocks(S)
    ]
    return reduce(Messages.plus, blocks)


def sites_at_zero(S: Array) -> RowSites:
    """Return the sites of a posterior without weights: Phi matched at w'S_n = 0.

    t = r(0)^2, u = r(0); (0, 0) for rows on which every member abstains.
    """
    votes = np.concatenate([S[rows].any(axis=1) for rows in row_blocks(*S.shape)])
    u = np.sqrt(2.0 / np.pi) * votes
    return RowSites(u * u, u)
