"""Gated ensembles: experts on disjoint parts, for kernel machines on many rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from committee._typing import FloatArray, Member, RandomState
from committee._validation import HasMethods, Interval, check_sample_weight
from committee.coupled import LSSVMClassifier, LSSVMRegressor
from committee.gates.base import centre_and_scale
from committee.members.base import TrainingData, draw_seeds
from committee.mixtures.gated_experts import ClassTask, GatedExperts, NumberTask
from committee.mixtures.parts import assign_rows, rounds


class PartsEnsemble(GatedExperts):
    """Options, rounds, and what is kept of the best."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expert": [HasMethods(["fit", "predict"]), None],
        "n_experts": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "gate_penalty": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _default_expert: ClassVar[Any]

    def __init__(
        self,
        expert: Member | None = None,
        *,
        n_experts: int = 10,
        n_rounds: int = 5,
        gate_penalty: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool | int = False,
    ) -> None:
        self.expert = expert
        self.n_experts = n_experts
        self.n_rounds = n_rounds
        self.gate_penalty = gate_penalty
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: FloatArray, y: Any, sample_weight: Any, classes: Any) -> Self:
        """Run the rounds and keep the best."""
        s = check_sample_weight(sample_weight, X)
        used = np.arange(len(X)) if s is None else np.flatnonzero(s > 0)
        X, y, s = X[used], y[used], None if s is None else s[used]
        weight = np.ones(len(X)) if s is None else s
        self._centre, self._scale = centre_and_scale(X, weight)
        rng = check_random_state(self.random_state)
        M = min(self.n_experts, len(X))
        parts = assign_rows(rng.uniform(size=(len(X), M)))
        found = list(
            rounds(
                TrainingData(X, y, None if classes is None else len(classes), s),
                self._scaled(X),
                parts,
                clone(self._default_expert if self.expert is None else self.expert),
                n_rounds=self.n_rounds,
                penalty=self.gate_penalty,
                seeds=draw_seeds(rng, M),
                n_jobs=self.n_jobs,
                verbose=bool(self.verbose),
            )
        )
        best = min(found, key=lambda r: r.error)
        self.experts_, self.gates_ = best.experts, [best.B]
        self.parts_ = [used[part] for part in best.parts]
        self.errors_ = np.array([r.error for r in found])
        self.n_iter_ = len(found)
        return self


class GatedEnsembleRegressor(NumberTask, PartsEnsemble):
    """Regressors on disjoint parts of the rows, behind a gate that hands rows on.

        f(x) = sum_m g_m(x) f_m(x),    g a multinomial regression on x

    Parts are drawn at random. Then, round by round, every expert is trained on its
    part, the gate is fitted on all rows for the least squared error of f, and every row
    goes to the expert of largest weight there that has room (Collobert, Bengio and
    Bengio 2002). A kernel machine that takes N^3 operations takes N^3 / M^2 in parts.
    So that the gate does not believe what experts have learned by heart, they are
    cross-fitted in their own part.

    Parameters
    ----------
    expert : regressor, optional
        `LSSVMRegressor()` unless given. It need not take `sample_weight`.
    n_experts : int, default=10
        M; no more than there are rows. Parts are at most a quarter larger than N / M.
    n_rounds : int, default=5
        Rounds at most; it ends when no row moves, and the best round is kept.
    gate_penalty : float, optional
        Of |B|^2 in the gate, on columns of variance one, in units of the squared error
        of equal weights. The best of four on folds of up to 5,000 rows, in each round,
        unless given.
    n_jobs : int, optional
        Experts that are trained at the same time.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Whether to show a progress bar for each round.

    Attributes
    ----------
    experts_ : list of M fitted estimators
    parts_ : list of M int arrays
        The rows that each expert was trained on.
    gates_ : list of one array of shape (M, 1 + n_features)
        Coefficients of the gate, on columns of mean zero and variance one.
    errors_ : array of shape (n_iter_,)
        Mean squared error of cross-fitted experts behind cross-fitted gates in each
        round, by which the round was chosen.
    n_iter_ : int
        Rounds that were run.

    References
    ----------
    R. Collobert, S. Bengio and Y. Bengio, "A parallel mixture of SVMs for very large
    scale problems", Neural Computation 14 (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from committee import GatedEnsembleRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, (400, 1))
    >>> model = GatedEnsembleRegressor(n_experts=4, random_state=0)
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99)
    True
    >>> [len(part) <= 125 for part in model.parts_]
    [True, True, True, True]
    """

    _default_expert: ClassVar[Any] = LSSVMRegressor()


class GatedEnsembleClassifier(ClassTask, PartsEnsemble):
    """Classifiers on disjoint parts of the rows, behind a gate that hands rows on.

        p(k | x) = sum_m g_m(x) p_m(k | x)

    Experts without `predict_proba` vote. The gate has the least squared error of p
    against one-hot targets.

    Parameters
    ----------
    expert : classifier, optional
        `LSSVMClassifier()` unless given. Experts are trained on class codes, the
        positions in `classes_`.
    n_experts, n_rounds, gate_penalty, n_jobs, random_state, verbose :
        As for `GatedEnsembleRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    experts_, parts_, gates_, errors_, n_iter_ :
        As for `GatedEnsembleRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from committee import GatedEnsembleClassifier
    >>> X, y = make_moons(600, noise=0.1, random_state=0)
    >>> model = GatedEnsembleClassifier(SVC(gamma=2), n_experts=4, random_state=0)
    >>> model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.95
    True
    """

    _default_expert: ClassVar[Any] = LSSVMClassifier()
