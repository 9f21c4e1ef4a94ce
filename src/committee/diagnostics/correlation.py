"""Second moments of the members' errors, in one pass over row blocks.

A block contributes M x M sums and nothing else, so the same block function
serves cache blocking, data on disk and a cluster.

An error correlation from few and different rows, made fit to be inverted.

Where members are held out on different rows, C_ij averages over the rows that
both left out: 13 % of them for a bootstrap, 1 % for ten-fold splits. Such a C
is noisy and need not be positive definite, and weights from it chase the noise.
It is shrunk towards members that are exchangeable, with one common error c and
one common correlation rho, by the share of its spread that sampling explains
(Ledoit and Wolf's constant-correlation target, with a shrunk diagonal).

Test error in %, mean of six Raetsch sets (german, image, ringnorm, splice,
twonorm, waveform), four splits each, 100 trees; "definite" shrinks towards the
diagonal just until C is positive definite:

    generator     equal   simplex             optimal
                          definite  shrunk    definite  shrunk
    Bagging        9.7    10.3       9.9      35.0      10.0
    MiniBatches    9.7    10.3       9.6      40.9       9.8
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
)

#: Numbers in a row block: 4 MB, so that the products stay in the cache.
_BLOCK = 2**19
#: Share of the target's smallest eigenvalue that the shrunk matrix must keep.
#: On ten-fold splits optimal weights err by 25 % with 0, 13 % from 0.1 to 0.75.
_FLOOR = 0.25
#: Share of the rows below which what a pair lacks counts for less. The correction for a
#: finite population, 1 - n / N, is 1 instead: sampling then explains the distance from
#: the C of all rows alone, and with mini-batches of a tenth, where pairs share 80 % of
#: the rows, optimal weights err by 12.9 instead of 6.8 % on twonorm, convex by 8.0
#: instead of 6.2 %.
_FADE = 0.05


def error_correlation(
    F: Any, y: Any, *, held_out: Any = None, sample_weight: Any = None
) -> FloatArray:
    """Return the error correlation C of the members (chapter 4.4).

        E = F - y 1',    C = E'E / N

    For classification E_n is the difference between the probability vector and the
    one-hot target, and products are summed over classes. With `held_out`, C_ij is the
    mean over the rows that neither i nor j was trained on, and C is shrunk towards
    exchangeable members, by an amount that depends on its sampling error (see
    `committee.diagnostics.correlation`).

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


# --- shrinkage ----------------------------------------------------------------------


def shrink_pairwise(
    sums: FloatArray, counts: FloatArray, squares: FloatArray, n_rows: float
) -> FloatArray:
    """Return a positive definite estimate of C from pairwise sums.

        C_ij = sums_ij / counts_ij,   a_ij = min(1, 20 (1 - counts_ij / n_rows))
        var C_ij ~ a_ij (squares_ij/counts_ij - C_ij^2) / counts_ij

    Errors c_i = C_ii are pulled towards their mean, and correlations
    C_ij / sqrt(c_i c_j) towards theirs, by the ratio of the mean sampling
    variance to the mean squared distance from the target. Pairs that share no
    row take the target. Correlations are then pulled further until the smallest
    eigenvalue is a quarter of the target's, 1 - rho, times the mean of a. sums, counts
    and squares (M, M) are over the rows that both left out, of E_i'E_j, of ones, and of
    |E_i|^2 |E_j|^2; n_rows is the number of rows that anybody left out.

    a fades the shrinkage out where pairs share nearly all rows, so that weights go to
    those without a mask as the mask goes to True.
    """
    M = len(sums)
    seen = counts > 0
    n = np.where(seen, counts, 1.0)  # below one for rows of little weight
    C = np.where(seen, sums / n, 0.0)
    fade = np.clip((1.0 - counts / n_rows) / _FADE, 0.0, 1.0)
    variance = np.where(seen, fade * np.maximum(squares / n - C**2, 0.0) / n, 0.0)
    own = np.diag(seen)
    spread = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    known = seen & (spread > 0) & ~np.eye(M, dtype=bool)
    safe = np.where(spread > 0, spread, 1.0)
    R, rho = _shrink_correlations(C / safe, variance / safe**2, known)
    c = _shrink_errors(np.diag(C), np.diag(variance), own)
    R = _keep_definite(R, rho, _FLOOR * float(fade.mean()))
    return R * np.sqrt(np.outer(c, c))


def _shrink_errors(c: FloatArray, variance: FloatArray, own: BoolArray) -> FloatArray:
    """Pull the members' errors towards their mean; unknown ones take the mean."""
    mean = float(c[own].mean())
    t = _share(variance[own], c[own] - mean)
    return np.where(own, (1 - t) * c + t * mean, mean)


def _shrink_correlations(
    R: FloatArray, variance: FloatArray, known: BoolArray
) -> tuple[FloatArray, float]:
    """Pull correlations towards their mean, and return that mean as well."""
    # Below zero constant correlation is not definite for many members.
    rho = float(np.clip(R[known].mean(), 0.0, 1.0)) if known.any() else 0.0
    t = _share(variance[known], R[known] - rho)
    R = np.where(known, (1 - t) * R + t * rho, rho)
    R[np.diag_indices_from(R)] = 1.0
    return R, rho


def _share(variance: FloatArray, distance: FloatArray) -> float:
    """Return the part of the squared distance that sampling explains, in [0, 1]."""
    total = float((distance**2).sum())
    return min(1.0, float(variance.sum()) / total) if total > 0 else 0.0


def _keep_definite(R: FloatArray, rho: float, floor: float) -> FloatArray:
    """Pull R towards constant correlation until its smallest eigenvalue is safe."""
    target = 1.0 - rho
    r = float(eigvalsh(R, subset_by_index=[0, 0])[0]) if len(R) > 1 else 1.0
    if r >= floor * target or target - r <= 0:
        return R
    # The smallest eigenvalue is then at least (1 - t) r + t target, the floor.
    t = (floor * target - r) / (target - r)
    R = (1 - t) * R + t * rho
    R[np.diag_indices_from(R)] = 1.0
    return R
