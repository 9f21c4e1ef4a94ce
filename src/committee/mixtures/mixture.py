"""MixtureOfExpertsRegressor and MixtureOfExpertsClassifier."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from committee._format import HELD_OUT, error_name
from committee._parallel import results_of, track
from committee._typing import FloatArray, IntArray, Member, RandomState
from committee._validation import AT_LEAST_ONE, HasMethods, Interval, StrOptions
from committee.coupled import LSSVMClassifier, LSSVMRegressor
from committee.distributed.collections import lazy_rows
from committee.ensembles import Roster
from committee.gates.base import centre_and_scale
from committee.held_out import HeldOutPredictions, splits_of
from committee.losses import measure_of
from committee.members.base import TrainingData, draw_seeds
from committee.mixtures.em import Data, Trace, run_from_cells, seeded
from committee.mixtures.gate_tree import GateTree
from committee.mixtures.parts import ROWS_FOR_EACH, Round, assign_rows, rounds
from committee.predictions import predict_members, weighted_by_row
from committee.targets import ClassTargets, FitsArrays, NumberTargets, at_least_two
from committee.uncertainty.mixins import IntervalMixin, SetMixin
from committee.votes import Votes

#: Attributes that depend on options, deleted before a fit with others.
_OF_OPTIONS = (
    *("noise_", "log_likelihoods_", "parts_", "errors_", "_held_out_rows"),
    *("held_out_error_", "held_out_error_name_"),
)


def _expert_axes(model: BaseMixture) -> tuple[int, ...]:
    """Return the shape of F behind the rows."""
    return (len(model.experts_), *model._as_roster().output_shape)


@dataclass(eq=False, repr=False)
class BaseMixture(FitsArrays):
    """Experts behind a gate, trained together: options, fit, and sum_m g_m(x) f_m(x)."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expert": [HasMethods(["fit", "predict"]), None],
        "n_experts": [AT_LEAST_ONE],
        "depth": [AT_LEAST_ONE],
        "assignment": [StrOptions({"soft", "hard"})],
        "gate": [HasMethods(["fit", "predict_proba"]), None],
        "gate_penalty": [Interval(Real, 0, None, closed="left"), None],
        "n_restarts": [AT_LEAST_ONE, None],
        "max_iter": [AT_LEAST_ONE, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "uncertainty": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    #: Default experts, by the assignment.
    _experts: ClassVar[dict[str, Any]]

    experts_: list[Member] = field(init=False)
    gate_: GateTree = field(init=False)
    parts_: list[IntArray] = field(init=False)
    held_out_error_: float | None = field(default=None, init=False)
    held_out_error_name_: str | None = field(default=None, init=False)

    expert: Member | None = None
    _: KW_ONLY
    n_experts: int = 4
    depth: int = 1
    assignment: str = "soft"
    gate: Member | None = None
    gate_penalty: float | None = None
    n_restarts: int | None = None
    max_iter: int | None = None
    tol: float = 1e-5
    uncertainty: bool = False
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: bool | int = False

    # --- fit -------------------------------------------------------------------------

    def _fit(
        self, X: FloatArray, y: Any, n_classes: int | None, s: FloatArray | None
    ) -> Self:
        """Train experts and gate on checked rows; y holds numbers or class codes."""
        self._check_options()
        for name in _OF_OPTIONS:
            self.__dict__.pop(name, None)
        used = np.arange(len(X)) if s is None else np.flatnonzero(s > 0)
        X, y, s = X[used], y[used], None if s is None else s[used]
        if n_classes is not None:
            at_least_two(self.classes_[np.unique(y)])
        M = int(self.n_experts)
        if self.assignment == "hard":
            M = max(1, min(M, len(X) // ROWS_FOR_EACH))
        ones = np.ones(len(X))
        gate = GateTree.equal(
            self.depth, _branching(M, self.depth), *centre_and_scale(X, _or(s, ones))
        )
        gate = replace(gate, classifier=self.gate, penalty=self.gate_penalty)
        rng = check_random_state(self.random_state)
        if self.assignment == "hard":
            self._fit_parts(TrainingData(X, y, n_classes, s), gate, rng)
            self.parts_ = [used[part] for part in self.parts_]
        else:
            classes = None if n_classes is None else np.arange(n_classes)
            self._fit_em(Data(X, gate.scaled(X), y, _or(s, ones), classes), gate, rng)
        if self.uncertainty:
            self._measure(X, y, n_classes, s, int(draw_seeds(rng, 1)[0]))
        return self

    def _measure(
        self, X: FloatArray, y: Any, n_classes: int | None, s: Any, seed: int
    ) -> None:
        """Store the held-out error, and residuals or scores, of mixtures like this one.

        Each fold of the rows is predicted by a mixture that was fitted without it.
        """
        N, M, folds = len(X), len(self.experts_), splits_of(y)
        F = np.zeros((N, M) if n_classes is None else (N, M, n_classes))
        G = np.zeros((N, M))
        for train, test in folds:
            model: Any = clone(self).set_params(uncertainty=False, random_state=seed)
            model.n_features_in_ = X.shape[1]
            if n_classes is not None:
                model.classes_ = np.arange(n_classes)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # the fit on all rows has warned already
                model._fit(
                    X[train], y[train], n_classes, None if s is None else s[train]
                )
            # Fewer rows may have fewer experts with disjoint parts.
            own = np.ix_(test, np.arange(len(model.experts_)))
            F[own] = model.member_predictions(X[test])
            G[own] = model.gate_weights(X[test])
        votes = Votes(F, y, None, s)
        found = HeldOutPredictions.empty(votes)
        if folds:
            found = HeldOutPredictions.of_weights(votes, votes.filled, G)
            found = replace(found, p=found.output)
            measure = measure_of(None, of_classes=n_classes is not None)
            self.held_out_error_ = found.error(measure)[0]
            self.held_out_error_name_ = error_name(HELD_OUT, measure.name)
        self._held_out_rows = found.stored(np.arange(M))

    def _check_options(self) -> None:
        """Raise ValueError if options contradict each other or the expert."""
        hard = self.assignment == "hard"
        if hard and self.depth > 1:
            raise ValueError(
                'assignment="hard" has one gate for all rows: use depth=1, or '
                f'assignment="soft". Got depth={self.depth}.'
            )
        if self.gate is not None and self.gate_penalty is not None:
            raise ValueError(
                "gate_penalty is for the multinomial regression, gate=None: set the "
                f"penalty of {type(self.gate).__name__} itself."
            )
        weighted = {} if hard else {"gate": self.gate, "expert": self._expert()}
        for name, model in weighted.items():
            if model is not None and not has_fit_parameter(model, "sample_weight"):
                raise ValueError(
                    f"EM fits gate and experts on weighted rows: {name} must take "
                    f"sample_weight in fit. {type(model).__name__} does not: use "
                    f'assignment="hard" or another {name}.'
                )

    def _expert(self) -> Member:
        """Return an unfitted expert."""
        return clone(
            self._experts[self.assignment] if self.expert is None else self.expert
        )

    def _fit_em(self, data: Data, gate: GateTree, rng: np.random.RandomState) -> None:
        """Run EM from every start, and keep the run of the largest likelihood."""
        expert = self._expert()
        if data.classes is not None and not hasattr(expert, "predict_proba"):
            raise ValueError(
                "EM needs the probabilities of classes: expert must have predict_proba. "
                f"{type(expert).__name__} does not."
            )
        gate = replace(gate, penalty=_or(self.gate_penalty, 1.0))
        seeds = draw_seeds(rng, _or(self.n_restarts, 3))
        max_iter = _or(self.max_iter, 200)
        how = {"max_iter": max_iter, "tol": self.tol}
        calls = (
            delayed(run_from_cells)(data, int(seed), expert, gate, **how)
            for seed in seeds
        )
        runs = results_of(calls, self.n_jobs)
        traces = list(track(runs, len(seeds), "EM", bool(self.verbose)))
        best: Trace = max(traces, key=lambda trace: trace.best)
        self.experts_, self.gate_ = best.mixture.experts, best.mixture.gate
        if best.mixture.noise is not None:
            self.noise_ = best.mixture.noise
        self.log_likelihoods_ = np.array(best.fitted)
        self.n_iter_ = len(best.fitted)
        self.converged_ = best.converged
        if not best.converged:
            steps = best.fitted[-2:]
            warnings.warn(
                f"EM has not converged in max_iter={max_iter} steps: the last one "
                f"changed the log-likelihood by {steps[-1] - steps[0]:.3g}, with "
                f"tol={self.tol:g} for each row. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _fit_parts(
        self, data: TrainingData, gate: GateTree, rng: np.random.RandomState
    ) -> None:
        """Run rounds from every start, and keep the round with the smallest error."""
        N, M, Z = len(data), gate.n_experts, gate.scaled(data.X)
        starts = [
            (assign_rows(rng.uniform(size=(N, M))), draw_seeds(rng, M))
            for _ in range(_or(self.n_restarts, 1))
        ]
        runs: list[list[Round]] = []
        for parts, seeds in starts:
            if self.gate is not None:
                gate = replace(gate, classifier=seeded(self.gate, int(seeds[0])))
            found = rounds(
                *(data, Z, parts, self._expert(), gate),
                max_iter=_or(self.max_iter, 5),
                tol=self.tol,
                seeds=seeds,
                n_jobs=self.n_jobs,
                verbose=bool(self.verbose),
            )
            runs.append(list(found))
        run = min(runs, key=lambda run: min(r.error for r in run))
        best = min(run, key=lambda r: r.error)
        self.experts_, self.gate_, self.parts_ = best.experts, best.gate, best.parts
        self.errors_ = np.array([r.error for r in run])
        self.n_iter_, self.converged_ = len(run), run[-1].moved <= self.tol

    # --- predict ---------------------------------------------------------------------

    @lazy_rows(tail=lambda model: (len(model.experts_),))
    def gate_weights(self, X: Any) -> FloatArray:
        """Return g(x), the weight of every expert on every row.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
            For a Dask array or frame the result is a lazy Dask array.

        Returns
        -------
        G : array of shape (N, M)
            Each row sums to one.
        """
        return self.gate_.weights(self._checked(X))

    @lazy_rows(tail=_expert_axes)
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every expert.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
            For a Dask array or frame the result is a lazy Dask array.
        n_jobs : int, default=None
            Number of experts that predict in parallel.

        Returns
        -------
        F : array of shape (N, M) or (N, M, K)
        """
        return predict_members(self._as_roster(), self._checked(X), n_jobs=n_jobs)

    def _member_weights(self, X: Any, F: FloatArray) -> FloatArray:
        """Return the weights of the experts on each row, (N, M)."""
        return self.gate_.weights(self._checked(X))

    def _scores(self, X: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x), (N,) or (N, K)."""
        X = self._checked(X)
        F = predict_members(self._as_roster(), X)
        return weighted_by_row(F, self.gate_.weights(X))

    def _as_roster(self) -> Roster:
        """Return the experts as members without weights that hold for all rows."""
        check_is_fitted(self)
        labels = getattr(self, "classes_", None)
        return Roster(
            self.experts_,
            None,
            labels,
            None if labels is None else np.arange(len(labels)),
            arrays=True,
            no_oob_reason=(
                "Its experts and its gate were trained on all rows. Pass rows that it "
                "was not trained on, without oob."
            ),
        )

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._check_X(X, reset=False)

    def _check_X(self, X: Any, *, reset: bool) -> FloatArray:
        return validate_data(self, X, dtype=np.float64, reset=reset)  # type: ignore[no-any-return]


class MixtureOfExpertsRegressor(IntervalMixin, NumberTargets, BaseMixture):
    """Regressors behind a gate that is trained with them.

        p(y | x) = sum_m g_m(x) N(y | f_m(x), noise_m),    f(x) = sum_m g_m(x) f_m(x)

    With assignment="soft" every row belongs to each expert in part, and experts and
    gate are fitted by EM (Jacobs, Jordan, Nowlan and Hinton 1991). With
    assignment="hard" the experts have disjoint parts of the rows, drawn at random at
    first. In each round the experts are trained on their parts, the gate is fitted on
    all rows, and every row is assigned to the expert with the largest gate weight that
    has room (Collobert, Bengio and Bengio 2002). A kernel machine that takes N^3
    operations then takes N^3 / M^2.

    Parameters
    ----------
    expert : regressor, default=None
        None means `LinearRegression()`, or `LSSVMRegressor()` with assignment="hard".
        EM needs one that takes `sample_weight`.
    n_experts : int, default=4
        M; a power b^depth. With assignment="hard" there is at most one expert for every
        12 rows, and the parts have between N / (4 M) and 1.25 N / M rows.
    depth : int, default=1
        Number of gates on the path to an expert. With depth > 1 the gates form a tree,
        and g_m is the product along the path: a hierarchical mixture (Jordan and Jacobs
        1994). It needs assignment="soft".
    assignment : {"soft", "hard"}, default="soft"
        Whether a row belongs to all experts in part, or to one.
    gate : classifier, default=None
        Any classifier with `predict_proba`; it gets the columns of X scaled to mean
        zero and variance one, and predicts the number of an expert. EM fits
        it to soft targets, through `sample_weight`. The likelihood may decrease if its
        `fit` does not maximise a likelihood, as for a forest or a tree: use these with
        assignment="hard", where the gate learns which expert has the smallest error.
        None means a multinomial regression.
    gate_penalty : float, default=None
        Penalty of the multinomial regression, on columns of variance one. EM subtracts
        gate_penalty |B|^2 / 2 from the log-likelihood, by default with 1.0. With
        assignment="hard" gate_penalty |B|^2 is added to the mean squared error in units
        of the error of equal weights, by default with the best of four penalties on folds of
        up to 5,000 rows in each round.
    n_restarts : int, default=None
        Number of runs, each started from another k-means clustering (EM) or from other
        random parts. The best run is kept. None means 3, or 1 with assignment="hard".
    max_iter : int, default=None
        Maximum number of steps of EM, or of rounds, in each run. None means 200, or 5
        with assignment="hard".
    tol : float, default=1e-5
        A run ends when a step gains less log-likelihood per row, or when a round moves at
        most this share of the rows.
    uncertainty : bool, default=False
        Store `held_out_error_` and residuals of up to 5,000 held-out rows. Without them
        `predict_interval` raises ValueError. This fits the mixture five more times, on
        folds; above 10,000 rows twice.
    n_jobs : int, default=None
        Number of EM runs, or of experts of a round, that are trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls the starts, the experts and the gate. Pass an int for reproducible
        results.
    verbose : bool, default=False
        Whether to show a progress bar of the runs, or of each round.

    Attributes
    ----------
    experts_ : list of M fitted estimators
    gate_ : GateTree
        The fitted gate. `gate_.nodes` lists its gates, level by level from the root:
        coefficients (b, 1 + n_features) on scaled columns, or fitted classifiers.
    noise_ : array of shape (M,)
        Variance of the noise of each expert. EM only.
    log_likelihoods_ : array of shape (n_iter_,)
        Log-likelihood of the rows of the fit, minus the penalty, after each step. It never
        decreases if experts are fitted to their optimum. EM only.
    parts_ : list of M int arrays
        The rows that each expert was trained on. assignment="hard" only.
    errors_ : array of shape (n_iter_,)
        Mean squared error of each round, with cross-fitted experts and gates; the round with
        the smallest error is kept. assignment="hard" only.
    held_out_error_ : float or None
        RMSE, or error rate, on folds of the rows; with `uncertainty` only.
    n_iter_ : int
        Steps or rounds of the run that is kept.
    converged_ : bool
        Whether that run ended before `max_iter`.

    References
    ----------
    R. Jacobs, M. Jordan, S. Nowlan and G. Hinton, "Adaptive mixtures of local experts",
    Neural Computation 3 (1991).
    M. Jordan and R. Jacobs, "Hierarchical mixtures of experts and the EM algorithm",
    Neural Computation 6 (1994).
    R. Collobert, S. Bengio and Y. Bengio, "A parallel mixture of SVMs for very large
    scale problems", Neural Computation 14 (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = MixtureOfExpertsRegressor(n_experts=2, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0])).predict([[-0.8], [0.8]]).round(2).tolist()
    [0.8, 0.8]

    Kernel machines on four parts of the rows:

    >>> X = np.random.default_rng(0).uniform(-3, 3, (400, 1))
    >>> parts = MixtureOfExpertsRegressor(assignment="hard", random_state=0)
    >>> bool(parts.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99)
    True
    >>> [25 <= len(part) <= 125 for part in parts.parts_]
    [True, True, True, True]
    """

    _experts: ClassVar[dict[str, Any]] = {
        "soft": LinearRegression(),
        "hard": LSSVMRegressor(),
    }


class MixtureOfExpertsClassifier(SetMixin, ClassTargets, BaseMixture):
    """Classifiers behind a gate that is trained with them.

        p(k | x) = sum_m g_m(x) p_m(k | x)

    See `MixtureOfExpertsRegressor`. With assignment="hard" the gate minimises the squared
    error of p against one-hot targets, and experts without `predict_proba` vote.

    Parameters
    ----------
    expert : classifier, default=None
        None means `LogisticRegression()`, or `LSSVMClassifier()` with
        assignment="hard". EM needs one that has `predict_proba` and takes
        `sample_weight`. Experts are trained on class codes, the positions in `classes_`.
    n_experts, depth, assignment, gate, gate_penalty, n_restarts, max_iter, tol :
        As for `MixtureOfExpertsRegressor`; `predict_set` uses the held-out rows.
    uncertainty, n_jobs, random_state, verbose :
        As for `MixtureOfExpertsRegressor`. `predict_set` needs `uncertainty=True`, and
        raises ValueError without it.

    Attributes
    ----------
    classes_ : array of shape (K,)
    experts_, gate_, log_likelihoods_, parts_, errors_ :
        As for `MixtureOfExpertsRegressor`.
    held_out_error_, n_iter_, converged_ :
        As for `MixtureOfExpertsRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MixtureOfExpertsClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = MixtureOfExpertsClassifier(n_experts=2, random_state=0)
    >>> model.fit(X, np.abs(X[:, 0]) > 0.5).predict([[-0.9], [0.0], [0.9]]).tolist()
    [True, False, True]

    Support vector machines on four parts of the rows:

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.1, random_state=0)
    >>> parts = MixtureOfExpertsClassifier(
    ...     SVC(gamma=2), assignment="hard", random_state=0
    ... )
    >>> parts.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.95
    True
    """

    _experts: ClassVar[dict[str, Any]] = {
        "soft": LogisticRegression(max_iter=1000),
        "hard": LSSVMClassifier(),
    }

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        # Rounding makes a sum of weights 1 + 2e-16, which scikit-learn's log_loss refuses.
        return np.minimum(scores, 1.0)


def _or(value: Any, default: Any) -> Any:
    """Return the value, or the default if it is None."""
    return default if value is None else value


def _branching(n_experts: int, depth: int) -> int:
    """Return b with b^depth = n_experts."""
    b = int(np.rint(n_experts ** (1.0 / depth)))
    if b**depth != n_experts:
        raise ValueError(
            f"A tree of gates has b^depth experts, with b children at every gate: for "
            f"depth={depth} n_experts may be {2**depth} or {3**depth}. Got {n_experts}."
        )
    return b
