"""Rows of a classification or a regression in chunks: only sums leave a chunk."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.distributed.chunks import Chunks
from committee.distributed.collections import numbered
from committee.ep.arrays import column_tops, compact, moderate_scale, power_of_two
from committee.ep.gaussian_rows import (
    Moments,
    ProductSums,
    Targets,
    Units,
    product_sums,
)
from committee.ep.loo import LooScore, ScoreSums
from committee.ep.probit_rows import Messages, ProbitRows, RowSites, SweepSums
from committee.ep.sites import Normal


class ChunkedProbitRows:
    """`committee.ep.ProbitRows` in chunks, all swept at once by Dask.

    Parameters
    ----------
    chunks : Chunks of ProbitRows

    Attributes
    ----------
    unit : array of shape (M,)
        Factor that converts weights of these rows to weights of the original rows.
    """

    def __init__(self, chunks: Chunks) -> None:
        chunks = chunks.map(_compact).kept()
        weight, tops = _facts(chunks, _vote_facts)
        scale = moderate_scale(np.max(tops, axis=0))
        if (scale != 1.0).any():
            chunks = chunks.map(_scaled, scale).kept()
        self.chunks = chunks
        self.unit = 1.0 / scale
        self.n_members, self.n_rows = len(scale), float(sum(weight))

    def initial_sites(self) -> Chunks:
        """Return the sites of a posterior without weights, chunk by chunk."""
        return self.chunks.map(ProbitRows.initial_sites).kept()

    def messages(self, sites: Chunks) -> Messages:
        """Return the messages while no member is active."""
        total: Messages = self.chunks.sum(ProbitRows.messages, sites)
        return total

    def products(self, sites: Chunks, members: IntArray) -> FloatArray:
        """Return the part of L among some members, from the present sites."""
        total: FloatArray = self.chunks.sum(ProbitRows.products, sites, members)
        return total

    def sweep(
        self, sites: Chunks, active: IntArray, q: Normal, step: float
    ) -> tuple[Chunks, SweepSums]:
        """Sweep over every chunk where it is; only q is sent there."""
        swept = self.chunks.map(_sweep, sites, active, _sent(q), step).kept()
        return swept.map(itemgetter(0)), swept.sum(itemgetter(1))

    def save(self, sites: Chunks, folder: Path) -> None:
        """Save the sites of each chunk on its worker."""
        numbered(len(sites)).sum(_save, sites, folder)

    def load(self, folder: Path) -> Chunks:
        """Return the sites that were saved, each with its chunk."""
        return self.chunks.map(_load, numbered(len(self.chunks)), folder).kept()


class ChunkedTargets:
    """`committee.ep.Targets` in chunks: a pass for moments, one for each committee's LOO.

    Parameters
    ----------
    chunks : Chunks of Targets
    """

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks.kept()

    def moments(self) -> Moments:
        """Return F'F, F'y and y'y, as `committee.ep.row_moments` does."""
        tops, y_tops = _facts(self.chunks, _target_facts)
        scale = power_of_two(np.max(tops, axis=0))
        y_scale = float(power_of_two(np.max(y_tops)))
        total: ProductSums = self.chunks.sum(_products, scale, y_scale)
        return total.moments(scale, y_scale)

    def score(
        self, active: IntArray, q: Normal, noise: float, units: Units
    ) -> LooScore:
        """Return the leave-one-out scores of a committee with posterior q."""
        total: ScoreSums = self.chunks.sum(_score_sums, active, _sent(q), noise, units)
        return total.score


#: Rows of a regression that can be left out one by one.
TargetRows = Targets | ChunkedTargets


def _sent(q: Normal) -> Normal:
    """Return the posterior without the covariance: rows need its root alone."""
    return q._replace(cov=np.empty((0, 0)))


def _compact(votes: ProbitRows) -> ProbitRows:
    return ProbitRows(compact(votes.S), votes.weight, votes.group)


def _facts(chunks: Chunks, facts_of: Callable[[Any], tuple[Any, ...]]) -> Any:
    """Return each of the facts of the chunks with rows, as one tuple over these."""
    found = [facts for facts in chunks.map(facts_of).values() if facts is not None]
    if not found:
        raise ValueError("F must have at least one row. Every chunk is empty.")
    return zip(*found, strict=True)


def _vote_facts(votes: ProbitRows) -> tuple[float, FloatArray]:
    """Return the weight of the rows, and the largest |entries| of the columns."""
    return votes.n_rows, column_tops(votes.S).astype(np.float64)


def _target_facts(rows: Targets) -> tuple[FloatArray, float]:
    """Return the largest |entries| of the columns, and of y."""
    return column_tops(rows.F), float(np.abs(rows.y).max())


def _scaled(votes: ProbitRows, scale: FloatArray) -> ProbitRows:
    return ProbitRows(votes.S / scale, votes.weight, votes.group)


def _sweep(
    votes: ProbitRows, sites: RowSites, active: IntArray, q: Normal, step: float
) -> tuple[RowSites, SweepSums]:
    """Return the sites, which stay with a chunk, and the sums, which leave it."""
    swept, sums = votes.sweep(sites, active, q, step)
    return swept, sums._replace(rows=None)


def _save(number: int, sites: RowSites | None, folder: Path) -> int:
    if sites is not None:
        sites.save(folder / f"{number:05d}.npz")
    return 1


def _load(votes: ProbitRows, number: int, folder: Path) -> RowSites:
    return RowSites.load(folder / f"{number:05d}.npz", len(votes.S))


def _products(rows: Targets, scale: FloatArray, y_scale: float) -> ProductSums:
    return product_sums(rows.F, rows.y, rows.weight, scale, y_scale)


def _score_sums(
    rows: Targets, active: IntArray, q: Normal, noise: float, units: Units
) -> ScoreSums:
    return rows.loo(active, q, noise, units).sums
