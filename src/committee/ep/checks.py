"""The door: arrays are checked here once, and trusted everywhere else."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from committee.ep.gaussian import Array

# Precisions between this and its inverse leave room for products of two.
_SMALLEST = 1e-120


def check_rows(F: ArrayLike, name: str) -> Array:
    """Return F as a finite (N, M) array of floats with N, M >= 1."""
    array = np.asarray(F)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have at least one row and one column. "
            f"Got an array of shape {array.shape}."
        )
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        bad = int(np.size(array) - np.isfinite(array).sum())
        raise ValueError(f"{name} must be finite. Got {bad} entries that are not.")
    return array


def check_targets(F: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return F and y as finite floats of matching length."""
    array = check_rows(F, "F")
    target = np.asarray(y, dtype=np.float64)
    if target.shape != array.shape[:1]:
        raise ValueError(
            f"y must have one entry per row of F, {len(array)}. "
            f"Got an array of shape {target.shape}."
        )
    if not np.isfinite(target).all():
        raise ValueError("y must be finite. Got NaN or infinity.")
    return array, target


def check_group(group: int, n: int) -> None:
    """Make sure that the rows are a whole number of cases."""
    if group < 1 or n % group:
        raise ValueError(
            f"group must divide the number of rows, {n}, into cases. Got {group}."
        )


def in_units(x: ArrayLike, *factors: Array | float) -> Array:
    """Return x times all factors, held at the largest float instead of infinity."""
    result = np.asarray(x, dtype=np.float64)
    limit = np.finfo(np.float64).max
    with np.errstate(over="ignore", under="ignore"):
        for factor in factors:
            result = np.clip(result * factor, -limit, limit)
    return np.asarray(result)


def inner_precision(alpha: ArrayLike, unit: Array) -> Array:
    """Return the precisions of w as those of w / unit: alpha unit^2."""
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
