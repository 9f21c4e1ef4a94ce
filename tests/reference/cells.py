"""Cells by plain dense algebra: all Gaussian processes and their borders at once."""

import numpy as np


def joint_posterior(kernel, parts, borders, alpha, nu):
    """Condition independent f_i on their rows and on equal values at the borders.

    y_n = f_i(x_n) + noise alpha, 0 = f_i(b) - f_j(b) + noise alpha / nu. Returns a
    function of a cell and points: mean (n, T) and covariance (n, n), prior of scale one.
    """
    owner = np.concatenate([np.full(len(X), i) for i, (X, _) in enumerate(parts)])
    X = np.concatenate([X for X, _ in parts])
    Y = np.concatenate([Y for _, Y in parts])
    P = len(borders.points)

    def looks(points, cell, sign):
        """Covariance of sign f_cell(points) with all observations."""
        rows = kernel(points, X) * (owner == cell)
        edges = kernel(points, borders.points) * (
            (borders.owner == cell) * 1.0 - (borders.other == cell)
        )
        return sign * np.hstack([rows, edges])

    C = np.zeros((len(X) + P, len(X) + P))
    for n in range(len(X)):
        C[n] = looks(X[n : n + 1], owner[n], 1.0)
    for p in range(P):
        b = borders.points[p : p + 1]
        C[len(X) + p] = looks(b, borders.owner[p], 1.0) + looks(
            b, borders.other[p], -1.0
        )
    C += np.diag(np.concatenate([np.full(len(X), alpha), np.full(P, alpha / nu)]))
    targets = np.concatenate([Y, np.zeros((P, Y.shape[1]))])

    def posterior(cell, points):
        k = looks(points, cell, 1.0)
        V = kernel(points, points) - k @ np.linalg.solve(C, k.T)
        return k @ np.linalg.solve(C, targets), V

    return posterior
