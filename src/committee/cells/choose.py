"""Kernel, width and ridge by leave-one-out in closed form, on parts of some cells.

A metric is learned from gradients: directions in which the target moves count more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from committee._parallel import in_threads, one_thread
from committee._typing import FloatArray, IntArray
from committee.cells.machine import solve_cell
from committee.cells.tree import grow_tree
from committee.kernels import (
    GramFunction,
    Kernel,
    equal_steps,
    make_kernel,
    median_gamma,
)

#: A part of at most so many rows is taken from each of so many cells: parts are as
#: dense as their cells, and cost a thousandth.
_PART_ROWS, _PARTS = 256, 16
#: Rows, at equal steps, that decide what concerns all cells.
SAMPLE_ROWS = 100_000
#: Kernels to choose from, smooth ones last.
CHOICE = ("exponential", "matern32", "matern52", "rbf")
#: Couplings to choose from.
COUPLINGS = (0.0, 0.1, 1.0, 10.0)
#: Of gamma, relative to `median_gamma` of all rows; of alpha, to the mean weight.
_GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
#: The best of the grid is moved by these.
_FINE = (0.55, 1.0, 1.8)
#: The whole grid is tried on so many parts, the best so many of it on all.
FEW, _FINALISTS = 4, 12
_CLOSE = 1.005
#: Triangles of more rows are inverted by halves.
_HALVED = 64


@dataclass(frozen=True)
class CellOptions:
    """Options of a fit; leave-one-out chooses for None, and among the couplings."""

    max_cell: int
    kernel: str | GramFunction | None = None
    gamma: float | None = None
    alpha: float | None = None
    couplings: Sequence[float] = COUPLINGS
    n_coupling: int = 32
    precision: str = "auto"
    n_jobs: int | None = None


class Candidate(NamedTuple):
    """A kernel, a ridge and the mean squared error of leave-one-out."""

    kernel: Kernel
    alpha: float
    error: float


class Part(NamedTuple):
    """Some of the rows: X (n, d), Y (n, T), sample weights (n,)."""

    X: FloatArray
    Y: FloatArray
    s: FloatArray

    def take(self, rows: IntArray) -> Part:
        """Return the rows of the given numbers."""
        return Part(self.X[rows], self.Y[rows], self.s[rows])


def parts_of(rows: Part, cells: Sequence[IntArray]) -> list[Part]:
    """Return a part of each of some cells, at equal steps among them."""
    return [part_of(rows.take(cells[c])) for c in part_cells(len(cells))]


def part_cells(n_cells: int) -> list[int]:
    """Return the cells that parts are taken from, at equal steps."""
    return equal_steps(n_cells, _PARTS).tolist()  # type: ignore[no-any-return]


def part_of(cell: Part) -> Part:
    """Return a part of the rows of one cell."""
    inner = grow_tree(cell.X, _PART_ROWS)[1]
    return cell.take(inner[len(inner) // 2][:_PART_ROWS])


def loo_errors(
    parts: Sequence[Part],
    kernel: Kernel,
    alphas: Sequence[float],
    factors: Sequence[FloatArray] | None = None,
) -> list[float]:
    """Return the mean squared leave-one-out residual for each ridge; inf if singular.

        y_n - f^-n(x_n) = c_n a_n / (A^-1)_nn,    A a = y,  A = K + diag(alpha / s)

    weighted by s, over all parts and targets. The factors c, (n,) of each part, are one
    by default. K is made once.
    """
    total, weight = np.zeros(len(alphas)), 0.0
    for number, (X, Y, s) in enumerate(parts):
        w = s if factors is None else s * factors[number] ** 2
        K = kernel(X, X)
        weight += float(s.sum())
        for i, alpha in enumerate(alphas):
            A = K.copy()
            A[np.diag_indices_from(A)] += alpha / s
            # The transpose is in Fortran's order, so nothing is copied.
            L, info = dpotrf(A.T, lower=1, overwrite_a=1)
            if info:
                total[i] = np.inf
                continue
            inverse = lower_inverse(L)
            diagonal = np.einsum("mn,mn->n", inverse, inverse)
            left_out = (inverse.T @ (inverse @ Y)) / diagonal[:, None]
            total[i] += float(w @ np.mean(left_out**2, axis=1))
    return [float(error) for error in total / weight]


def lower_inverse(L: FloatArray) -> FloatArray:
    """Return L^-1 of a lower triangle, by halves: LAPACK's takes twice as long.

    (L11  0 ; L21  L22)^-1 = (I11  0 ; -I22 L21 I11  I22),    I = L^-1 of a block
    """
    n = len(L)
    if n <= _HALVED:
        return dtrtri(L, lower=1)[0]  # type: ignore[no-any-return]
    half = n // 2
    first, last = lower_inverse(L[:half, :half]), lower_inverse(L[half:, half:])
    inverse = np.zeros((n, n), order="F")
    inverse[:half, :half], inverse[half:, half:] = first, last
    below = dtrmm(-1.0, first, L[half:, :half], side=1, lower=1)
    inverse[half:, :half] = dtrmm(1.0, last, below, lower=1, overwrite_b=1)
    return inverse


def choose_kernel(
    X: FloatArray, parts: Sequence[Part], o: CellOptions
) -> list[Candidate]:
    """Return the candidates that were tried on all parts, the best first.

    What is given is taken; None is chosen: the kernel from `CHOICE`, gamma and alpha
    from a grid, then once more around the best of it. The same answer for any n_jobs.

    Parameters
    ----------
    X : array of shape (N, d)
        All rows, for the scale of gamma.
    parts : sequence of Part
    o : CellOptions
    """
    kernel, gamma, alpha = o.kernel, o.gamma, o.alpha
    unit = np.concatenate([part.s for part in parts]).mean()
    alphas = [unit * a for a in _ALPHAS] if alpha is None else (alpha,)
    kernels: list[Kernel] = []
    # All in CHOICE are of the Euclidean distance: its median is found once.
    square = median_gamma(X) if kernel is None and gamma is None else None
    for name in CHOICE if kernel is None else (kernel,):
        given = gamma
        if square is not None:
            given = square if name == "rbf" else square**0.5
        middle = make_kernel(name, X, given)
        steps = _GAMMAS if gamma is None and middle.of_distances else (1.0,)
        kernels += [replace(middle, gamma=middle.gamma * step) for step in steps]
    few = parts[:: max(1, len(parts) // FEW)]
    finalists = _tried(few, [(k, alphas) for k in kernels], o.n_jobs)[:_FINALISTS]
    tried = _tried(parts, [(k, (a,)) for k, a, _ in finalists], o.n_jobs)
    k, a, _ = tried[0]
    gammas = _FINE if gamma is None and k.of_distances else (1.0,)
    ridges = _FINE if alpha is None else (1.0,)
    fine = [
        (
            replace(k, gamma=k.gamma * wide),
            [a * step for step in ridges if (wide, step) != (1.0, 1.0)],  # was tried
        )
        for wide in gammas
    ]
    tried += _tried(parts, fine, o.n_jobs)
    return sorted(tried, key=lambda candidate: candidate.error)


def settled(
    X: FloatArray, parts: Sequence[Part], o: CellOptions
) -> tuple[Kernel, float]:
    """Return the kernel and the ridge, given or chosen on parts of some cells."""
    if o.kernel is not None and o.gamma is not None and o.alpha is not None:
        return Kernel(o.kernel, o.gamma), o.alpha
    tried = choose_kernel(X, parts, o)
    if not np.isfinite(tried[0].error):
        raise np.linalg.LinAlgError(
            "The kernel matrix of a cell is not positive definite with any ridge "
            "tried: set a larger alpha, or use another kernel."
        )
    best = preferred(tried)
    return best.kernel, best.alpha


def preferred(tried: Sequence[Candidate]) -> Candidate:
    """Return the largest ridge among candidates within half a per cent of the best.

    Widths and ridges trade off; a large ridge has the better condition.
    """
    limit = _CLOSE * tried[0].error
    return max(
        (candidate for candidate in tried if candidate.error <= limit),
        key=lambda candidate: candidate.alpha,
    )


def _tried(
    parts: Sequence[Part],
    grid: Sequence[tuple[Kernel, Sequence[float]]],
    n_jobs: int | None,
) -> list[Candidate]:
    """Return candidates with their errors, the best first."""
    errors = in_threads(loo_errors, ((parts, k, alphas) for k, alphas in grid), n_jobs)
    found = [
        Candidate(k, a, e)
        for (k, alphas), row in zip(grid, errors, strict=True)
        for a, e in zip(alphas, row, strict=True)
    ]
    return sorted(found, key=lambda candidate: candidate.error)


#: Rows of the machine whose gradients are taken, and of the parts that measure the error of a metric.
_METRIC_ROWS, _METRIC_PARTS = 2000, 4
_ROUNDS = 2
#: The least weight of a direction, relative to the largest.
_FLOOR = 1e-3


def learn_metric(
    X: FloatArray, Y: FloatArray, s: FloatArray | None, options: CellOptions
) -> FloatArray | None:
    """Return R, (d, d): kernels and splits of X R have the metric M = R R'.

        M <- mean_n grad f(x_n) grad f(x_n)',    scaled to largest entry 1

    with f the machine of 2,000 rows in the metric before (recursive feature machines,
    Radhakrishnan et al. 2024). At most two rounds, each kept where the leave-one-out
    error of random rows falls; None where the first does not help.

    Parameters
    ----------
    X : array of shape (N, d)
    Y : array of shape (N, T)
    s : array of shape (N,) or None
        Sample weights.
    options : CellOptions
        Its kernel must be one of Euclidean distances.
    """
    with one_thread():
        return _learned(X, Y, s, options)


def _learned(
    X: FloatArray, Y: FloatArray, s: FloatArray | None, options: CellOptions
) -> FloatArray | None:
    rows = np.random.default_rng(0).permutation(len(X))[:_METRIC_ROWS]
    s = np.ones(len(X)) if s is None else s
    whole = Part(X, Y - np.average(Y, axis=0, weights=s), s).take(rows)
    kernel, alpha, error = _judged(whole, options)
    best, R = None, np.eye(X.shape[1])
    for _ in range(_ROUNDS):
        part = whole._replace(X=whole.X @ R)
        fit = solve_cell(kernel, part.X, part.Y, alpha / part.s)
        gradients = R @ mean_outer_gradients(kernel, part.X, fit.coef, part.s) @ R.T
        if not gradients.any():  # a constant has no directions
            break
        R = _root(gradients)
        now = _judged(
            whole._replace(X=whole.X @ R), replace(options, kernel=kernel.name)
        )
        if not now[2] < error:
            break
        kernel, alpha, error = now
        best = R
    return best


def _judged(part: Part, o: CellOptions) -> tuple[Kernel, float, float]:
    """Return the kernel and ridge with the smallest leave-one-out error, and that error."""
    n = max(1, min(_METRIC_PARTS, len(part.X) // _PART_ROWS))
    parts = [
        Part(*(values[i * _PART_ROWS : (i + 1) * _PART_ROWS] for values in part))
        for i in range(n)
    ]
    tried = choose_kernel(part.X, parts, replace(o, gamma=None))
    best = preferred(tried)
    return best.kernel, best.alpha, tried[0].error


def mean_outer_gradients(
    kernel: Kernel, X: FloatArray, coef: FloatArray, s: FloatArray
) -> FloatArray:
    """Return the mean over rows and targets of grad f grad f', (d, d).

    grad f(x) = sum_n a_n k'(r_n) / r_n (x - x_n),    r_n = ||x - x_n||
    """
    slope = kernel.slope(X, X)
    M = np.zeros((X.shape[1], X.shape[1]))
    for a in coef.T:
        C = slope * a
        gradients = X * C.sum(axis=1)[:, None] - C @ X
        M += (gradients * s[:, None]).T @ gradients
    M /= s.sum() * coef.shape[1]
    return M


def _root(M: FloatArray) -> FloatArray:
    """Return the symmetric root of M, scaled to largest entry 1, no direction lost."""
    values, vectors = eigh(M / np.abs(M).max())
    values = np.maximum(values, _FLOOR * values[-1])
    root: FloatArray = (vectors * np.sqrt(values)) @ vectors.T
    return root
