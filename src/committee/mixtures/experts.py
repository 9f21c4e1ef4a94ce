"""Mixtures of experts by EM, behind one gate or gates in a tree."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from committee._typing import Member, RandomState
from committee._validation import HasMethods, Interval
from committee.mixtures.base import BaseMixture
from committee.mixtures.gated_experts import ClassTask, NumberTask


class OneGate(BaseMixture):
    """A mixture with one gate: options, and the shape of a tree of depth one."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseMixture._parameter_constraints,
        "n_experts": [Interval(Integral, 1, None, closed="left")],
        "gate": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        expert: Member | None = None,
        *,
        n_experts: int = 4,
        gate: Member | None = None,
        gate_penalty: float = 1.0,
        n_restarts: int = 3,
        max_iter: int = 200,
        tol: float = 1e-5,
        validation_fraction: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.expert = expert
        self.n_experts = n_experts
        self.gate = gate
        self.gate_penalty = gate_penalty
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _shape(self) -> tuple[int, int]:
        return 1, self.n_experts


class MixtureOfExpertsRegressor(NumberTask, OneGate):
    """A mixture of regressors, each with the rows it predicts best, by EM.

        p(y | x) = sum_m g_m(x) N(y | f_m(x), noise_m),    f(x) = sum_m g_m(x) f_m(x)

    g is a multinomial regression on x (Jacobs, Jordan, Nowlan and Hinton 1991), or any
    classifier that says which expert has a row.

    Parameters
    ----------
    expert : regressor, optional
        Any that takes `sample_weight`: `LinearRegression()` unless given.
    n_experts : int, default=4
        M.
    gate : classifier, optional
        Any with `predict_proba` that takes `sample_weight`; it is fitted to soft
        targets, every row once for each expert with the weight that it has there. A
        multinomial regression unless given. The likelihood never falls where it has a
        largest one in `fit`; with a forest or a tree give `validation_fraction`.
    gate_penalty : float, default=1.0
        Of |B|^2 / 2 in the multinomial regression, on columns of variance one; zero for
        plain maximum likelihood.
    n_restarts : int, default=3
        EM runs, each from the cells of another k-means. The one of largest likelihood
        is kept.
    max_iter : int, default=200
        Steps of EM at most, in each run.
    tol : float, default=1e-5
        EM ends when a step gains less log-likelihood than this for each row.
    validation_fraction : float, optional
        Share of the rows that is held out: EM then ends when their likelihood has not
        risen for five steps, and the best step is kept. All rows are fitted unless given.
    random_state : int, RandomState or None

    Attributes
    ----------
    experts_ : list of fitted estimators
    noise_ : array of shape (M,)
        Variance of the noise of each expert.
    gates_ : list of arrays of shape (M, 1 + n_features)
        Coefficients of the gate, on columns of mean zero and variance one; empty with
        a classifier as the gate.
    gate_ : fitted classifier or None
        Its classes are the numbers of the experts.
    log_likelihoods_ : array of shape (n_iter_,)
        Of the rows that were fitted, minus the penalty, after each step. It never falls
        where experts are fitted to their optimum.
    held_out_log_likelihoods_ : array
        The mean over the rows of `validation_fraction`, empty without any.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = MixtureOfExpertsRegressor(n_experts=2, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0])).predict([[-0.8], [0.8]]).round(2).tolist()
    [0.8, 0.8]
    """


class MixtureOfExpertsClassifier(ClassTask, OneGate):
    """A mixture of classifiers, each with the rows it predicts best, by EM.

        p(k | x) = sum_m g_m(x) p_m(k | x)

    Parameters
    ----------
    expert : classifier, optional
        Any with `predict_proba` that takes `sample_weight`: `LogisticRegression()` unless
        given. Experts are trained on class codes, the positions in `classes_`.
    n_experts, gate, gate_penalty, n_restarts, max_iter, tol, validation_fraction, \
    random_state :
        As for `MixtureOfExpertsRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    experts_, gates_, gate_, log_likelihoods_, held_out_log_likelihoods_, n_iter_, \
    converged_ :
        As for `MixtureOfExpertsRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = MixtureOfExpertsClassifier(n_experts=2, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0]) > 0.5).predict([[-0.9], [0.0], [0.9]]).tolist()
    [True, False, True]
    """


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
