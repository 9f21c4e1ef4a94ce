"""CommitteeClassifier and CommitteeRegressor: from X and y to predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee._typing import FloatArray, Member, RandomState
from committee._validation import StrOptions, fit_context
from committee.base_committee import BaseCommittee
from committee.calibration import METHODS, Calibration
from committee.combiners import Combiner
from committee.ensembles import Roster
from committee.gates import Gate
from committee.held_out import share_unit
from committee.members import Generator, TrainingData
from committee.members.base import with_class_weight
from committee.probabilities import as_probabilities, softmax_probabilities
from committee.targets import ClassTargets, NumberTargets, at_least_two, require_y
from committee.uncertainty.mixins import IntervalMixin, SetMixin


class CommitteeClassifier(SetMixin, ClassTargets, BaseCommittee):
    """A committee of classifiers: generate members, weigh them, vote.

        p(k | x) = sum_m w_m p_m(k | x)

    The class of the largest weighted sum is predicted; with `calibration="vector"`, the
    class of the largest probability. The combiner turns weighted sums into
    probabilities. Most combiners cut them at zero and scale each row to sum to one;
    `LogPool` takes the softmax of weighted log-probabilities. Calibration, if any, is
    applied last.

    Parameters
    ----------
    estimator : classifier, default=None
        Estimator that is cloned for each member; None means a decision tree. Must be
        None with a `Pool`, which has its own estimators. Members are trained on class
        codes, the positions in `classes_`, so a `class_weight` dictionary of the
        estimator must use these codes as keys.
    generator : generator, default=None
        How members are generated; None means `Bagging(100)`.
    combiner : combiner, str or None, default="auto"
        How members are weighed, for example `EPPruner()` or "ep"; `docs/choose.md`
        lists the names. None uses the weights of the generator, which are equal except
        for boosting. "auto" is `LogPool()` (for regression `RidgeWeights()`) for a
        `Pool`, `EPPruner()` with `stop`, and None otherwise.
    gate : gate, default=None
        Weights that depend on x, `SoftmaxGate()` or `NeighbourGate()`, fitted on the rows
        that the combiner is fitted on. It weighs the members that the combiner keeps.
    weigh_on : {"held-out", "train"} or float, default="held-out"
        Rows that weights are fitted on. "held-out" uses the rows each member was not
        trained on; predictions are cross-fitted if members are trained on all rows, and
        AdaBoost uses the training rows. "train" uses the training rows. A float sets
        aside this fraction of the rows, and no member is trained on them.
    stop : {"evidence"}, default=None
        Train members in batches of 20, and stop after two batches in a row that do not
        raise the log evidence of the combiner by 3. The number of members of the
        generator is the maximum. For `EPPruner` and `ARDPruner`, and for all generators
        but `Pool` and `LPBoost`; `AdaBoost` needs a fraction as `weigh_on`.
    uncertainty : bool, default=False
        Store held-out scores of up to 5,000 rows, which `predict_set` needs. This costs
        up to five more fits of the combiner. Committees made by `prune` always have them.
    calibration : {"auto", "slope", "vector"} or None, default="auto"
        Calibration of the probabilities on held-out rows; see `committee.calibration`.
        It costs up to five more fits of the combiner.

        - "slope": p(k | x) ~ p_0(k | x)^t, with one slope t for all classes, which
          changes no decision.
        - "vector": a slope and an offset for each class, shrunk towards the common slope.
        - "auto": "slope" if that adds at most a fifth to the time of `fit`, or a fraction
          of a second, as it does for `Bagging` and with most combiners. None for log
          pools, which fit their own slope, for gates, boosting and Dask collections.
        - None: the probabilities of a vote are shares, zero for a class without votes.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label; "balanced" is N / (K N_k). They multiply the
        sample weights, for training and for weighing. Bootstrap samples are drawn in
        proportion to them, and other members get them as `sample_weight`. Members that
        do not accept `sample_weight` are trained on rows drawn in proportion. A
        `class_weight` of the estimator is applied in addition.
    n_jobs : int, default=None
        Number of members to train or predict in parallel. None means 1 and -1 all
        processors. The results do not depend on it. Ignored for Dask collections.
    random_state : int, RandomState instance or None, default=None
        Controls the members, the generator and the combiner. Pass an int for
        reproducible results.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    members_ : list of fitted estimators
        The members with a nonzero weight. They predict class codes.
    member_names_ : list of str
        Names given in a `Pool` or to `prune`, or number and class.
    weights_ : array of shape (M,)
        Weight of each of `members_`, in the weighted sum. The weights of log pools and
        of EP need not sum to one. `combiner_.weights_` has the weights of all.
    n_members_ : int
    support_ : array of shape (M,)
        Indices of `members_` among all trained members.
    held_out_ : bool array of shape (N, M) or None
        True where the member was not trained on the row; None for Dask collections.
    held_out_error_ : float or None
        Error rate on held-out rows. None if a weight is negative, or without
        `calibration` and `uncertainty` if the combiner takes long to refit on folds.
    held_out_error_name_ : str or None
        Name of this error, "held-out error rate" or "held-out RMSE", as in `summary()`.
    combiner_ : combiner or None
        The fitted combiner.
    gate_ : gate or None
        The fitted gate; `weights_` are then the static weights towards which it is
        shrunk.
    classes_ : array of shape (K,)
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X has column names.
    calibration_ : Calibration or None
    slope_ : float or None
        Slope of the calibration if it is the same for all classes, otherwise None.
    offsets_ : array of shape (K,) or None
        Offsets that a log pool adds to its weighted sums; see `LogPool`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import Bagging, CommitteeClassifier, SimplexWeights
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = CommitteeClassifier(
    ...     DecisionTreeClassifier(),
    ...     generator=Bagging(20),
    ...     combiner=SimplexWeights(),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> committee.score(X, y) > 0.95
    True
    >>> committee.predict_proba(X[:1]).shape
    (1, 2)
    """

    _default_estimator = DecisionTreeClassifier

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseCommittee._parameter_constraints,
        "calibration": [StrOptions({"auto", *METHODS}), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    #: A parameter that pruned committees do not have.
    class_weight: Any = None

    def __init__(
        self,
        estimator: Member | None = None,
        *,
        generator: Generator | None = None,
        combiner: Combiner | str | None = "auto",
        gate: Gate | None = None,
        weigh_on: str | float = "held-out",
        stop: str | None = None,
        uncertainty: bool = False,
        calibration: str | None = "auto",
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            estimator,
            generator=generator,
            combiner=combiner,
            gate=gate,
            weigh_on=weigh_on,
            stop=stop,
            uncertainty=uncertainty,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.calibration = calibration
        self.class_weight = class_weight

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Generate the members and weigh them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            A Dask array or frame is trained on chunk by chunk: each member of `Bagging`
            or `MiniBatches` gets rows of one chunk, on its worker, and is weighed on
            all chunks. The members depend on the chunks.
        y : array-like of shape (N,)
            Labels of any type.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        **fit_params
            Passed to the members by metadata routing.

        Returns
        -------
        self
        """
        self._forget()
        require_y(self, y)
        data = self._training_data(X, y, sample_weight, fit_params)
        self.classes_ = at_least_two(data.labels)
        if self.class_weight is not None:
            assert isinstance(data, TrainingData)
            data = with_class_weight(data, self.class_weight)
        return self._fit(data)

    def _check_chunks(self, fit_params: dict[str, Any]) -> None:
        """Raise for options that need all rows in memory."""
        super()._check_chunks(fit_params)
        if self.class_weight is not None:
            raise ValueError(
                "class_weight does not support Dask collections: pass the weights as "
                "sample_weight."
            )

    @property
    def calibration_(self) -> Calibration | None:
        """Calibration of the probabilities, or None.

        It is fitted on held-out rows: by `fit`, or on first use for a committee made by
        `prune`, whose `summary()` uses the same one. Rounds of a booster always have
        one, which sets their scale. It is None if there are too few rows for folds.
        """
        self._fitted_roster()
        if "_calibration" in self.__dict__ or not hasattr(self, "path_"):
            return self.__dict__.get("_calibration")
        if self.calibration is None and self.roster_.output != "scores":
            return None
        assert self.path_.assessment is not None
        assert self.combiner_ is not None
        found: Calibration | None
        found = self.path_.assessment.calibration(self.combiner_.weights_)
        return found

    @property
    def offsets_(self) -> FloatArray | None:
        """Offsets of a log pool, (K,), in units of `weights_`; None for other combiners."""
        offset = self._fitted_roster().offset
        return None if np.ndim(offset) == 0 else np.asarray(offset)

    @property
    def slope_(self) -> float | None:
        """Slope of the calibration, if it has one slope for all classes."""
        found = self.calibration_
        return None if found is None or found.offset is not None else found.slope

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return probabilities of the weighted sums (N, K)."""
        return self._calibrated(self._own_probabilities(scores), scores)

    def _calibrated(
        self, p: FloatArray, sums: FloatArray, variance: FloatArray | None = None
    ) -> FloatArray:
        """Return calibrated probabilities of p and of weighted sums, both (N, K)."""
        found = self.calibration_
        return p if found is None else found(p, sums, variance)

    def _own_probabilities(self, scores: FloatArray) -> FloatArray:
        """Return probabilities before calibration: shares, a softmax, the combiner's."""
        link = self.roster_.link
        if link == "softmax":
            return softmax_probabilities(scores)
        if link == "mean" or self.combiner_ is None:
            return as_probabilities(scores)
        # The combiner's weights, scaled to sum to one, are the weights of a pruned committee.
        unit = share_unit(self.combiner_.weights_) if link == "slope" else 1.0
        return self.combiner_.linked(unit * scores)

    def _decided(self, scores: FloatArray) -> Any:
        """Return class codes (N,) of the largest sums; one slope keeps their order."""
        found = self.__dict__.get("_calibration")
        if found is None and self.calibration == "vector":
            found = self.calibration_
        keeps_order = found is None or found.keeps_order
        return (scores if keeps_order else self._probabilities(scores)).argmax(axis=1)

    def _as_roster(self) -> Roster:
        """Return the roster with its training rows and its probabilities."""
        return replace(
            super()._as_roster(),
            probabilities=self._probabilities,
            calibrated=self._calibrated,
        )

    def __getstate__(self) -> Any:
        """Fit the calibration while the rows of `path_` are there: a copy has none."""
        state = super().__getstate__()
        if hasattr(self, "path_"):
            state["_calibration"] = self.calibration_
        return state

    def __delattr__(self, name: str) -> None:
        """Fit the calibration before the rows of `path_` are deleted."""
        if name == "path_":
            self._calibration = self.calibration_
        super().__delattr__(name)


class CommitteeRegressor(IntervalMixin, NumberTargets, BaseCommittee):
    """A committee of regressors: generate members, weigh them, average.

        f_ens(x) = sum_m w_m f_m(x)

    Parameters
    ----------
    estimator : regressor, default=None
        Estimator that is cloned for each member; None means a decision tree. Must be
        None with a `Pool`.
    gate : gate, default=None
        As for `CommitteeClassifier`.
    uncertainty : bool, default=False
        Store held-out residuals, which `predict_interval` needs: see
        `CommitteeClassifier`.
    generator, combiner, weigh_on, stop, n_jobs, random_state, verbose :
        As for `CommitteeClassifier`.

    Attributes
    ----------
    members_, member_names_, weights_, n_members_, support_, held_out_, combiner_, gate_ :
        As for `CommitteeClassifier`.
    n_features_in_, feature_names_in_ :
        As for `CommitteeClassifier`.
    intercept_ : float
        Intercept that is added to the weighted sum; 0 for most combiners.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee import Bagging, CommitteeRegressor, SimplexWeights
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = CommitteeRegressor(
    ...     DecisionTreeRegressor(min_samples_leaf=5),
    ...     generator=Bagging(20),
    ...     combiner=SimplexWeights(),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> committee.predict(X[:2]).shape
    (2,)
    """

    _default_estimator = DecisionTreeRegressor

    @property
    def intercept_(self) -> float:
        """Intercept of the combiner, which is added to the weighted sum."""
        return float(self._fitted_roster().offset)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Generate the members and weigh them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            A Dask array or frame is trained on chunk by chunk: each member of `Bagging`
            or `MiniBatches` gets rows of one chunk, on its worker, and is weighed on
            all chunks. The members depend on the chunks.
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        **fit_params
            Passed to the members by metadata routing.

        Returns
        -------
        self
        """
        self._forget()
        require_y(self, y)
        data = self._training_data(X, y, sample_weight, fit_params)
        return self._fit(data)
