"""Second moments of the members' errors, in one pass over row blocks.

A block contributes M x M sums and nothing else, so the same block function
serves cache blocking, data on disk and a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
)
from committee.diagnostics.shrinkage import shrink_pairwise

#: Numbers in a row block: 4 MB, so that the products stay in the cache.
_BLOCK = 2**19


def error_correlation(
    F: Any, y: Any, *, held_out: Any = None, sample_weight: Any = None
) -> FloatArray:
    """Return the error correlation C of the members (chapter 4.4).

        E = F - y 1',    C = E'E / N

    For classification E_n is the difference between the probability vector and the
    one-hot target, and products are summed over classes. With `held_out`, C_ij is the
    mean over the rows that neither i nor j was trained on, and C is shrunk towards
    exchangeable members, by an amount that depends on its sampling error (see
    `committee.diagnostics.shrinkage`).

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Targets, or class codes 0..K-1.
    held_out : bool array of shape (N, M), default=None
    sample_weight : array-like of shape (N,), default=None
        Sample weights; C is the weighted mean.

    Returns
    -------
    C : array of shape (M, M)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import error_correlation
    >>> F = np.array([[1.0, 2.0], [3.0, 1.0]])
    >>> error_correlation(F, [0.0, 2.0]).tolist()
    [[1.0, 0.5], [0.5, 2.5]]
    """
    F = check_predictions(F)
    y = check_targets(F, y)
    held_out = check_held_out(held_out, F.shape)
    sample_weight = check_sample_weight(sample_weight, F)
    C, scale = scaled_error_correlation(F, y, held_out, sample_weight)
    with np.errstate(over="ignore", under="ignore"):
        return C * np.float64(scale) ** 2


def scaled_error_correlation(
    F: FloatArray,
    y: FloatArray | IntArray,
    held_out: BoolArray | None,
    sample_weight: FloatArray | None,
) -> tuple[FloatArray, float]:
    """Return C / scale^2 and a scale that keeps it within floating-point range."""
    s = sample_weight
    if s is not None:
        s = WeightSums.of(s).effective(s)
    return correlation_of(
        lambda scale: moment_sums(F, y, held_out, s, scale),
        lambda: largest_error(F, y, held_out),
    )


def correlation_of(
    sums_at: Callable[[float], MomentSums], largest: Callable[[], float]
) -> tuple[FloatArray, float]:
    """Return C / scale^2 and its scale, wherever the rows are.

    sums_at(scale) returns the sums over all rows, errors divided by the scale;
    largest() the largest error. The scale is 1 unless powers of the errors would
    overflow or vanish.
    """
    scale = 1.0
    sums = sums_at(scale)
    if not (1e-60 < np.trace(sums.products) < 1e60):
        # A second pass, for errors whose fourth powers leave the range of floats.
        scale = largest() or 1.0
        sums = sums_at(scale)
    if sums.squares is None:
        return sums.products / sums.counts, scale
    if not np.any(np.diag(sums.counts) > 0):
        raise ValueError(
            "sample_weight is zero on every row that held_out marks, so the members' "
            "errors cannot be estimated."
        )
    return shrink_pairwise(*sums), scale


def error_blocks(
    F: FloatArray, y: FloatArray | IntArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (rows, E) with E of shape (n, M), or (n K, M) with classes innermost."""
    step = max(1, _BLOCK // F[0].size)
    for start in range(0, len(F), step):
        rows = slice(start, min(start + step, len(F)))
        if F.ndim == 2:
            yield rows, F[rows] - y[rows, None]
        else:
            E = F[rows].transpose(0, 2, 1).astype(np.float64, order="C")
            # E is (n, K, M) here: subtract the one-hot target from every member.
            E[np.arange(len(E)), y[rows]] -= 1.0
            yield rows, E.reshape(-1, F.shape[1])


class MomentSums(NamedTuple):
    """Sums over rows n of weight s_n; with a mask, over rows that both left out.

    products (M, M) is sum s E_i'E_j; counts is sum s, or (M, M) the effective number
    of rows behind each pair; squares (M, M) is sum s |E_i|^2 |E_j|^2 with a mask, for
    the sampling error of a pair, and n_rows the rows that some member left out.
    """

    products: Any
    counts: Any
    squares: Any
    n_rows: float

    def plus(self, other: MomentSums) -> MomentSums:
        """Return the sums over both sets of rows."""
        return MomentSums(
            self.products + other.products,
            self.counts + other.counts,
            None if self.squares is None else self.squares + other.squares,
            self.n_rows + other.n_rows,
        )


@np.errstate(all="ignore")
def moment_sums(
    F: FloatArray,
    y: FloatArray | IntArray,
    held_out: BoolArray | None,
    s: FloatArray | None,
    scale: float,
) -> MomentSums:
    """Sum the blocks of some rows, of effective weights s, errors over `scale`."""
    M = F.shape[1]
    products, counts, squares, n_rows = np.zeros((M, M)), np.zeros(()), None, 0.0
    if held_out is not None:
        counts, squares = np.zeros((M, M)), np.zeros((M, M))
    for rows, E in error_blocks(F, y):
        n = rows.stop - rows.start
        K = len(E) // n
        if scale != 1.0:
            E /= scale
        root = np.ones((n, 1)) if s is None else np.sqrt(s[rows, None])
        if held_out is None:
            counts += n if s is None else s[rows].sum()
        else:
            E *= np.repeat(held_out[rows], K, axis=0)
            norms = (E.reshape(n, K, M) ** 2).sum(axis=1) * root
            present = held_out[rows] * root
            counts += present.T @ present
            n_rows += float((present.max(axis=1) ** 2).sum())
            squares += norms.T @ norms
        if s is not None:
            E *= np.repeat(root, K, axis=0)
        products += E.T @ E
    return MomentSums(products, counts, squares, n_rows)


class WeightSums(NamedTuple):
    """Sums of row weights, in units of `top`, the largest of them."""

    top: float
    total: float
    squares: float

    @classmethod
    def of(cls, s: FloatArray) -> WeightSums:
        """Return the sums of s / top and of its squares."""
        top = float(s.max())
        share = s / top if top > 0 else s
        return cls(top, float(share.sum()), float(share @ share))

    def plus(self, other: WeightSums) -> WeightSums:
        """Return the sums over both sets of rows."""
        top = max(self.top, other.top)
        if top == 0:
            return self
        one, two = self.top / top, other.top / top
        return WeightSums(
            top,
            one * self.total + two * other.total,
            one**2 * self.squares + two**2 * other.squares,
        )

    def effective(self, s: FloatArray) -> FloatArray:
        """Scale s to sum to the effective number of rows, (sum s)^2 / sum s^2.

        N for equal weights; rows of weight zero add nothing.
        """
        return s / self.top * (self.total / self.squares)


def largest_error(
    F: FloatArray, y: FloatArray | IntArray, held_out: BoolArray | None
) -> float:
    """Return max |E| over the entries that count."""
    largest = 0.0
    for rows, E in error_blocks(F, y):
        np.abs(E, out=E)
        if held_out is not None:
            E *= np.repeat(held_out[rows], len(E) // (rows.stop - rows.start), axis=0)
        largest = max(largest, float(E.max()))
    return largest
