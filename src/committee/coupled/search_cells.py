"""Candidates and the best of them; those of cells, by leave-one-out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from committee._progress import track
from committee._typing import FloatArray
from committee.cells.with_trend import train_around_trend
from committee.coupled.rows import Rows
from committee.kernels import SCALED, make_kernel

#: Of gamma, around the median heuristic: distances within a cell are shorter.
_STEPS = (0.1, 0.3, 1.0, 3.0, 9.0)


@dataclass(frozen=True)
class SearchResult:
    """Every candidate, and the best.

    Attributes
    ----------
    estimator : coupled estimator
        Not fitted; with the best parameters.
    best_params : dict
        gamma, alpha and coupling.
    best_error : float
    gamma, alpha, coupling : arrays of shape (n_candidates,)
    error : array of shape (n_candidates,)
        Mean squared error, or share of wrong labels; nan where the system was not
        positive definite.
    """

    estimator: Any
    best_params: dict[str, float]
    best_error: float
    gamma: FloatArray
    alpha: FloatArray
    coupling: FloatArray
    error: FloatArray


def best_of(estimator: Any, grid: FloatArray, error: FloatArray) -> SearchResult:
    """Return all candidates, (n, 3), with their errors, and an estimator of the best."""
    if not np.any(np.isfinite(error)):
        raise ValueError("No candidate has a positive definite system: raise alphas.")
    best = int(np.nanargmin(error))
    params = dict(zip(("gamma", "alpha", "coupling"), grid[best].tolist(), strict=True))
    return SearchResult(
        estimator=clone(estimator).set_params(**params),
        best_params=params,
        best_error=float(error[best]),
        gamma=grid[:, 0],
        alpha=grid[:, 1],
        coupling=grid[:, 2],
        error=error,
    )


def search_cells(
    estimator: Any,
    data: Rows,
    gammas: Sequence[float] | None,
    alphas: Sequence[float],
    couplings: Sequence[float],
    verbose: bool,
) -> SearchResult:
    """Try every candidate; all couplings share the factors of a gamma and an alpha.

    The error is that of squares, of targets +-1 for classes.
    """
    kernel = "rbf" if estimator.kernel is None else estimator.kernel
    # Candidates are compared by cells alone, unless a trend is asked for.
    trend = bool(estimator.trend)
    estimator = clone(estimator).set_params(kernel=kernel, trend=trend)
    rows = data.take(data.counted())
    if gammas is None:
        middle = make_kernel(kernel, rows.X).gamma
        scaled = isinstance(kernel, str) and kernel in SCALED
        gammas = [middle * step for step in (_STEPS if scaled else (1.0,))]

    given = rows.X, rows.Y, rows.s

    def errors() -> Iterator[list[float]]:
        for gamma, alpha in product(gammas, alphas):
            estimator.set_params(gamma=gamma, alpha=alpha)
            options = estimator._cell_options(couplings)
            try:
                tried = train_around_trend(*given, options, trend).errors
            except np.linalg.LinAlgError:
                tried = {}
            # A single cell has no border, and the same error at every coupling.
            yield [tried.get(nu, tried.get(0.0, np.nan)) for nu in couplings]

    n = len(gammas) * len(alphas)
    error = np.array(list(track(errors(), n, "searching", verbose))).reshape(-1)
    grid = np.array(list(product(gammas, alphas, couplings)), dtype=np.float64)
    return best_of(estimator, grid, error)
