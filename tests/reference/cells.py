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


def precision_committee(kernel, X, Y, parts, alpha, points, entropic):
    """Experts on parts[0] and parts[0] + parts[i], each by dense algebra, combined.

    Returns mean (n, T) and variance (n,) at points, for a prior of scale one. The first
    expert of an empty part is the prior.
    """

    def posterior(rows):
        if not len(rows):
            return np.zeros((len(points), Y.shape[1])), np.ones(len(points))
        k = kernel(points, X[rows])
        A = kernel(X[rows], X[rows]) + alpha * np.eye(len(rows))
        m = k @ np.linalg.solve(A, Y[rows])
        return m, 1.0 - np.einsum("nm,mn->n", k, np.linalg.solve(A, k.T))

    m_1, V_1 = posterior(parts[0])
    total, mean = np.zeros(len(points)), np.zeros_like(m_1)
    betas = np.zeros(len(points))
    for i, part in enumerate(parts[1:]):
        m, V = posterior(np.concatenate([parts[0], part]))
        beta = (np.log(V_1) - np.log(V)) / 2 if entropic and i else np.ones(len(V))
        betas += beta
        total += beta / V
        mean += (beta / V)[:, None] * m
    total += (1 - betas) / V_1
    mean += ((1 - betas) / V_1)[:, None] * m_1
    return mean / total[:, None], 1.0 / total
