"""The coupled problem written out densely, straight from its objective."""

import numpy as np


def supports(q, overlap=True):
    """S_j as lists of subsets, each subset once."""
    if not overlap:
        return [[j] for j in range(q)]
    return [list(dict.fromkeys([(j - 1) % q, j, (j + 1) % q])) for j in range(q)]


def edges(q, topology):
    """The coupled pairs."""
    pairs = {frozenset((j, (j + 1) % q)) for j in range(q)}
    if topology == "chain" and q > 2:
        pairs.discard(frozenset((q - 1, 0)))
    return sorted(tuple(sorted(pair)) for pair in pairs if len(pair) == 2)


class DenseCoupled:
    """Objective, gradient and solution, from residuals stacked in one long matrix."""

    def __init__(
        self, kernel, X, Y, subsets, Xc, *, alpha, nu, topology, overlap=True, s=None
    ):
        q = len(subsets)
        s = np.ones(len(X)) if s is None else s
        rows = [np.concatenate([subsets[i] for i in S]) for S in supports(q, overlap)]
        ends = np.cumsum([len(r) for r in rows])
        at = [slice(e - len(r), e) for e, r in zip(ends, rows, strict=True)]
        data, targets, gaps = [], [], []
        for j in range(q):
            R = np.zeros((len(subsets[j]), ends[-1]))
            root = np.sqrt(s[subsets[j]])[:, None]
            R[:, at[j]] = root * kernel(X[subsets[j]], X[rows[j]])
            data.append(R)
            targets.append(root * Y[subsets[j]])
        for j, k in edges(q, topology):
            R = np.zeros((len(Xc), ends[-1]))
            R[:, at[j]] = kernel(Xc, X[rows[j]])
            R[:, at[k]] = -kernel(Xc, X[rows[k]])
            gaps.append(R)
        self.rows, self.at, self.alpha, self.nu = rows, at, alpha, nu
        self.D, self.t = np.vstack(data), np.vstack(targets)
        self.E = np.vstack(gaps) if gaps else np.zeros((0, ends[-1]))

    def objective(self, a):
        fit = self.D @ a - self.t
        gap = self.E @ a
        return 0.5 * (
            np.sum(fit**2) + self.alpha * np.sum(a**2) + self.nu * np.sum(gap**2)
        )

    def gradient(self, a):
        return (
            self.D.T @ (self.D @ a - self.t)
            + self.alpha * a
            + self.nu * self.E.T @ (self.E @ a)
        )

    @property
    def matrix(self):
        return (
            self.D.T @ self.D
            + self.alpha * np.eye(self.D.shape[1])
            + self.nu * self.E.T @ self.E
        )

    def solve(self):
        a = np.linalg.solve(self.matrix, self.D.T @ self.t)
        return [a[r] for r in self.at]

    def limit(self):
        """The coupling below which the matrix is not definite."""
        from scipy.linalg import eigh

        H = self.D.T @ self.D + self.alpha * np.eye(self.D.shape[1])
        return -1.0 / eigh(self.E.T @ self.E, H, eigvals_only=True)[-1]
