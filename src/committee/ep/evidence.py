"""The evidence sequence: which members, and how strongly, by marginal likelihood.

After Tipping and Faul (2003) and Chen 3.5, 3.6, with one objective throughout:

    J(alpha) = log Z(alpha) - price x (number of members)
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee.ep.chunked_rows import TargetRows
from committee.ep.evidence_loop import run
from committee.ep.gaussian_rows import Moments, checked_targets
from committee.ep.likelihood import GaussianLikelihood, ProbitLikelihood
from committee.ep.loo import Loss
from committee.ep.probit_rows import checked_votes
from committee.ep.recorded_rows import SweptRows
from committee.path import Path


def classification_path(
    S: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: int = 1,
    **options: Any,
) -> Path:
    """Maximise log Z - price x size for probit votes, starting without members.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   p(y_n | w) = Phi(w'S_n)

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows S_n = y_n F_n, y_n = -1 or 1; 0 where a member abstains. For K
        classes the K - 1 rows F[n, :, y_n] - F[n, :, k] of a case follow each other.
    sample_weight : array-like of shape (N,), default=None
        Row weights, as powers of the terms.
    group : int
        Consecutive rows that make one case and share its weight; the case is wrong
        if one of them is.
    **options
        See `committee.ep.evidence_loop.run`.

    Returns
    -------
    Path
        At least one step: if no member is worth its price, the best single one.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import classification_path, preferred
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((300, 20)) < 0.7, 1.0, -1.0)
    >>> S[:, 10:] = S[:, :10]
    >>> step = preferred(classification_path(S).steps, "min-loo")
    >>> step.size <= 10, bool((step.weights >= 0).all())
    (True, True)
    """
    rows, unit = checked_votes(S, sample_weight, group)
    return votes_path(rows, unit=unit, **options)


def votes_path(
    rows: SweptRows,
    *,
    unit: FloatArray | None = None,
    **options: Any,
) -> Path:
    """Run `classification_path` on `ProbitRows`, `ChunkedProbitRows` or `RecordedRows`.

    `unit` of shape (M,) is the factor from weights of these rows to the weights that
    are reported.
    """
    with one_thread():
        return run(ProbitLikelihood(rows, unit=unit), **options)


def regression_path(
    F: ArrayLike,
    y: ArrayLike,
    *,
    noise: float | None = None,
    sample_weight: ArrayLike | None = None,
    loss: Loss | None = None,
    **options: Any,
) -> Path:
    """Maximise log Z - price x size under Gaussian noise, starting without members.

        p(w) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0],   y_n = w'F_n + N(0, noise)

    Parameters
    ----------
    F : array of shape (N, M)
        Predictions.
    y : array of shape (N,)
        Targets.
    noise : float, default=None
        Noise variance. None means learned along the path.
    sample_weight : array-like of shape (N,), default=None
        Row weights.
    loss : callable, default=None
        Maps the N leave-one-out predictions to the losses of the cases, N or N / K of
        them. None means the squared error.
    **options
        See `committee.ep.evidence_loop.run`.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import preferred, regression_path
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 4)) * [0.3, 0.3, 3.0, 3.0]
    >>> preferred(regression_path(F, y).steps).active
    array([0, 1])
    """
    rows = checked_targets(F, y, sample_weight, loss)
    return moments_path(rows.moments(), rows=rows, noise=noise, **options)


def moments_path(
    moments: Moments,
    *,
    rows: TargetRows | None = None,
    noise: float | None = None,
    **options: Any,
) -> Path:
    """Run `regression_path` from moments. G must be positive semi-definite.

    `rows` are `Targets` or `ChunkedTargets`, for the exact leave-one-out error. Without
    them it is approximated by generalised cross-validation from the moments.
    """
    likelihood = GaussianLikelihood(
        moments,
        None if noise is None else noise / moments.y_scale / moments.y_scale,
        rows=rows,
        truncated=options.get("truncated", True),
    )
    with one_thread():
        return run(likelihood, **options)
