"""The Bayesian committee machine: Gaussian processes combined by their precision.

First the model, then its training: draw D_1, choose, solve, leave one out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from committee._parallel import in_threads, one_thread
from committee._typing import FloatArray, IntArray
from committee.cells.choose import CellOptions, Part, parts_of, settled
from committee.cells.groups import merged
from committee.cells.machine import CellFit, Factor, row_blocks, solve_cell
from committee.cells.train import LeftOut, measured_cells
from committee.kernels import Kernel, equal_steps
from committee.linalg import jittered_cholesky

#: The least variance of an expert, relative to that of the prior: rounding is all that is
#: below. And the least of all, where a kernel has k(x, x) = 0.
LEAST, _TINY = 1e-12, 1e-100
#: Rows that are predicted jointly may lie close together: the least reciprocal condition.
_RCOND = 1e-10
#: Rows of D_1, relative to the rows of the largest expert. On nine generated sets as many as
#: an expert has were no better, at twice the price.
SHARED = 0.3
#: Every expert predicts a row that is left out, so fewer rows than of cells.
_LOO_ROWS = 1000


class Known(NamedTuple):
    """Predictions of one expert for some rows.

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
    """The kernel of a Gaussian process that was trained on some rows D already.

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
    """Experts trained on some rows each, which are combined for every row.

        f(x) = m_1 + s^2 sum_{i >= 2} beta_i (m_i - m_1) / s_i^2

        1 / s^2 = 1 / s_1^2 + sum_{i >= 2} beta_i (1 / s_i^2 - 1 / s_1^2)

    Expert 1 is trained on D_1, expert i on both D_1 and D_i: it is the Gaussian process of
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
        """Return the predictions of expert 1."""
        a = self.coef[self.part(0)]
        known = Known(np.empty((len(X), a.shape[1])), np.empty(len(X)))
        for rows in row_blocks(len(X)):
            known.mean[rows] = given.mean(X[rows], a)
            known.variance[rows] = given.diagonal(given.features(X[rows]))
        return known

    def expert(self, i: int, X: FloatArray, given: GivenRows) -> Known:
        """Return the predictions of expert i + 1, minus the means of the first expert."""
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
        """Yield the predictions of each expert beside the first; all are factorised."""
        arguments = ((i, X, given) for i in range(1, self.n_cells + 1))
        return in_threads(self.expert, arguments, n_jobs)

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


class JointMachine(CommitteeMachine):
    """The same experts, which predict all rows of a call jointly (Tresp 2000).

        S^-1 = S_1^-1 + sum_{i >= 2} (S_i^-1 - S_1^-1)
        f = m_1 + S sum_{i >= 2} S_i^-1 (m_i - m_1)

    S_i is the covariance of f at all rows x given D_1 and D_i. This is the posterior of
    all training rows if the D_i are independent given D_1 and f at the rows x: exactly so
    where every training row is among them. With S_1 = C C' and S_i = C B_i C'

        f = m_1 + C A^-1 sum_i B_i^-1 C^-1 (m_i - m_1),    A = I + sum_i (B_i^-1 - I)

    N rows take O(M N^3), and the covariances O(N^2) numbers.
    """

    def posterior(self, X: FloatArray, n_jobs: int | None = None) -> Known:
        """Return f, (N, T), without the offset, and the diagonal of S."""
        given = self.given()
        with one_thread():
            Z = given.features(X)
            C, _ = jittered_cholesky(given(Z, Z), rcond=_RCOND)
            arguments = ((i, Z, C, given) for i in range(1, self.n_cells + 1))
            A, pull = np.eye(len(X)), np.zeros((len(X), self.coef.shape[1]))
            for gained, pulled in in_threads(self.whitened, arguments, n_jobs):
                A += gained
                pull += pulled
            L, _ = jittered_cholesky(A)
            half = solve_triangular(L, C.T, lower=True)
            delta = half.T @ solve_triangular(L, pull, lower=True)
            first = given.mean(X, self.coef[self.part(0)])
            return Known(first + delta, np.einsum("mn,mn->n", half, half))

    def whitened(
        self, i: int, Z: FloatArray, C: FloatArray, given: GivenRows
    ) -> tuple[FloatArray, FloatArray]:
        """Return B^-1 - I and B^-1 C^-1 (m - m_1) of expert i + 1."""
        part = self.part(i)
        factor = Factor(
            given, given.features(self.points[part]), self.ridge[part], "double"
        )
        cross = factor.cross(Z)
        U = solve_triangular(C, factor.half_solve(cross).T, lower=True).T
        t = solve_triangular(C, cross.T @ self.coef[part], lower=True)
        B, _ = jittered_cholesky(np.eye(len(Z)) - U.T @ U)
        gained = cho_solve((B, True), np.eye(len(Z)))
        pulled: FloatArray = gained @ t
        gained[np.diag_indices_from(gained)] -= 1.0
        return gained, pulled


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


@dataclass(frozen=True, eq=False)
class CommitteeTraining:
    """A fitted committee, and what became known on the way.

    Attributes
    ----------
    model : CommitteeMachine
    subsets : list of arrays of row numbers
        D_1 and D_i of each expert.
    alpha, error : float
        The ridge, and the mean squared error of leave-one-out.
    measured : Part
        Rows of leave-one-out.
    left_out : LeftOut
        Their predictions by the committee without them, in their order.
    variance : CommitteeVariance
        Its scale is y'A^-1 y / N.
    """

    model: CommitteeMachine
    subsets: list[IntArray]
    alpha: float
    error: float
    measured: Part
    left_out: LeftOut
    variance: CommitteeVariance


