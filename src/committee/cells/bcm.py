"""The Bayesian committee machine: Gaussian processes combined by their precision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.utils.parallel import delayed

from committee._parallel import one_thread, results_of
from committee._typing import FloatArray, IntArray
from committee.cells.machine import Factor, row_blocks
from committee.kernels import Kernel

#: The least variance of an expert, relative to that of the prior: rounding is all that is
#: below. And the least of all, where a kernel has k(x, x) = 0.
LEAST, _TINY = 1e-12, 1e-100


class Known(NamedTuple):
    """What one expert says of some rows.

    Attributes
    ----------
    mean : array of shape (N, T)
        Of the first expert m_1, of the others m_i - m_1.
    variance : array of shape (N,)
        s_i^2, for a prior of scale one.
    """

    mean: FloatArray
    variance: FloatArray


class GivenRows:
    """The kernel of a Gaussian process that has seen some rows D already.

        k_1(x, z) = k(x, z) - w(x)'w(z),    w(x) = L^-1 k(D, x),  L L' = k(D, D) + diag(r)

    Points come with w beside their columns, (n, d + |D|), as `features` makes them.
    """

    of_distances = False

    def __init__(self, kernel: Kernel, D: FloatArray, ridge: FloatArray) -> None:
        self.kernel, self.d = kernel, D.shape[1]
        self.factor = Factor(kernel, D, ridge, "double") if len(D) else None

    def features(self, X: FloatArray) -> FloatArray:
        """Return (x, w(x)) of each row."""
        if self.factor is None:
            return X
        return np.hstack([X, self.factor.half_solve(self.factor.cross(X)).T])

    def solve(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients a on the rows D, (n, T), and y'a of each target."""
        a = Y if self.factor is None else self.factor.solve(Y)
        return a, np.einsum("nt,nt->t", Y, a)

    def mean(self, X: FloatArray, a: FloatArray) -> FloatArray:
        """Return k(X, D) a, (n, T)."""
        if self.factor is None:
            return np.zeros((len(X), a.shape[1]))
        return self.factor.cross(X).T @ a

    def __call__(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Return k_1(X, Z), (n, m)."""
        d = self.d
        K = self.kernel(X[:, :d], Z[:, :d])
        K -= X[:, d:] @ Z[:, d:].T
        return K

    def diagonal(self, X: FloatArray) -> FloatArray:
        """Return k_1(x, x) of each row, (n,)."""
        W = X[:, self.d :]
        prior = self.kernel.diagonal(X[:, : self.d])
        left: FloatArray = prior - np.einsum("nw,nw->n", W, W)
        return np.maximum(left, LEAST * prior + _TINY)


@dataclass(frozen=True, eq=False)
class CommitteeMachine:
    """Experts that know some rows each, asked together about every row.

        f(x) = m_1 + s^2 sum_{i >= 2} beta_i (m_i - m_1) / s_i^2

        1 / s^2 = 1 / s_1^2 + sum_{i >= 2} beta_i (1 / s_i^2 - 1 / s_1^2)

    Expert 1 knows D_1 and expert i both D_1 and D_i: it is the Gaussian process of
    kernel k_1 on the residuals of the first (`GivenRows`). With "bcm" D_1 is empty, so
    m_1 and s_1^2 are those of the prior, and beta_i = 1 (Tresp 2000): the posterior of all
    rows if the D_i were independent given f(x). With "grbcm" beta_2 = 1 and

        beta_i = (log s_1^2 - log s_i^2) / 2,      i > 2

    the information that D_i adds to D_1 (Liu, Cai, Wang and Ong 2018).

    Attributes
    ----------
    kernel : Kernel
    method : {"bcm", "grbcm"}
    points : array of shape (N, d)
        The rows D_1, D_2, ... one after the other.
    coef : array of shape (N, T)
        Of expert 1 on its rows, then of expert i on D_i in the kernel k_1.
    ridge : array of shape (N,)
        r, alpha over the sample weights.
    starts : int array of shape (M + 2,)
        Where the rows of each D start.
    offset : array of shape (T,)
    """

    kernel: Kernel
    method: str
    points: FloatArray
    coef: FloatArray
    ridge: FloatArray
    starts: IntArray
    offset: FloatArray
    #: As `CellModel` has it: experts share rows instead.
    trend: ClassVar[None] = None

    @property
    def n_cells(self) -> int:
        """M, the experts beside the first."""
        return len(self.starts) - 2

    def part(self, i: int) -> slice:
        """Return where the rows of D_{i + 1} are."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def given(self) -> GivenRows:
        """Return the kernel k_1."""
        first = self.part(0)
        return GivenRows(self.kernel, self.points[first], self.ridge[first])

    def first(self, X: FloatArray, given: GivenRows) -> Known:
        """Return what expert 1 knows of rows."""
        a = self.coef[self.part(0)]
        known = Known(np.empty((len(X), a.shape[1])), np.empty(len(X)))
        for rows in row_blocks(len(X)):
            known.mean[rows] = given.mean(X[rows], a)
            known.variance[rows] = given.diagonal(given.features(X[rows]))
        return known

    def expert(self, i: int, X: FloatArray, given: GivenRows) -> Known:
        """Return what expert i + 1 knows of rows beyond the first."""
        part = self.part(i)
        features = given.features(self.points[part])
        factor = Factor(given, features, self.ridge[part], "double")
        known = Known(np.empty((len(X), self.coef.shape[1])), np.empty(len(X)))
        for rows in row_blocks(len(X)):
            Z = given.features(X[rows])
            cross = factor.cross(Z)
            known.mean[rows] = cross.T @ self.coef[part]
            W = factor.half_solve(cross)
            prior = given.diagonal(Z)
            V = prior - np.einsum("nm,nm->m", W, W)
            known.variance[rows] = np.maximum(V, LEAST * prior)
        return known

    def experts(
        self, X: FloatArray, given: GivenRows, n_jobs: int | None = None
    ) -> Iterator[Known]:
        """Yield what each expert beside the first knows of rows; all are factorised."""
        calls = (
            delayed(self.expert)(i, X, given) for i in range(1, len(self.starts) - 1)
        )
        return results_of(calls, n_jobs, prefer="threads")

    def posterior(self, X: FloatArray, n_jobs: int | None = None) -> Known:
        """Return f, (N, T), without the offset, and s^2, (N,)."""
        given = self.given()
        with one_thread():
            first = self.first(X, given)
            return combined(first, self.experts(X, given, n_jobs), self.method)

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return f, (N, T)."""
        return self.posterior(X, n_jobs).mean + self.offset

    def cell_values(self, c: int, X: FloatArray) -> FloatArray:
        """Return m_{c + 2}, (N, T), without the offset: c counts from zero."""
        given = self.given()
        return self.first(X, given).mean + self.expert(c + 1, X, given).mean


@dataclass(frozen=True, eq=False)
class CommitteeVariance:
    """The scale of the prior and the noise, as `CellVariance` has them."""

    scale: FloatArray
    noise: FloatArray

    def std(
        self, model: CommitteeMachine, X: FloatArray, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the standard deviation of f, (N, T)."""
        s = np.sqrt(model.posterior(X, n_jobs).variance)
        return s[:, None] * np.sqrt(self.scale)


def combined(first: Known, experts: Iterable[Known], method: str) -> Known:
    """Combine experts by precision; see `CommitteeMachine`."""
    precision = 1.0 / first.variance
    pull = np.zeros_like(first.mean)
    for i, (delta, V) in enumerate(experts):
        entropic = method == "grbcm" and i > 0
        beta = np.log(first.variance / V) / 2.0 if entropic else np.ones(len(V))
        precision += beta * (1.0 / V - 1.0 / first.variance)
        pull += (beta / V)[:, None] * delta
    return Known(first.mean + pull / precision[:, None], 1.0 / precision)
