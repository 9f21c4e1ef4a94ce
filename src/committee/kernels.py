"""Kernels by name or callable: two sets of points in, a Gram block out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import laplacian_kernel, manhattan_distances

from committee._typing import FloatArray

#: The kernels that have a name.
KERNELS = (
    *("rbf", "linear", "polynomial", "laplacian"),
    *("exponential", "matern32", "matern52"),
)
#: Those of the distance between two points.
_OF_DISTANCES = frozenset(
    {"rbf", "laplacian", "exponential", "matern32", "matern52"},
)
#: And of those the ones of the Euclidean distance, which a metric can turn.
_EUCLIDEAN = _OF_DISTANCES - {"laplacian"}
#: Those with a gamma that a search may vary.
SCALED = _OF_DISTANCES | {"polynomial"}
#: Pairs of at most this many rows decide the median distance.
_MEDIAN_ROWS = 1000

GramFunction = Callable[[FloatArray, FloatArray], Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters settled: called with two sets of points.

        rbf         exp(-gamma ||x - z||^2)
        laplacian   exp(-gamma ||x - z||_1)
        exponential exp(-gamma ||x - z||)
        matern32    (1 + r) exp(-r),             r = sqrt(3) gamma ||x - z||
        matern52    (1 + r + r^2 / 3) exp(-r),   r = sqrt(5) gamma ||x - z||
        polynomial  (gamma x'z + coef0)^degree
        linear      x'z

    Parameters
    ----------
    name : {"rbf", "linear", "polynomial", "laplacian", "exponential", "matern32", \
    "matern52"} or callable
        A callable gets two arrays, (n, d) and (m, d), and returns the (n, m)
        Gram block; it need not be symmetric or positive definite.
    gamma : float
    degree : float
    coef0 : float

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
    degree: float = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a name that is not known."""
        if not callable(self.name) and self.name not in KERNELS:
            raise ValueError(
                f"kernel must be one of {list(KERNELS)}, or callable. Got "
                f"{self.name!r}."
            )

    @property
    def of_distances(self) -> bool:
        """Whether it looks at differences of points only, by a distance."""
        return isinstance(self.name, str) and self.name in _OF_DISTANCES

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k(X, Z), (n, m)."""
        if callable(self.name):
            return _checked(self.name(X, Z), X, Z)
        if self.name == "rbf":
            return _rbf(X, Z, self.gamma)
        if self.name == "laplacian":
            return np.asarray(laplacian_kernel(X, Z, gamma=self.gamma))
        if self.name in _RADIAL:
            return _RADIAL[self.name](_distances(X, Z), self.gamma)
        K = X @ Z.T
        return K if self.name == "linear" else self._power(K)

    def diagonal(self, X: FloatArray) -> FloatArray:
        """Return k(x, x) of each row, (n,)."""
        if self.of_distances:
            return np.ones(len(X))
        return np.array([self(x[None], x[None])[0, 0] for x in X])

    def slope(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k'(r) / r, (n, m), for kernels of r = ||x - z||; zero at r = 0.

        The gradient of k in x is the slope times x - z.
        """
        if self.name not in _EUCLIDEAN:
            raise ValueError(
                f"A kernel of Euclidean distances is needed, one of "
                f"{sorted(_EUCLIDEAN)}. Got {self.name!r}."
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

    def _power(self, K: FloatArray) -> FloatArray:
        """Return (gamma x'z + coef0)^degree, or raise where it is not finite."""
        K *= self.gamma
        K += self.coef0
        with np.errstate(over="ignore", invalid="ignore"):
            K **= self.degree
        if not np.all(np.isfinite(K)):
            raise ValueError(
                f"The polynomial kernel of degree {self.degree:g} is not finite on "
                "these rows: it overflows, or takes a fractional power of a negative "
                "number. Scale X, or give a smaller or a whole degree."
            )
        return K


def make_kernel(
    kernel: str | GramFunction,
    X: FloatArray,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
) -> Kernel:
    """Settle a kernel's parameters for the rows of X, (N, d).

    gamma=None takes `median_gamma` for kernels of a distance, and 1 / d elsewhere.
    """
    if gamma is None:
        gamma = 1.0 / X.shape[1]
        if isinstance(kernel, str) and kernel in _OF_DISTANCES:
            gamma = median_gamma(X, kernel)
    return Kernel(kernel, float(gamma), degree, coef0)


def median_gamma(X: FloatArray, kernel: str = "rbf") -> float:
    """Return one over the median distance, the scale of a kernel by rule of thumb.

        gamma = 1 / median_{m < n} ||x_m - x_n||^2

    with the 1-norm for "laplacian" and no square for the others but "rbf".

    Repeated rows, at distance zero, do not count; of more than 1000 rows, 1000 at
    equal steps are taken.
    """
    if len(X) > _MEDIAN_ROWS:
        X = X[np.linspace(0, len(X) - 1, _MEDIAN_ROWS).astype(np.intp)]
    pairs = np.triu_indices(len(X), k=1)
    D = (manhattan_distances(X) if kernel == "laplacian" else _squares(X, X))[pairs]
    # Rounding of ||x||^2 + ||z||^2 - 2 x'z is all that is between repeated rows.
    largest = float(np.ptp(X, axis=0).max()) ** (1 if kernel == "laplacian" else 2)
    D = D[1e-13 * X.shape[1] * largest < D]
    if len(D) == 0:
        raise ValueError(
            "gamma=None takes the median distance between the rows of X (n_samples="
            f"{len(X)}), and there are no two that differ: give gamma a number."
        )
    middle = float(np.median(D))
    # D has squares of the norm that these kernels do not square.
    return 1.0 / (middle**0.5 if kernel in _RADIAL else middle)


def _squares(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return squared distances up to rounding, which may leave them below zero.

    Both are taken from the mean of Z: a large offset would cost all digits.
    """
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    D = X @ Z.T
    D *= -2.0
    D += np.einsum("ij,ij->i", X, X)[:, None]
    D += np.einsum("ij,ij->i", Z, Z)
    return D


def _distances(X: FloatArray, Z: FloatArray) -> FloatArray:
    """Return ||x - z||, zero where rounding is all that is between two points.

    The root would make 1e-8 of a rounding of 1e-16.
    """
    D = _squares(X, Z)
    largest = float(np.abs(D).max(initial=0.0))
    D[4 * X.shape[1] * np.finfo(D.dtype).eps * largest > D] = 0.0
    return np.sqrt(D, out=D)


def _exponential(r: FloatArray, gamma: float) -> FloatArray:
    r *= -gamma
    return np.exp(r, out=r)


def _matern32(r: FloatArray, gamma: float) -> FloatArray:
    r *= -np.sqrt(3.0) * gamma
    K = np.exp(r)
    np.subtract(1.0, r, out=r)
    K *= r
    return K


def _matern52(r: FloatArray, gamma: float) -> FloatArray:
    r *= np.sqrt(5.0) * gamma
    K = np.exp(-r)
    # 1 + r + r^2 / 3 = 1 + r (1 + r / 3)
    factor = r / 3.0
    factor += 1.0
    factor *= r
    factor += 1.0
    K *= factor
    return K


_RADIAL = {
    "exponential": _exponential,
    "matern32": _matern32,
    "matern52": _matern52,
}


def _rbf(X: FloatArray, Z: FloatArray, gamma: float) -> FloatArray:
    """Return exp(-gamma ||x - z||^2) without the checks of scikit-learn.

    On blocks of 100 x 100 the checks take longer than the kernel.
    """
    K = _squares(X, Z)
    K *= -gamma
    np.minimum(K, 0.0, out=K)
    return np.exp(K, out=K)


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
