"""Arrays as they enter: checked once, in safe units, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from committee._typing import FloatArray

# Precisions between this and its inverse leave room for products of two.
_SMALLEST = 1e-120
# Elements of S in one block: two megabytes, what a core's own cache holds.
_BLOCK_ELEMENTS = 2**18


def in_units(x: ArrayLike, *factors: FloatArray | float) -> FloatArray:
    """Return x times all factors, held at the largest float instead of infinity."""
    result = np.asarray(x, dtype=np.float64)
    limit = np.finfo(np.float64).max
    with np.errstate(over="ignore", under="ignore"):
        for factor in factors:
            result = np.clip(result * factor, -limit, limit)
    return np.asarray(result)


def inner_precision(alpha: ArrayLike, unit: FloatArray) -> FloatArray:
    """Return the precisions of w / unit: alpha unit^2."""
    given = np.broadcast_to(np.asarray(alpha, dtype=np.float64), unit.shape)
    if not (np.isfinite(given).all() and (given > 0.0).all()):
        raise ValueError("alpha and noise must be positive and finite.")
    scaled = in_units(given, unit, unit)
    if scaled.min() < _SMALLEST or scaled.max() > 1.0 / _SMALLEST:
        raise ValueError(
            "The scales of F, y, alpha and noise are too far apart for double "
            "precision: rescale F or y."
        )
    return scaled


def power_of_two(x: FloatArray) -> FloatArray:
    """Return the power of two next below |x|; 1 for zero."""
    # Dividing by a power of two changes no digit, so scaled rows stay exact.
    return np.asarray(np.ldexp(1.0, np.where(x == 0.0, 1, np.frexp(x)[1]) - 1))


def signed_scale(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return S with columns of moderate size, and the powers of two divided out."""
    scale = moderate_scale(column_tops(S))
    return (S if (scale == 1.0).all() else S / scale), scale


def moderate_scale(tops: FloatArray) -> FloatArray:
    """Return the powers of two to divide columns by, given their largest entries."""
    scale = power_of_two(tops)
    # Columns within 2^16 of one stay as they are, so that votes are not copied.
    return np.where(np.abs(np.log2(scale)) > 16.0, scale, 1.0)


def column_tops(F: FloatArray) -> FloatArray:
    """Return the largest |F_ni| of each column."""
    blocks = row_blocks(*F.shape)
    return np.asarray(np.max([np.abs(F[b]).max(axis=0) for b in blocks], axis=0))


def compact(S: FloatArray) -> FloatArray:
    """Return S in the smallest type that holds it exactly: a byte for a vote.

    Sweeps are then bound by arithmetic, not by memory.
    """
    for kind in (np.int8, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):
            small: Any = S.astype(kind)
        if np.array_equal(small, S):
            return np.asarray(small)
    return S


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the rows into blocks that fit the cache."""
    size = max(64, _BLOCK_ELEMENTS // max(n_columns, 1))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def float_blocks(S: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (rows, S[rows] as floats); what is yielded lasts until the next one.

    Rows of another type are converted into one buffer: new memory for every block
    can cost more than the arithmetic.
    """
    buffer: FloatArray | None = None
    for rows in row_blocks(*S.shape):
        if S.dtype == np.float64:
            yield rows, S[rows]
            continue
        if buffer is None:
            buffer = np.empty((rows.stop, S.shape[1]))
        block = buffer[: rows.stop - rows.start]
        block[...] = S[rows]
        yield rows, block
