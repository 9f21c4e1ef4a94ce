"""A metric learned from gradients: directions in which the target moves count more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee.cells.choose import CellOptions, Part, choose_kernel, preferred
from committee.cells.machine import solve_cell
from committee.kernels import Kernel

#: Rows of the machine whose gradients are taken, and of the parts that measure the error of a metric.
_ROWS, _PART_ROWS, _PARTS = 2000, 256, 4
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
    rows = np.random.default_rng(0).permutation(len(X))[:_ROWS]
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
    """Return the kernel and ridge of least leave-one-out error, and that error."""
    n = max(1, min(_PARTS, len(part.X) // _PART_ROWS))
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
