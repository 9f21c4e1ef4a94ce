"""Least squares support vector machines: the individual model on all rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg import solve as dense_solve
from scipy.linalg.lapack import dpotri
from sklearn.base import is_classifier

from committee._typing import FloatArray
from committee._validation import fit_context
from committee.coupled.gram import evaluate, threads_for
from committee.coupled.kernel_machine import (
    RIDGE_CONSTRAINTS,
    KernelClassifierMixin,
    KernelMachine,
    KernelRegressorMixin,
    both_sides,
)
from committee.coupled.rows import Rows
from committee.kernels import Kernel, make_kernel
from committee.probabilities import fit_slope


def solve_lssvm(
    K: FloatArray, Y: FloatArray, ridge: FloatArray, *, leave_one_out: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return a (N, T), b (T,) and the leave-one-out predictions (N, T), or None.

        [ 0   1'    ] [ b ]   [ 0 ]
        [ 1   K + R ] [ a ] = [ y ],    R = diag(ridge)

        loo_n = y_n - a_n / (C^-1)_nn,    C the matrix on the left

    By Cholesky where K + R is positive definite, by a symmetric indefinite
    factorisation elsewhere.
    """
    N, T = Y.shape
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-12 * float(np.abs(K).max())):
        raise ValueError(
            "An LS-SVM needs a symmetric kernel, k(x, z) = k(z, x); "
            "CoupledKernelRegressor(1) supports others."
        )
    H = K + np.diag(ridge)
    # A callable kernel may be indefinite, and then H too.
    try:
        factor, lower = cho_factor(H, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        C = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), H]])
        sides = [np.vstack([np.zeros((1, T)), Y])]
        if leave_one_out:
            sides.append(np.eye(N + 1))
        x = dense_solve(C, np.hstack(sides), assume_a="sym", check_finite=False)
        a, b = x[1:, :T], x[0, :T]
        loo = Y - a / np.diag(x[:, T:])[1:, None] if leave_one_out else None
        return a, b, loo
    z = cho_solve((factor, lower), np.column_stack([np.ones(N), Y]), check_finite=False)
    one, free = z[:, :1], z[:, 1:]
    # With H z = (1, y) the first row, 1'a = 0, gives b (block elimination).
    b = free.sum(axis=0) / one.sum()
    a = free - one * b
    if not leave_one_out:
        return a, b, None
    # Diagonal of C^-1 without its border: H^-1 - H^-1 1 1'H^-1 / (1'H^-1 1).
    inverse, _ = dpotri(factor, lower=True)
    diagonal = np.diag(inverse)[:, None] - one**2 / one.sum()
    return a, b, Y - a / diagonal


@dataclass(eq=False, repr=False)
class LSSVM(KernelMachine):
    """Base of the regressor and the classifier."""

    _parameter_constraints: ClassVar[dict[str, Any]] = RIDGE_CONSTRAINTS
    _fitted_attribute = "dual_coef_"

    kernel_: Kernel = field(init=False)
    dual_coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: float | None = None
    alpha: float = 1.0

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the linear system, and fit the slope of a classifier.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or (N, T) for regression
            Numbers, or labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.

        Returns
        -------
        self
        """
        rows = self._target_rows(X, y, sample_weight)
        rows = rows.take(rows.counted())
        loo = self._solve(rows, leave_one_out=is_classifier(self))
        if loo is not None:
            self.slope_ = fit_slope(both_sides(loo), rows.y, rows.s)
        return self

    def _solve(self, rows: Rows, *, leave_one_out: bool) -> FloatArray | None:
        """Solve for the targets of the rows; return their leave-one-out values."""
        X, _, Y, s = rows
        self.kernel_ = make_kernel(self.kernel, X, self.gamma)
        self._X = X
        # A weight s on a row's squared error is a ridge of alpha / s on it.
        ridge = np.full(len(X), float(self.alpha)) if s is None else self.alpha / s
        with threads_for(len(X)):
            a, b, loo = solve_lssvm(
                self.kernel_(X, X), Y, ridge, leave_one_out=leave_one_out
            )
        self.dual_coef_, self.intercept_ = a, b
        return loo

    def _values(self, X: Any) -> FloatArray:
        """Return k(X, X_fit) a + b, (N, T)."""
        X = self._check_X(X)
        return evaluate(self.kernel_, X, self._X, self.dual_coef_) + self.intercept_


class LSSVMRegressor(KernelRegressorMixin, LSSVM):
    """Least squares support vector machine for regression.

        [ 0   1'          ] [ b ]   [ 0 ]
        [ 1   K + alpha I ] [ a ] = [ y ],     f(x) = a'k(X, x) + b

    It factorises the whole kernel matrix. Coupled ensembles are compared with this
    single model.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "rbf", "exponential", "matern32", "matern52", "linear" or a callable.
    gamma : float, default=None
        Kernel coefficient. None means 1 / the median of the squared distances.
    alpha : float, default=1.0
        Regularisation strength, 1 / gamma in the paper; divided by the sample weights.

    Attributes
    ----------
    dual_coef_ : array of shape (N, T)
    intercept_ : array of shape (T,)
    kernel_ : Kernel
    n_features_in_ : int

    Examples
    --------
    >>> from committee import LSSVMRegressor
    >>> model = LSSVMRegressor(kernel="linear", alpha=1e-6)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(3).tolist()
    [7.0]
    """


class LSSVMClassifier(KernelClassifierMixin, LSSVM):
    """Least squares support vector machine for classification.

        [ 0   1'          ] [ b ]   [ 0 ]
        [ 1   K + alpha I ] [ a ] = [ y ],     y = +-1,   sign(a'k(X, x) + b)

    More than two classes are fitted one-vs-rest; all share one factorisation.

    Parameters
    ----------
    kernel, gamma, alpha :
        As for `LSSVMRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    slope_ : float
        Slope of p(k | x) ~ exp(slope s_k), fitted on leave-one-out scores.
    dual_coef_ : array of shape (N, 1) or (N, K)
    intercept_ : array of shape (1,) or (K,)
    kernel_ : Kernel
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import LSSVMClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> LSSVMClassifier(gamma=2.0, alpha=0.1).fit(X, y).score(X, y) > 0.98
    True
    """
