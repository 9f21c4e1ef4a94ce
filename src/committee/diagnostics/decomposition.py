"""The ambiguity decomposition: ensemble error = member error - diversity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray
from committee._validation import (
    check_predictions,
    check_row_weights,
    check_targets,
    check_weights,
)
from committee.diagnostics.correlation import error_blocks


class Ambiguity(NamedTuple):
    """The three terms of the decomposition, as means over rows or for each row.

    Attributes
    ----------
    ensemble_error : float, or array of shape (N,)
        Mean squared error of the committee.
    member_error : float, or array of shape (N,)
        Weighted mean of the members' squared errors.
    diversity : float, or array of shape (N,)
        Weighted mean squared distance of the members from the committee.

    Examples
    --------
    >>> from committee.diagnostics import Ambiguity
    >>> Ambiguity(ensemble_error=1.0, member_error=2.0, diversity=1.0).diversity
    1.0
    """

    ensemble_error: Any
    member_error: Any
    diversity: Any


def ambiguity(F: Any, y: Any, w: Any = None, *, by_row: bool = False) -> Ambiguity:
    """Decompose the committee's squared error (chapter 4.2, eq. 4.4).

        (f_ens - y)^2 = sum_m w_m (f_m - y)^2 - sum_m w_m (f_m - f_ens)^2

    An identity for every w that sums to one. For classification the squared
    error compares the probability vectors with the one-hot targets.

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Targets, or class codes 0..K-1.
    w : array of shape (M,) or (N, M), optional
        Weights that sum to one, for all rows or for each row. Default: equal weights.
    by_row : bool, default=False
        The three terms for each x, as arrays of shape (N,), instead of their means.

    Returns
    -------
    Ambiguity
        `ensemble_error`, `member_error`, `diversity`.

    Examples
    --------
    >>> from committee import ambiguity
    >>> ambiguity([[1.0, 3.0]], [1.0])
    Ambiguity(ensemble_error=1.0, member_error=2.0, diversity=1.0)
    >>> ambiguity([[1.0, 3.0], [1.0, 1.0]], [1.0, 1.0], by_row=True).diversity.tolist()
    [1.0, 0.0]
    """
    F = check_predictions(F)
    y = check_targets(F, y)
    w = _shares(w, F.shape)
    terms = np.empty((3, len(F)))
    for rows, E in error_blocks(F, y):
        # Classes are innermost: (n, K, M), and a row's error is the sum over them.
        E = np.reshape(E, (rows.stop - rows.start, -1, F.shape[1]))
        v = w[rows, :, None] if w.ndim == 2 else w[:, None]
        e = E @ v
        # f_m - f_ens = E_m - e, since the weights sum to one.
        squares = (e * e, (E * E) @ v, ((E - e) ** 2) @ v)
        terms[:, rows] = np.sum(squares, axis=(2, 3))
    if by_row:
        return Ambiguity(*terms)
    return Ambiguity(*(float(mean) for mean in terms.mean(axis=1)))


def _shares(w: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return weights that sum to one, (M,) or (N, M)."""
    if np.ndim(w) == 2:
        w = check_row_weights(w, shape[:2])
    else:
        w = check_weights(w, shape[1])
    total, size = w.sum(axis=-1), np.abs(w).sum(axis=-1)
    wrong = np.abs(total - 1.0) > 1e-8 * size
    if np.any(wrong):
        raise ValueError(
            "The decomposition holds for weights that sum to 1. Got "
            f"{np.ravel(total)[np.ravel(wrong)][0]:g}; divide w by w.sum()."
        )
    return w  # type: ignore[no-any-return]