def train_committee(
    X: FloatArray,
    Y: FloatArray,
    s: FloatArray | None,
    subsets: Sequence[IntArray],
    options: CellOptions,
    *,
    method: str,
    rng: np.random.RandomState,
) -> CommitteeTraining:
    """Fit an expert to the rows of each subset, and to rows D_1 that all of them share.

    D_1 is drawn from the rows of the subsets, which lose them. Kernel, gamma and alpha
    that are None are chosen on parts of the subsets.

    Parameters
    ----------
    X : array of shape (N, d)
    Y : array of shape (N, T)
    s : array of shape (N,) or None
        Sample weights.
    subsets : sequence of arrays of row numbers
    options : CellOptions
    method : {"bcm", "grbcm"}
    rng : RandomState
    """
    with one_thread():
        s = np.ones(len(X)) if s is None else s
        used = np.concatenate(subsets)
        offset: FloatArray = np.average(Y[used], axis=0, weights=s[used])
        whole = Part(X, Y - offset, s)
        kernel, alpha = settled(X, parts_of(whole, subsets), options)
        D = _drawn(subsets, options.max_cell, method, rng)
        groups = [np.setdiff1d(rows, D, assume_unique=True) for rows in subsets]
        groups = [rows for rows in groups if len(rows)]
        parts = [merged(whole.take(rows), options.max_cell) for rows in groups]
        shared = whole.take(D)
        first = GivenRows(kernel, shared.X, alpha / shared.s)
        a, energy = first.solve(shared.Y)
        parts = [part._replace(Y=part.Y - first.mean(part.X, a)) for part in parts]
        measured = measured_cells([len(rows) for rows in groups], options.max_cell)
        fits = _solved(first, parts, alpha, measured, options.n_jobs)
        model = CommitteeMachine(
            kernel,
            method,
            np.concatenate([shared.X, *(part.X for part in parts)]),
            np.concatenate([a, *(fit.coef for fit in fits)]),
            alpha / np.concatenate([shared.s, *(part.s for part in parts)]),
            np.cumsum([0, len(D), *(len(part.X) for part in parts)]),
            offset,
        )
        left_out, numbers = _left_out(
            model, first, groups, parts, fits, measured, options.n_jobs
        )
        measured_rows = Part(X, Y, s).take(numbers)
        squares = np.mean((measured_rows.Y - left_out.f) ** 2, axis=1)
        error = np.average(squares, weights=measured_rows.s) if measured else np.nan
        scale = np.sum([energy, *(fit.energy for fit in fits)], axis=0)
        scale = scale / len(model.points)
        return CommitteeTraining(
            model,
            [np.sort(np.concatenate([D, rows])) for rows in groups],
            alpha,
            float(error),
            measured_rows,
            left_out,
            CommitteeVariance(scale, alpha * scale),
        )


def _drawn(
    subsets: Sequence[IntArray], most: int, method: str, rng: np.random.RandomState
) -> IntArray:
    """Return the rows of D_1; none for "bcm", and none of those that are all alike."""
    usual = [rows for rows in subsets if len(rows) <= most]
    if method == "bcm" or not usual:
        return np.empty(0, np.intp)
    rows = rng.permutation(np.concatenate(usual))
    n = round(SHARED * max(len(rows) for rows in usual))
    return np.sort(rows[: min(n, len(rows) - 1)])


def _solved(
    first: GivenRows,
    parts: list[Part],
    alpha: float,
    measured: list[int],
    n_jobs: int | None,
) -> list[CellFit]:
    """Return the fits of all experts to the residuals of the first."""

    def solved(i: int, part: Part) -> CellFit:
        return solve_cell(
            first,
            first.features(part.X),
            part.Y,
            alpha / part.s,
            precision="double",
            leave_one_out=i in measured,
        )

    return list(in_threads(solved, enumerate(parts), n_jobs))


def _left_out(
    model: CommitteeMachine,
    given: GivenRows,
    groups: list[IntArray],
    parts: list[Part],
    fits: list[CellFit],
    measured: list[int],
    n_jobs: int | None,
) -> tuple[LeftOut, IntArray]:
    """Predict rows of some experts without their own targets, exactly.

        m_i^-n - m_1 = e_n - a_n / B_n,    s_i^2 = 1 / B_n - r_n,    B_n = (A^-1)_nn

    for the expert i that was trained on row n, with e its residual from the first expert.
    No other was trained on it: rows of D_1 are not among them. Return also the numbers
    of the rows.
    """
    T = len(model.offset)
    if not measured:
        return LeftOut(np.empty((0, T)), np.empty(0)), np.empty(0, np.intp)
    n = sum(len(groups[i]) for i in measured)
    some = equal_steps(n, _LOO_ROWS)

    def of_looked(arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate([arrays[i] for i in measured])[some]

    rows = np.concatenate([groups[i] for i in measured])[some]
    owner = np.repeat(measured, [len(groups[i]) for i in measured])[some]
    X, residual = of_looked([part.X for part in parts]), of_looked([p.Y for p in parts])
    B = np.concatenate([fits[i].precisions for i in measured])[some]
    a = of_looked([fit.coef for fit in fits])
    ridge = np.concatenate([model.ridge[model.part(i + 1)] for i in measured])[some]
    first = model.first(X, given)
    # A row that no other is near is as unknown to its expert as to the first.
    variance = np.clip(1.0 / B - ridge, LEAST * first.variance, first.variance)
    own = Known(residual - a / B[:, None], variance)

    def without_own(i: int, known: Known) -> Known:
        mine = owner == i
        return Known(
            np.where(mine[:, None], own.mean, known.mean),
            np.where(mine, own.variance, known.variance),
        )

    experts = enumerate(model.experts(X, given, n_jobs))
    f, V = combined(
        first, (without_own(i, known) for i, known in experts), model.method
    )
    order = np.argsort(rows)
    return LeftOut((f + model.offset)[order], (V + ridge)[order]), rows[order]
