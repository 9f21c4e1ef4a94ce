"""PrunedClassifier, PrunedRegressor: train an ensemble and prune it, as one estimator."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from committee._typing import IntArray, Member, RandomState
from committee._validation import (
    AT_LEAST_ONE,
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    index_params,
    routing_enabled,
    safe_indexing,
)
from committee.base_committee import BaseCommittee
from committee.calibration import METHODS
from committee.combiner_names import as_combiner
from committee.combiners import Combiner
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.distributed.collections import is_dask
from committee.ensembles import Roster, leaves_rows_out, roster_of
from committee.fit_plan import check_kind
from committee.losses import measure_of
from committee.members import Pool, TrainingData
from committee.members.base import check_fraction, draw_seeds, split_rows
from committee.members.training import checked_metadata, set_random_states
from committee.pruning.assessment import keep_few
from committee.pruning.refined_sizes import (
    Limits,
    checked_limits,
    kept_of,
    refine_kept,
)
from committee.targets import require_y

#: The part of the rows that an ensemble is pruned on where it leaves none out itself.
HELD_OUT = 0.25

_NO_RECIPE = (
    "This committee was pruned from an object that cannot be trained again, such as a "
    "bare Booster: there is no estimator behind it to clone or fit. Prune the library's "
    "estimator (LGBMClassifier, XGBRegressor ...) instead."
)


@dataclass(eq=False, repr=False)
class _Pruned(BaseCommittee):
    """Shared base: train the ensemble, prune it on rows that it was not trained on."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict", "get_params"]), None],
        "combiner": "no_validation",  # as_combiner checks it
        "weigh_on": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "scoring": [str, None],
        "refine": ["boolean"],
        "max_members": [AT_LEAST_ONE, None],
        "max_leaves": [AT_LEAST_ONE, None],
        "max_bytes": [Interval(Real, 0, None, closed="neither"), None],
        "tolerance": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    estimator: Member
    _: KW_ONLY
    combiner: Combiner | str | None = None
    weigh_on: str | float = "auto"
    scoring: str | None = None
    refine: bool = False
    max_members: int | None = None
    max_leaves: int | None = None
    max_bytes: float | None = None
    tolerance: float | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: bool | int = False

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Train the ensemble, and prune it on rows that its members were not trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), default=None
            Used for training, if the ensemble takes it, and for pruning.
        **fit_params
            Passed to the ensemble by metadata routing.

        Returns
        -------
        self
        """
        self._forget()
        self._check_recipe(X)
        require_y(self, y)
        y = self._check_y(y)
        if not (isinstance(self.estimator, Pipeline) or _is_search(self.estimator)):
            X = self._check_X(X, reset=True)  # these may take documents, or anything
        check_consistent_length(X, y)
        s = check_sample_weight(sample_weight, X)
        params = self._params_of_fit(s, fit_params)
        rng = check_random_state(self.random_state)
        ensemble = clone(self.estimator)
        if self.random_state is not None:
            set_random_states(ensemble, int(draw_seeds(rng, 1)[0]), only_unset=True)
        oob = self.weigh_on == "auto" and leaves_rows_out(ensemble)
        train = weighing = np.arange(len(y))
        if not oob:
            train, weighing = self._split(y, rng)
        ensemble.fit(
            safe_indexing(X, train),
            safe_indexing(y, train),
            **index_params(X, params, indices=train),
        )
        X, y = safe_indexing(X, weighing), safe_indexing(y, weighing)
        s = None if s is None else s[weighing]
        small = keep_few(
            *(copy.copy(self), ensemble, roster_of(ensemble), X, y),
            oob=oob,
            sample_weight=s,
            scoring=self.scoring,
            random_state=rng,
            verbose=bool(self.verbose),
        )
        small = self._limited(small, X, y, oob, s, rng)
        self.__dict__.update(small.__dict__)
        self._rebuilt()  # so that predict changes nothing
        return self

    def _limited(self, small: Any, X: Any, y: Any, oob: bool, s: Any, rng: Any) -> Any:
        """Choose the size within the limits, and refine it."""
        chooses = small.combiner_.needs_rows
        if self.max_members is not None and (chooses or not self.refine):
            small = small.path_.choose(max_members=self.max_members)
        if not self.refine:
            return small
        kept = kept_of(small)
        made, _ = refine_kept(
            *(kept, kept.template, X, y),
            limits=checked_limits(self._limits, len(kept.members)),
            oob=oob,
            sample_weight=s,
            random_state=rng,
            verbose=bool(self.verbose),
        )
        return made

    @property
    def _limits(self) -> Limits:
        return Limits(self.max_members, self.max_leaves, self.max_bytes, self.tolerance)

    def _check_recipe(self, X: Any) -> None:
        """Raise before any work if the ensemble cannot be trained or measured."""
        if self.estimator is None:
            raise ValueError(_NO_RECIPE)
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} trains its ensemble in memory. Got a Dask "
                "collection: compute() as many rows as fit into memory, or prune() an ensemble that "
                "was trained elsewhere."
            )
        check_kind(self)
        as_combiner(self.combiner)
        if not self.refine and any(x is not None for x in self._limits[1:]):
            raise ValueError(
                "max_leaves, max_bytes and tolerance are limits for refined trees: "
                "set refine=True."
            )
        measure_of(self.scoring, of_classes=is_classifier(self))

    def _params_of_fit(self, s: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the ensemble's `fit`."""
        if routing_enabled():
            given = fit_params if s is None else {**fit_params, "sample_weight": s}
            if not given:
                return {}
            return dict(process_routing(self, "fit", **given).estimator_0.fit)
        checked_metadata(self, fit_params)
        if s is None:
            return {}
        if isinstance(self.estimator, Pipeline):
            return {f"{self.estimator.steps[-1][0]}__sample_weight": s}
        if _is_search(self.estimator) or has_fit_parameter(
            self.estimator, "sample_weight"
        ):
            return {"sample_weight": s}
        raise TypeError(
            f"{type(self.estimator).__name__} does not accept sample_weight: leave it "
            "out, or use an ensemble that does."
        )

    def _split(self, y: Any, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
        """Return the rows to train on, of all classes, and those to prune on."""
        fraction = HELD_OUT if self.weigh_on == "auto" else float(self.weigh_on)
        check_fraction(fraction, len(y))
        data = TrainingData(None, y, None)
        if is_classifier(self):
            labels, codes = np.unique(y, return_inverse=True)
            data = TrainingData(None, codes, len(labels))
        train, weighing = split_rows(data, fraction, int(draw_seeds(rng, 1)[0]))
        if data.n_classes is not None:
            known = np.isin(data.y[weighing], data.y[train])
            train = np.sort(np.append(train, weighing[~known]))
            weighing = weighing[known]
        if not len(weighing):
            raise ValueError(
                f"weigh_on={fraction:g} of {len(y)} rows leaves no rows for pruning "
                "after one row per class is set aside for training. Pass more rows."
            )
        return train, weighing

    def _estimators(self) -> list[Member]:
        """Return the unfitted ensemble."""
        return [] if self.estimator is None else [self.estimator]

    def _leaves_rows_out(self) -> bool:
        """Return False: a pruned committee stores no mask."""
        return False

    def __sklearn_clone__(self) -> Any:
        """Return the unfitted estimator; raise TypeError if there is none."""
        if self.estimator is None:
            raise TypeError(_NO_RECIPE)
        return super().__sklearn_clone__()


def _is_search(estimator: Any) -> bool:
    """Return True for a search over the settings of an estimator."""
    return hasattr(estimator, "refit") and hasattr(estimator, "estimator")


@dataclass(eq=False, repr=False)
class PrunedClassifier(_Pruned, CommitteeClassifier):
    """Train an ensemble of classifiers and keep the few members that matter.

        ensemble = estimator.fit(X, y),   committee = prune(ensemble, rows unseen)

    This is `prune` for cross-validation, grids and pipelines. `prune` returns one of
    these, and its clone is the unfitted estimator. The rows to prune on are out of bag for
    forests and bagging with bootstrap samples, and for committees that are weighed on
    held-out rows of `Bagging`, `CrossSplits` or `MiniBatches`. For other ensembles, such as
    boosters and extra trees, a quarter of the rows is split off, stratified by class.

    Parameters
    ----------
    estimator : classifier
        Any ensemble that `prune` takes, unfitted. It is cloned.
    combiner : combiner or str, default=None
        How members are chosen and weighed; None means `EPPruner()`.
    weigh_on : "auto" or float, default="auto"
        Rows to prune on, as above; a float is the fraction to split off.
    scoring : str, default=None
        Error shown by `path_` and `summary()`; see `prune`.
    refine : bool, default=False
        Refit the leaves of the kept trees: see `committee.refine`.
    max_members : int, default=None
        Largest number of members.
    max_leaves, max_bytes, tolerance : default=None
        As in `committee.refine`; they need `refine=True`.
    n_jobs : int, default=None
        Number of members that predict in parallel. Training uses `n_jobs` of the
        estimator.
    random_state : int, RandomState instance or None, default=None
        Controls the split, a combiner given by name, and `refine`. If not None, it also
        sets each `random_state` of the estimator that is None. Pass an int for
        reproducible results.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    calibration : {"slope", "vector"} or None, default="slope"
        Calibration of the probabilities; see `prune`.

    Attributes
    ----------
    members_, weights_, support_, classes_, path_, calibration_
        And `summary()`: as after `prune`.

    See Also
    --------
    prune : The same for an ensemble that is fitted already.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> from committee import PrunedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> small = PrunedClassifier(RandomForestClassifier(50, random_state=0))
    >>> cross_val_score(small, X, y, cv=3).round(1)
    array([0.9, 1. , 1. ])
    >>> small.fit(X, y).n_members_ < 30
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_Pruned._parameter_constraints,
        "calibration": [StrOptions(set(METHODS)), None],
    }

    _: KW_ONLY
    calibration: str | None = "slope"


class PrunedRegressor(_Pruned, CommitteeRegressor):
    """Train an ensemble of regressors and keep the few members that matter.

        ensemble = estimator.fit(X, y),   committee = prune(ensemble, rows unseen)

    See `PrunedClassifier` for the rows that it is pruned on.

    Parameters
    ----------
    estimator : regressor
        Any ensemble that `prune` takes, unfitted. It is cloned.
    combiner, weigh_on, scoring, refine, max_members, max_leaves, max_bytes, tolerance :
        As for `PrunedClassifier`.
    n_jobs, random_state, verbose :
        As for `PrunedClassifier`.

    Attributes
    ----------
    members_, weights_, support_, path_
        And `summary()`: as after `prune`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee import PrunedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> booster = GradientBoostingRegressor(n_estimators=60)
    >>> small = PrunedRegressor(booster, random_state=0).fit(X, y)
    >>> small.n_members_ <= 60
    True
    """


def recipe_of(
    ensemble: Any,
    roster: Roster,
    *,
    combiner: Any,
    scoring: str | None,
    n_jobs: int | None,
    calibration: str | None = None,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return the unfitted estimator that a clone of the pruned committee is.

    A search is replaced by its best estimator. A bare booster cannot be trained again.
    """
    regression = roster.classes is None
    how: dict[str, Any] = {"combiner": combiner, "n_jobs": n_jobs}
    if not regression:
        how["calibration"] = calibration
    if isinstance(ensemble, (list, tuple, dict)):
        members = [clone(member) for member in roster.members]
        named = (
            None if roster.names is None else zip(roster.names, members, strict=True)
        )
        pool = Pool(members if named is None else list(named))
        of_models = CommitteeRegressor if regression else CommitteeClassifier
        return of_models(generator=pool, **how)
    model = getattr(ensemble, "best_estimator_", ensemble)
    trained = clone(model) if hasattr(model, "get_params") else None
    kind = PrunedRegressor if regression else PrunedClassifier
    return kind(trained, scoring=scoring, **how)
