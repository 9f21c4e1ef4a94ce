"""Kernels by name or callable: two sets of points in, a Gram block out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from committee._typing import FloatArray, IntArray

#: Kernels of the distance between two points, whose scale is gamma.
_OF_DISTANCES = ("rbf", "exponential", "matern32", "matern52")
#: The kernels that have a name.
KERNELS = (*_OF_DISTANCES, "linear")
#: Pairs of at most this many rows decide the median distance.
KERNEL_ROWS = 1000
#: Columns of spreads that differ by so much are worth a warning: distances are those of
#: the widest.
_UNLIKE = 1e3

#: Entries of a block that are worked on together: 256 kB, half of a cache.
_CACHED = 2**15

GramFunction = Callable[[FloatArray, FloatArray], Any]


class GramKernel(Protocol):
    """A kernel, as machines use it."""

    @property
    def of_distances(self) -> bool:
        """True if k(x, z) depends on the distance of x and z alone."""

    def __call__(self, X: FloatArray, Z: FloatArray, /) -> FloatArray:
        """Return k(X, Z), (n, m)."""

    def diagonal(self, X: FloatArray, /) -> FloatArray:
        """Return k(x, x) of each row, (n,)."""


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters settled: called with two sets of points.

        rbf         exp(-gamma ||x - z||^2)
        exponential exp(-gamma ||x - z||)
        matern32    (1 + r) exp(-r),             r = sqrt(3) gamma ||x - z||
        matern52    (1 + r + r^2 / 3) exp(-r),   r = sqrt(5) gamma ||x - z||
        linear      x'z

    Parameters
    ----------
    name : {"rbf", "exponential", "matern32", "matern52", "linear"} or callable
        A callable gets two arrays, (n, d) and (m, d), and returns the (n, m)
        Gram block; it need not be symmetric or positive definite.
    gamma : float

    Examples
    --------
    >>> import numpy as np
    >>> from committee.kernels import Kernel
    >>> Kernel("rbf", gamma=0.5)(np.array([[0.0], [2.0]]), np.zeros((1, 1))).round(3)
    array([[1.   ],
           [0.135]])
    """

    name: str | GramFunction
    gamma: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a name that is not known."""
        if not callable(self.name) and self.name not in KERNELS:
            raise ValueError(
                f"kernel must be one of {list(KERNELS)}, or callable. Got "
                f"{self.name!r}."
            )

    @property
    def of_distances(self) -> bool:
        """True if k(x, z) depends on the distance of x and z alone."""
        return self.name in _OF_DISTANCES

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k(X, Z), (n, m)."""
        if callable(self.name):
            return _checked(self.name(X, Z), X, Z)
        if self.name == "rbf":
            return _rbf(X, Z, self.gamma)
        if self.name in _RADIAL:
            return _radial(X, Z, self.gamma, self.name)
        return X @ Z.T

    def diagonal(self, X: FloatArray) -> FloatArray:
        """Return k(x, x) of each row, (n,)."""
        if self.of_distances:
            return np.ones(len(X))
        return np.array([self(x[None], x[None])[0, 0] for x in X])

    def slope(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k'(r) / r, (n, m), for kernels of r = ||x - z||; zero at r = 0.

        The gradient of k in x is the slope times x - z.
        """
        if not self.of_distances:
            raise ValueError(
                f"A distance-based kernel is needed, one of {list(_OF_DISTANCES)}. Got "
                f"{self.name!r}."
            )
        r = _distances(X, Z)
        slope: FloatArray
        if self.name == "rbf":
            slope = -2.0 * self.gamma * np.exp(-self.gamma * r**2)
        elif self.name == "exponential":
            K = np.exp(-self.gamma * r)
            slope = np.divide(-self.gamma * K, r, out=np.zeros_like(r), where=r > 0)
        elif self.name == "matern32":
            slope = -3.0 * self.gamma**2 * np.exp(-np.sqrt(3.0) * self.gamma * r)
        else:
            u = np.sqrt(5.0) * self.gamma * r
            slope = -5.0 / 3.0 * self.gamma**2 * (1.0 + u) * np.exp(-u)
        return slope


def make_kernel(
    kernel: str | GramFunction, X: FloatArray, gamma: float | None = None
) -> Kernel:
    """Return the kernel for the rows of X, (N, d); gamma=None takes `median_gamma`."""
    if gamma is None:
        gamma = median_gamma(X, kernel) if kernel in _OF_DISTANCES else 1.0
    return Kernel(kernel, float(gamma))


def equal_steps(n_rows: int, n: int) -> IntArray:
    """Return n row numbers at equal steps, or all of fewer rows."""
    if n_rows <= n:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, n).astype(np.intp)


def warn_of_scales(X: FloatArray, kernel: str | GramFunction | None) -> None:
    """Warn where distances would be those of one column; None is a kernel of distances."""
    if kernel is not None and kernel not in _OF_DISTANCES:
        return
    X = X[equal_steps(len(X), KERNEL_ROWS)]
    spread = np.ptp(X, axis=0)
    some = np.flatnonzero(spread)
    if not len(some):
        return
    wide, narrow = (some[f(spread[some])] for f in (np.argmax, np.argmin))
    if spread[wide] > _UNLIKE * spread[narrow]:
        warnings.warn(
            f"Column {wide} of X has a range of {spread[wide]:.3g}, column {narrow} "
            f"one of {spread[narrow]:.3g}: distances between rows hardly depend on the "
            "second. Scale the columns, for example with a StandardScaler in a "
            "pipeline. A gamma that you set is used as it is.",
            UserWarning,
            stacklevel=2,
        )


def median_gamma(X: FloatArray, kernel: Any = "rbf") -> float:
    """Return one over the median distance, the scale of a kernel by rule of thumb.

        gamma = 1 / median_{m < n} ||x_m - x_n||^2

    without the square for kernels other than "rbf".

    Repeated rows, at distance zero, do not count; of more than 1000 rows, 1000 at
    equal steps are taken.
    """
    X = X[equal_steps(len(X), KERNEL_ROWS)]
    D = _squares(X, X)[0]
    D = D[np.tri(len(X), k=-1, dtype=bool)]
    # Rounding of ||x||^2 + ||z||^2 - 2 x'z is all that is between repeated rows.
    largest = float(np.ptp(X, axis=0).max()) ** 2
    D = D[1e-13 * X.shape[1] * largest < D]
    if len(D) == 0:
        raise ValueError(
            "gamma=None uses the median distance between the rows of X "
            f"(n_samples={len(X)}), but all rows are equal: set gamma to a number."
        )
    middle = float(np.median(D))
    # D has squares of the norm that these kernels do not square.
    return 1.0 / (middle**0.5 if kernel in _RADIAL else middle)


def _squares(X: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return squared distances up to rounding, which may leave them below zero.

        ||x - z||^2 = (x, ||x||^2, 1)'(-2 z, 1, ||z||^2)

    in one product, with ||x||^2 and ||z||^2, whose sum rounding is relative to.
    Both are taken from the mean of Z: a large offset would cost all digits.
    """
    d, dtype = X.shape[1], np.result_type(X, Z, np.float32)
    left, right = np.ones((len(X), d + 2), dtype), np.ones((len(Z), d + 2), dtype)
    centre = Z.mean(axis=0)
    np.subtract(X, centre, out=left[:, :d])
    np.subtract(Z, centre, out=right[:, :d])
    x = np.einsum("ij,ij->i", left[:, :d], left[:, :d])
    z = np.einsum("ij,ij->i", right[:, :d], right[:, :d])
    left[:, d], right[:, d + 1] = x, z
    right[:, :d] *= -2.0
    return left @ right.T, x, z


def _distances(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return ||x - z||, zero where rounding is all that is between two points.

    The root would make 1e-8 of a rounding of 1e-16.
    """
    D, x, z = _squares(X, Z)
    eps = 4 * X.shape[1] * np.finfo(D.dtype).eps
    x, z = eps * x, eps * z
    largest = x.max(initial=0.0) + z.max(initial=0.0)
    for rows in _parts(D):
        part = D[rows]
        if part.min() < largest:  # most blocks of other rows have no such pair
            part[part < x[rows, None] + z] = 0.0
        np.sqrt(part, out=part)
    return D


def _parts(D: FloatArray) -> list[slice]:
    """Return rows of D that stay in the cache from one operation to the next."""
    step = max(1, _CACHED // max(1, D.shape[1]))
    n = len(D) if D.size else 0
    return [slice(start, start + step) for start in range(0, n, step)]


def _exponential(r: FloatArray, gamma: float, K: FloatArray) -> None:
    r *= -gamma
    np.exp(r, out=r)


def _matern32(r: FloatArray, gamma: float, K: FloatArray) -> None:
    r *= -np.sqrt(3.0) * gamma
    np.exp(r, out=K)
    np.subtract(1.0, r, out=r)
    r *= K


def _matern52(r: FloatArray, gamma: float, K: FloatArray) -> None:
    r *= np.sqrt(5.0) * gamma
    np.negative(r, out=K)
    np.exp(K, out=K)
    # 1 + r + r^2 / 3 = ((r + 3/2)^2 + 3/4) / 3
    r += 1.5
    r *= r
    r += 0.75
    r *= 1.0 / 3.0
    r *= K


#: r = ||x - z|| becomes the kernel in place; K is of the same shape, to work in.
_RADIAL = {
    "exponential": _exponential,
    "matern32": _matern32,
    "matern52": _matern52,
}


def _radial(X: FloatArray, Z: FloatArray, gamma: float, name: str) -> FloatArray:
    """Return one of the kernels of ||x - z||."""
    D = _distances(X, Z)
    parts = _parts(D)
    work = np.empty_like(D[parts[0]]) if parts else D
    for rows in parts:
        part = D[rows]
        _RADIAL[name](part, gamma, work[: len(part)])
    return D


def _rbf(X: FloatArray, Z: FloatArray, gamma: float) -> FloatArray:
    """Return exp(-gamma ||x - z||^2) without the checks of scikit-learn.

    On blocks of 100 x 100 the checks take longer than the kernel.
    """
    K = _squares(X, Z)[0]
    for rows in _parts(K):
        part = K[rows]
        part *= -gamma
        np.minimum(part, 0.0, out=part)
        np.exp(part, out=part)
    return K


def _checked(block: Any, X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return the Gram block of a callable, checked for its shape and finite values."""
    K: FloatArray = np.asarray(block, dtype=np.float64)
    if K.shape != (len(X), len(Z)):
        raise ValueError(
            f"A callable kernel must return one row for each of the {len(X)} points of "
            f"its first argument and one column for each of the {len(Z)} of its second. "
            f"Got shape {K.shape}."
        )
    if not np.all(np.isfinite(K)):
        raise ValueError("The callable kernel returned values that are not finite.")
    return K
