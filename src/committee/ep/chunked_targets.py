"""Rows of a regression in chunks: one pass for moments, one for each committee's LOO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.distributed.chunks import Chunks
from committee.ep.gaussian import Array
from committee.ep.loo import Score, ScoreSums
from committee.ep.moments import Moments, ProductSums, power_of_two, product_sums
from committee.ep.probit_rows import Index, column_tops
from committee.ep.targets import Targets
from committee.ep.truncated import Normal


class _Tops(NamedTuple):
    """The largest |F_ni| of each column, and the largest |y_n|."""

    F: Array
    y: float

    def plus(self, other: _Tops) -> _Tops:
        return _Tops(np.maximum(self.F, other.F), max(self.y, other.y))


class ChunkedTargets:
    """`committee.ep.Targets` in chunks.

    Parameters
    ----------
    chunks : Chunks of Targets
    """

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks.kept()

    def moments(self) -> Moments:
        """Return F'F, F'y and y'y, as `committee.ep.row_moments` does."""
        tops = self.chunks.sum(_tops)
        if tops is None:
            raise ValueError("F must have at least one row. Every chunk is empty.")
        scale, y_scale = power_of_two(tops.F), float(power_of_two(np.asarray(tops.y)))
        total: ProductSums = self.chunks.sum(_products, scale, y_scale)
        return total.moments(scale, y_scale)

    def score(
        self, active: Index, q: Normal, noise: float, scale: Array, y_scale: float
    ) -> Score:
        """Return the leave-one-out scores of a committee with posterior q."""
        sent = q._replace(cov=np.empty((0, 0)))
        total: ScoreSums = self.chunks.sum(
            _score_sums, active, sent, noise, scale, y_scale
        )
        return total.score


def _tops(rows: Targets) -> _Tops:
    return _Tops(column_tops(rows.F), float(np.abs(rows.y).max()))


def _products(rows: Targets, scale: Array, y_scale: float) -> ProductSums:
    return product_sums(rows.F, rows.y, rows.weight, scale, y_scale)


def _score_sums(
    rows: Targets, active: Index, q: Normal, noise: float, scale: Array, y_scale: float
) -> ScoreSums:
    return rows.loo(active, q, noise, scale, y_scale).sums
