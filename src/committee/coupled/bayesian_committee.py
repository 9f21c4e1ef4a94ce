"""Bayesian committee machines: Gaussian processes combined by their precision."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import Interval, StrOptions, fit_context
from committee.cells import CellOptions, grow_tree
from committee.cells.bcm import (
    CommitteeMachine,
    CommitteeTraining,
    JointMachine,
    train_committee,
)
from committee.cells.choose import learn_metric
from committee.coupled.kernel_machine import (
    LocalClassifierMixin,
    LocalKernel,
    LocalRegressorMixin,
)
from committee.coupled.rows import (
    Rows,
    draw_subsets,
    warn_of_copies,
)


@dataclass(eq=False, repr=False)
class BayesianCommittee(LocalKernel):
    """Base of the two Bayesian committee machines."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LocalKernel._parameter_constraints,
        "method": [StrOptions({"bcm", "grbcm"})],
        "subsets": [StrOptions({"cells", "random"})],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "joint": ["boolean"],
        "random_state": ["random_state"],
    }

    experts_: CommitteeMachine = field(init=False)

    method: str = "grbcm"
    _: KW_ONLY
    subsets: str = "cells"
    max_rows: int = 1000
    joint: bool = False
    random_state: RandomState = None

    @property
    def _machine(self) -> Any:
        return JointMachine(**vars(self.experts_)) if self.joint else self.experts_

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, subsets: Any = None
    ) -> Self:
        """Choose the kernel, fit the experts, and the slope of a classifier.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,), or (N, T) for regression
            Numbers, or labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        subsets : sequence of lists of row numbers, default=None
            Disjoint lists of row numbers, one for each expert, instead of cells or
            random subsets. They refer to this X, so they cannot be used in
            cross-validation.

        Returns
        -------
        self
        """
        rows = self._target_rows(X, y, sample_weight)
        self._keep(self._train(rows, subsets), rows)
        return self

    def _train(self, rows: Rows, subsets: Any) -> CommitteeTraining:
        """Fit the experts to rows with targets."""
        options = CellOptions(
            max_cell=self.max_rows,
            kernel=self.kernel,
            gamma=self.gamma,
            alpha=self.alpha,
            n_jobs=self.n_jobs,
        )
        counted = rows.counted()
        given = self._given_subsets(rows, subsets)
        data = rows.take(counted)
        warn_of_copies(data.X, data.Y)
        self._turn = None
        if self.metric == "learned":
            self._turn = learn_metric(data.X, data.Y, data.s, options)
        X = data.X if self._turn is None else data.X @ self._turn
        rng = check_random_state(self.random_state)
        groups = self._groups(X, counted, given, rng)
        if self.subsets == "random" or given is not None:
            options = replace(options, max_cell=max(len(group) for group in groups))
        training = train_committee(
            X, data.Y, data.s, groups, options, method=self.method, rng=rng
        )
        self.experts_ = training.model
        self.subsets_ = [counted[group] for group in training.subsets]
        self.kernel_, self.alpha_ = training.model.kernel, training.alpha
        self.loo_error_ = training.error
        return training

    def _groups(
        self,
        X: FloatArray,
        counted: IntArray,
        given: list[IntArray] | None,
        rng: np.random.RandomState,
    ) -> list[IntArray]:
        """Return the rows of each expert, numbered among those that count."""
        if given is not None:
            return [np.searchsorted(counted, part) for part in given]
        if self.subsets == "cells":
            return grow_tree(X, self.max_rows)[1]
        n_experts = -(-len(X) // self.max_rows)
        return draw_subsets(np.arange(len(X)), n_experts, rng)

    def _outputs(self, X: FloatArray) -> FloatArray:
        model = self.experts_
        values = [model.cell_values(i, X) for i in range(model.n_cells)]
        return np.stack(values, axis=1) + model.offset


class BayesianCommitteeRegressor(LocalRegressorMixin, BayesianCommittee):
    """Gaussian processes on subsets of the rows, weighted by their precision at x.

        f(x) = m_1 + s^2 sum_{i >= 2} beta_i (m_i - m_1) / s_i^2

        1 / s^2 = 1 / s_1^2 + sum_{i >= 2} beta_i (1 / s_i^2 - 1 / s_1^2)

    m_i and s_i^2 are the mean and variance of expert i at x. Experts share one kernel
    and are not coupled. With "grbcm", expert 1 is trained on rows from all regions,
    which all other experts use too, and beta_i = (log s_1^2 - log s_i^2) / 2 from the
    third expert on. With "bcm", expert 1 is the prior and all beta_i = 1. Every expert
    predicts every row: the error is often smaller than with `CellKernelRegressor`, but
    predictions take about a hundred times as long.

    Parameters
    ----------
    method : {"grbcm", "bcm"}, default="grbcm"
    subsets : {"cells", "random"}, default="cells"
        Whether each expert is trained on neighbouring rows or on random rows.
    max_rows : int, default=1000
        Maximum number of rows of an expert, not counting the shared rows.
    metric : {"learned"}, default=None
        "learned" learns in which directions the target varies, as in
        `CellKernelRegressor`.
    kernel : str or callable, default=None
        "rbf", "exponential", "matern32", "matern52", "linear" or a callable.
        None chooses among "exponential", "matern32", "matern52" and "rbf" by
        leave-one-out error.
    gamma : float, default=None
        Kernel coefficient in exp(-gamma ||x - z||^2). None chooses it by leave-one-out
        error.
    alpha : float, default=None
        Regularisation strength: factor of ||f||^2. None chooses it by leave-one-out
        error.
    joint : bool, default=False
        Whether to predict all rows of a call jointly, with the covariance of f at these
        rows (the transductive committee of Tresp): beta_i = 1 and the s_i^2 are
        matrices. The prediction for a row then depends on the other rows of the call,
        or of the block of a Dask collection, and N rows take O(M N^3). It may be
        changed after `fit`.
    n_jobs : int, default=None
        Number of threads. The results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the choice of the shared rows and of random subsets. Pass an int for
        reproducible results.

    Attributes
    ----------
    experts_ : CommitteeMachine
        Points and coefficients of the experts.
    subsets_ : list of arrays of row numbers
        The rows of each expert, with the shared rows.
    kernel_ : Kernel
        The kernel, with the value of gamma used.
    alpha_ : float
        Value used, given or chosen.
    noise_ : float or array of shape (T,)
        Variance of the noise around f.
    metric_ : array of shape (n_features, n_features) or None
        M of the squared distance (x - z)'M (x - z).
    loo_error_ : float
        Leave-one-out mean squared error, on up to 1,000 rows.
    n_features_in_ : int

    References
    ----------
    Tresp, A Bayesian committee machine (2000). Liu, Cai, Wang and Ong, Generalized robust
    Bayesian committee machine for large-scale Gaussian process regression (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from committee import BayesianCommitteeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    >>> model = BayesianCommitteeRegressor(max_rows=50, random_state=0).fit(X, y)
    >>> len(model.subsets_), bool(model.loo_error_ < 0.02)
    (4, True)
    """


class BayesianCommitteeClassifier(LocalClassifierMixin, BayesianCommittee):
    """Bayesian committee machine for classification, fitted to targets +-1.

        s_k(x) = f_k(x),    p(k | x) ~ exp(b s_k(x))

    The experts are trained as in `BayesianCommitteeRegressor`, on one target for two
    classes and one-vs-rest for more. All targets share the factorisations.

    Parameters
    ----------
    method, subsets, max_rows, metric, kernel, gamma, alpha, joint, n_jobs :
        As for `BayesianCommitteeRegressor`.
    random_state :
        As for `BayesianCommitteeRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    slope_ : float
        b, fitted on leave-one-out scores.
    experts_, subsets_, kernel_, alpha_, metric_, loo_error_, n_features_in_ :
        As for `BayesianCommitteeRegressor`; the error is the squared error of targets
        +-1.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import BayesianCommitteeClassifier
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> model = BayesianCommitteeClassifier(max_rows=100, random_state=0)
    >>> model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95
    True
    """
