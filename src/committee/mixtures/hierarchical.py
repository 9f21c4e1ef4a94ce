"""Hierarchical mixtures of experts: gates in a tree."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from committee._typing import Member, RandomState
from committee._validation import Interval
from committee.mixtures.base import BaseMixture
from committee.mixtures.tasks import ClassTask, NumberTask


class TreeOfGates(BaseMixture):
    """A mixture behind gates in a tree: options, and the shape of the tree."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseMixture._parameter_constraints,
        "depth": [Interval(Integral, 1, None, closed="left")],
        "branching": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        expert: Member | None = None,
        *,
        depth: int = 2,
        branching: int = 2,
        gate_penalty: float = 1.0,
        n_restarts: int = 3,
        max_iter: int = 200,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.expert = expert
        self.depth = depth
        self.branching = branching
        self.gate_penalty = gate_penalty
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _shape(self) -> tuple[int, int]:
        return self.depth, self.branching


class HierarchicalMixtureRegressor(NumberTask, TreeOfGates):
    """A mixture of regressors behind gates in a tree, by EM.

        p(y | x) = sum_m g_m(x) N(y | f_m(x), noise_m),    f(x) = sum_m g_m(x) f_m(x)

    g_m is the product of the gates on the way to expert m, multinomial regressions
    (Jordan and Jacobs 1994).

    Parameters
    ----------
    depth : int, default=2
        Gates on the way to an expert.
    branching : int, default=2
        Ways at every gate; there are branching^depth experts.
    expert, gate_penalty, n_restarts, max_iter, tol, validation_fraction, random_state :
        As for `MixtureOfExpertsRegressor`.

    Attributes
    ----------
    gates_ : list of arrays of shape (branching, 1 + n_features)
        Coefficients of the gates, on columns of mean zero and variance one, node by
        node from the root.
    experts_, noise_, log_likelihoods_, held_out_log_likelihoods_, n_iter_, converged_ :
        As for `MixtureOfExpertsRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import HierarchicalMixtureRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = HierarchicalMixtureRegressor(depth=2, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0])).predict([[-0.8], [0.8]]).round(2).tolist()
    [0.8, 0.8]
    """


class HierarchicalMixtureClassifier(ClassTask, TreeOfGates):
    """A mixture of classifiers behind gates in a tree, by EM.

        p(k | x) = sum_m g_m(x) p_m(k | x)

    g_m is the product of the gates on the way to expert m, multinomial regressions
    (Jordan and Jacobs 1994).

    Parameters
    ----------
    depth, branching :
        As for `HierarchicalMixtureRegressor`.
    expert, gate_penalty, n_restarts, max_iter, tol, validation_fraction, random_state :
        As for `MixtureOfExpertsClassifier`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    gates_ :
        As for `HierarchicalMixtureRegressor`.
    experts_, log_likelihoods_, held_out_log_likelihoods_, n_iter_, converged_ :
        As for `MixtureOfExpertsRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import HierarchicalMixtureClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = HierarchicalMixtureClassifier(depth=1, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0]) > 0.5).predict([[-0.9], [0.0], [0.9]]).tolist()
    [True, False, True]
    """
