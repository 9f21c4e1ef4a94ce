"""Kernel machines in the cells of a tree, coupled at their borders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from committee._typing import FloatArray
from committee._validation import AT_LEAST_ONE, Interval, StrOptions, fit_context
from committee.cells import CellModel, CellOptions, CellTraining
from committee.cells.choose import COUPLINGS, learn_metric
from committee.cells.groups import RowChunks
from committee.cells.model import base_of
from committee.cells.train import train_around_trend
from committee.coupled.kernel_machine import (
    LocalClassifierMixin,
    LocalKernel,
    LocalRegressorMixin,
)
from committee.coupled.rows import (
    Rows,
    chunked_rows,
    warn_of_copies,
)
from committee.distributed.collections import is_dask
from committee.kernels import warn_of_scales

#: Rows of Dask collections on which the scales of the columns are compared.
_SCALE_ROWS = 1000


@dataclass(eq=False, repr=False)
class CellKernel(LocalKernel):
    """Base of the two estimators in cells."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LocalKernel._parameter_constraints,
        "max_cell": [Interval(Integral, 2, None, closed="left")],
        "trend": ["boolean", None],
        "coupling": [Interval(Real, None, None, closed="neither"), None],
        "n_coupling": [AT_LEAST_ONE],
        "precision": [StrOptions({"auto", "double"})],
    }

    cells_: CellModel = field(init=False)
    coupling_: float = field(init=False)
    trend_: bool = field(init=False)
    coupling_points_: FloatArray = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)

    max_cell: int = 1000
    _: KW_ONLY
    trend: bool | None = None
    coupling: float | None = None
    n_coupling: int = 32
    precision: str = "auto"

    @property
    def _machine(self) -> Any:
        return self.cells_

    def _checked(self, check: Callable[..., Rows], X: Any, y: Any, s: Any) -> Any:
        """Return checked rows, in memory or in chunks."""
        if not is_dask(X, y, s):
            return super()._checked(check, X, y, s)
        self.__dict__.pop(self._fitted_attribute, None)
        return chunked_rows(self, check, X, y, s)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the kernel, fit the cells, and the slope of a classifier.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            Rows of a Dask collection are sent once to the worker that fits their cell.
            The result is the same as for arrays in memory.
        y : array-like of shape (N,), or (N, T) for regression, or a Dask collection
            Numbers, or labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.

        Returns
        -------
        self
        """
        rows = self._target_rows(X, y, sample_weight)
        self._keep(self._train(rows.chunks(), rows.numbers()), rows)
        return self

    def _train(self, rows: RowChunks, numbers: Any) -> CellTraining:
        """Fit the cells; `numbers` of the rows, None for rows of Dask collections."""
        options = self._options()
        self._turn = None
        if numbers is None:
            self.__dict__.pop("subsets_", None)
            if self.gamma is None:
                warn_of_scales(rows.some(_SCALE_ROWS).X, self.kernel)
        else:
            (part,) = rows.chunks.values()
            warn_of_copies(part.X, part.Y)
        if self.metric == "learned":
            self._turn = learn_metric(*rows.sample(), options)
        training = train_around_trend(rows.turned(self._turn), options, self.trend)
        self.cells_ = training.model
        if training.cells is not None:
            self.subsets_ = [numbers[cell] for cell in training.cells]
        self.kernel_ = training.model.kernel
        self.alpha_, self.coupling_ = training.alpha, training.coupling
        self.trend_ = training.model.trend is not None
        self.coupling_points_ = training.borders.points
        self.n_iter_ = max(training.joint.n_iter, 1)
        self.converged_ = training.joint.converged
        self.loo_error_ = training.errors[training.coupling]
        return training

    def _options(self) -> CellOptions:
        return CellOptions(
            max_cell=self.max_cell,
            kernel=self.kernel,
            gamma=self.gamma,
            alpha=self.alpha,
            couplings=COUPLINGS if self.coupling is None else (self.coupling,),
            n_coupling=self.n_coupling,
            precision=self.precision,
            n_jobs=self.n_jobs,
        )

    def _outputs(self, X: FloatArray) -> FloatArray:
        model = self.cells_
        values = [model.cell_values(c, X) for c in range(model.n_cells)]
        base = base_of(X, model.offset, model.trend)
        return np.stack(values, axis=1) + base[:, None]


class CellKernelRegressor(LocalRegressorMixin, CellKernel):
    """Kernel machines in cells of at most `max_cell` rows, coupled at their borders.

        min  sum_c [ sum_n s_n (f_c(x_n) - y_n)^2 + alpha ||f_c||^2 ]
             + nu sum_b (f_c(b) - f_d(b))^2

        f(x) = mean y + sum_c g_c(x) f_c(x)

    Cells are the leaves of a tree of balanced splits, and b are points on the border of
    cells c and d. The weights g are continuous in x: away from borders, a row is
    predicted by the machine of its own cell, and near a border also by the machine on
    the other side. With a trend t, the problem is solved for y - t, and t is added to
    f. Fit time grows with the number of rows times `max_cell` squared.

    Parameters
    ----------
    max_cell : int, default=1000
        Maximum number of rows in a cell. Fit time grows with its square, prediction
        time linearly.
    metric : {"learned"}, default=None
        "learned" learns in which directions the target varies, on 2,000 rows in a
        second or two, and uses this metric for splits and kernels. The metric stays
        Euclidean if it does not reduce the leave-one-out error. None means Euclidean.
    trend : bool, default=None
        Whether to fit the cells to the residuals of a smooth trend over all rows, a
        kernel machine on up to 300 points. None uses a trend if there are at least
        1,000 rows and the leave-one-out error falls by at least 2 %.
    kernel : str or callable, default=None
        "rbf", "exponential", "matern32", "matern52", "linear" or a callable.
        A callable takes two arrays of points and returns their kernel matrix. None
        chooses among "exponential", "matern32", "matern52" and "rbf" by leave-one-out
        error.
    gamma : float, default=None
        Kernel coefficient in exp(-gamma ||x - z||^2). None chooses it by leave-one-out
        error.
    alpha : float, default=None
        Regularisation strength: factor of ||f||^2. None chooses it by leave-one-out
        error.
    coupling : float, default=None
        Coupling strength nu. Zero fits each cell separately. If a negative value leaves
        the problem without a minimum, `fit` raises an error that states the limit. None
        chooses nu by leave-one-out error.
    n_coupling : int, default=32
        Number of points on the borders of each cell.
    precision : {"auto", "double"}, default="auto"
        "auto" uses single precision for well-conditioned factors, which changes
        predictions by at most a thousandth of the spread of the targets. It also
        predicts from a subset of the points of a cell if that changes the function by
        at most a twentieth of the leave-one-out error. "double" does neither.
    n_jobs : int, default=None
        Number of threads. The results do not depend on it.

    Attributes
    ----------
    cells_ : CellModel
        Tree, points and coefficients of the cells.
    subsets_ : list of arrays of row numbers
        The rows of each cell. Not available for Dask collections.
    kernel_ : Kernel
        The kernel, with the value of gamma used.
    alpha_, coupling_ : float
        Value used, given or chosen.
    trend_ : bool
        Whether the cells are fitted to the residuals of a trend.
    noise_ : float or array of shape (T,)
        Variance of the noise around f.
    metric_ : array of shape (n_features, n_features) or None
        M of the squared distance (x - z)'M (x - z).
    loo_error_ : float
        Leave-one-out mean squared error, on up to about 5,000 rows.
    coupling_points_ : array of shape (P, n_features)
        Points on the borders.
    n_iter_ : int
        Number of conjugate gradient iterations.
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    Park and Apley, Patchwork kriging for large-scale Gaussian process regression (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CellKernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    >>> cells = CellKernelRegressor(max_cell=50).fit(X, y)
    >>> len(cells.subsets_), bool(cells.loo_error_ < 0.02)
    (4, True)
    >>> f, std = cells.predict(X[:3], return_std=True)
    """


class CellKernelClassifier(LocalClassifierMixin, CellKernel):
    """Kernel machines in cells for classification, fitted to targets +-1.

        s_k(x) = f_k(x),    p(k | x) ~ exp(b s_k(x))

    The machines are trained as in `CellKernelRegressor`, on one target for two classes
    and one-vs-rest for more. All targets share the factorisations.

    Parameters
    ----------
    max_cell, metric, trend, kernel, gamma, alpha, coupling, n_coupling, precision :
        As for `CellKernelRegressor`.
    n_jobs :
        As for `CellKernelRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    slope_ : float
        b, fitted on leave-one-out scores.
    cells_, subsets_, kernel_, alpha_, coupling_, trend_, metric_, loo_error_ :
        As for `CellKernelRegressor`; the error is the squared error of targets +-1.
    coupling_points_, n_iter_, converged_, n_features_in_ :
        As for `CellKernelRegressor`; the error is the squared error of targets +-1.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import CellKernelClassifier
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> model = CellKernelClassifier(max_cell=100).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.95
    True
    >>> model.predict_set(X[400:403], 0.9).shape
    (3, 2)
    """
