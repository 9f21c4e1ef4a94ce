"""Kernels by name or callable: two sets of points in, a Gram block out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import laplacian_kernel, manhattan_distances

from committee._typing import FloatArray

#: The kernels that have a name.
KERNELS = ("rbf", "linear", "polynomial", "laplacian")
#: Those with a gamma that a search may vary.
SCALED = frozenset({"rbf", "laplacian", "polynomial"})
#: Pairs of at most this many rows decide the median distance.
_MEDIAN_ROWS = 1000

GramFunction = Callable[[FloatArray, FloatArray], Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters settled: called with two sets of points.

        rbf         exp(-gamma ||x - z||^2)
        laplacian   exp(-gamma ||x - z||_1)
        polynomial  (gamma x'z + coef0)^degree
        linear      x'z

    Parameters
    ----------
    name : {"rbf", "linear", "polynomial", "laplacian"} or callable
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

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k(X, Z), (n, m)."""
        if callable(self.name):
            return _checked(self.name(X, Z), X, Z)
        if self.name == "rbf":
            return _rbf(X, Z, self.gamma)
        if self.name == "laplacian":
            return np.asarray(laplacian_kernel(X, Z, gamma=self.gamma))
        K = X @ Z.T
        return K if self.name == "linear" else self._power(K)

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

    gamma=None takes `median_gamma` for "rbf" and "laplacian", and 1 / d elsewhere.
    """
    if gamma is None:
        gamma = 1.0 / X.shape[1]
        if isinstance(kernel, str) and kernel in ("rbf", "laplacian"):
            gamma = median_gamma(X, kernel)
    return Kernel(kernel, float(gamma), degree, coef0)


def median_gamma(X: FloatArray, kernel: str = "rbf") -> float:
    """Return one over the median distance, the scale of a kernel by rule of thumb.

        gamma = 1 / median_{m < n} ||x_m - x_n||^2        (1-norm for "laplacian")

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
    return 1.0 / float(np.median(D))


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
