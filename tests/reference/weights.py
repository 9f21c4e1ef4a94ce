"""Weights by dense formulas and by trying every face. For M <= 8."""

from itertools import combinations

import numpy as np


def faces(M):
    """Yield every non-empty set of members, as an index list."""
    for size in range(1, M + 1):
        for face in combinations(range(M), size):
            yield list(face)


def optimal_weights(C):
    """Minimise w'Cw with sum w = 1 by the bordered system [[C, 1], [1', 0]].

    Of minimum norm among the minimisers where C is singular.
    """
    M = len(C)
    scale = np.diag(C).max() or 1.0
    K = np.zeros((M + 1, M + 1))
    K[:M, :M] = C / scale
    K[:M, M] = K[M, :M] = 1.0
    right = np.zeros(M + 1)
    right[M] = 1.0
    return (np.linalg.pinv(K, rcond=1e-12) @ right)[:M]


def simplex_weights(C):
    """Minimise w'Cw over the simplex: the best face on which w >= 0."""
    best, best_value = None, np.inf
    for face in faces(len(C)):
        w = np.zeros(len(C))
        w[face] = optimal_weights(C[np.ix_(face, face)])
        value = w @ C @ w
        if w.min() >= -1e-12 and value < best_value:
            best, best_value = w, value
    return best


def nonnegative_minimum(A, b):
    """Minimise 1/2 z'Az - b'z over z >= 0: the best face on which z >= 0."""
    best, best_value = np.zeros(len(b)), 0.0
    for face in faces(len(b)):
        z = np.zeros(len(b))
        z[face] = np.linalg.lstsq(A[np.ix_(face, face)], b[face], rcond=1e-12)[0]
        value = z @ A @ z / 2 - b @ z
        if z.min() >= 0 and value < best_value:
            best, best_value = z, value
    return best


def least_squares(F, y):
    """Solve the normal equations F'F w = F'y, of minimum norm."""
    return np.linalg.pinv(F.T @ F, rcond=1e-10) @ (F.T @ y)


def simplex_violation(C, w):
    """Return how far w is from optimal, and what that is relative to, by member.

    With g = Cw and J = w'Cw the conditions are g_i >= J, with equality where
    w_i > 0. Since |C_ij| <= sqrt(c_i c_j), g_i and J are sums of terms no larger
    than r_i s and s^2, with r = sqrt(diag C) and s = r'w.
    """
    r = np.sqrt(np.diag(C))
    g, s = C @ w, r @ w
    J = w @ g
    violation = np.where(w > 0, np.abs(g - J), np.maximum(J - g, 0.0))
    return violation, np.maximum(r, s) * s
