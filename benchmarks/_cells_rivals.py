"""What cells are compared with: each side's kernel, width and ridge by its own validation."""

from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.base import BaseEstimator

from committee import Average, CoupledKernelClassifier, CoupledKernelRegressor
from committee.cells.choose import CellOptions, Part, choose_kernel, preferred
from committee.kernels import Kernel, make_kernel

#: The kernels of both sides.
KERNELS = ("exponential", "matern32", "matern52", "rbf")
_GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0)
_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
#: Rows that choose: so many to train on, so many to measure.
_TRAIN, _FEW, _MEASURE, _COMPONENTS = 4000, 2000, 2000, 300


def targets(y, classes):
    """Numbers as they are, classes as columns of +-1."""
    return (
        np.where(y[:, None] == np.arange(classes), 1.0, -1.0) if classes else y[:, None]
    )


class NystroemRidge(BaseEstimator):
    """scikit-learn's Nystroem and Ridge, by the same equations with Gram blocks of ours.

    Its own kernels are fewer, and a callable is called once for each pair of rows.
    """

    def __init__(self, kernel, alpha, n_components=1000):
        self.kernel, self.alpha, self.n_components = kernel, alpha, n_components

    def features(self, X):
        return self.kernel(X, self.basis) @ self.root

    def prepare(self, X):
        rows = np.random.default_rng(0).permutation(len(X))[: self.n_components]
        self.basis = X[rows]
        # scikit-learn takes a singular value decomposition, at four times the price.
        d, U = eigh(self.kernel(self.basis, self.basis))
        self.root = (U / np.sqrt(np.maximum(d, 1e-12))) @ U.T
        return self.features(X)

    def fit(self, X, Y):
        Z = self.prepare(X)
        self.mean, self.offset = Z.mean(axis=0), Y.mean(axis=0)
        Z -= self.mean
        self.gram, self.cross = Z.T @ Z, Z.T @ (Y - self.offset)
        return self.solve(self.alpha)

    def solve(self, alpha):
        factor = cho_factor(self.gram + alpha * np.eye(len(self.gram)))
        self.coef = cho_solve(factor, self.cross)
        return self

    def predict(self, X):
        parts = [X[i : i + 4096] for i in range(0, len(X), 4096)]
        return np.concatenate(
            [
                (self.features(part) - self.mean) @ self.coef + self.offset
                for part in parts
            ]
        )


def chosen_nystroem(X, Y):
    """Return the kernel and ridge of least error on rows put aside, at 300 components."""
    order = np.random.default_rng(2).permutation(len(X))
    train, measure = order[:_TRAIN], order[_TRAIN : _TRAIN + _MEASURE]
    best = (np.inf, None, None)
    for name, step in product(KERNELS, _GAMMAS):
        gamma = make_kernel(name, X).gamma * step
        model = NystroemRidge(Kernel(name, gamma), 1.0, _COMPONENTS)
        model.fit(X[train], Y[train])
        for alpha in _ALPHAS:
            f = model.solve(alpha).predict(X[measure])
            error = float(np.mean((f - Y[measure]) ** 2))
            best = min(best, (error, model.kernel, alpha), key=lambda t: t[0])
    return best[1], best[2]


def chosen_ridge(X, Y):
    """Return the kernel and ridge of one machine, by leave-one-out of random rows."""
    order = np.random.default_rng(3).permutation(len(X))
    parts = [
        Part(X[rows], Y[rows] - Y.mean(axis=0), np.ones(len(rows)))
        for rows in np.array_split(order[:3000], 4)
    ]
    best = preferred(choose_kernel(X, parts, CellOptions(1000)))
    return best.kernel, best.alpha


class DenseRidge(BaseEstimator):
    """KernelRidge around the mean, without scikit-learn's copies."""

    def __init__(self, kernel, alpha):
        self.kernel, self.alpha = kernel, alpha

    def fit(self, X, Y):
        self.X, self.offset = X, Y.mean(axis=0)
        K = self.kernel(X, X)
        K[np.diag_indices_from(K)] += self.alpha
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        self.coef = cho_solve(factor, Y - self.offset, check_finite=False)
        return self

    def predict(self, X):
        parts = [X[i : i + 1024] for i in range(0, len(X), 1024)]
        return (
            np.concatenate([self.kernel(p, self.X) @ self.coef for p in parts])
            + self.offset
        )


def chosen_random(X, y, classes, size=200):
    """Return today's ensemble of random subsets, chosen on rows put aside."""
    order = np.random.default_rng(4).permutation(len(X))
    train, measure = order[:_FEW], order[_FEW : _FEW + _MEASURE]
    offset = 0.0 if classes else y.mean()
    kind = CoupledKernelClassifier if classes else CoupledKernelRegressor
    best = (np.inf, None)
    for step, alpha in product((0.1, 0.3, 1.0), (1e-5, 1e-3, 1e-1)):
        model = kind(
            _FEW // size, gamma=make_kernel("rbf", X).gamma * step, alpha=alpha,
            n_coupling=200, combiner=Average(), random_state=0,
        )  # fmt: skip
        f = model.fit(X[train], y[train] - offset).predict(X[measure])
        error = (
            np.mean(f != y[measure])
            if classes
            else np.mean((f + offset - y[measure]) ** 2)
        )
        best = min(best, (float(error), model), key=lambda t: t[0])
    return best[1].set_params(n_members=len(X) // size), offset
