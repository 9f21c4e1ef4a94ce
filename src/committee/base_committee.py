"""BaseCommittee: the base of all committees. Generate members, weigh, combine."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_random_state, estimator_html_repr, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from committee._format import HELD_OUT, error_name
from committee._notebook import headline_html
from committee._typing import BoolArray, FloatArray, IntArray, Member, RandomState
from committee._validation import (
    HasMethods,
    Interval,
    StrOptions,
    check_columns,
    label_codes,
)
from committee.calibration import Calibration
from committee.combiner_names import as_combiner
from committee.combiners import Combiner
from committee.distributed.collections import is_dask, lazy_rows
from committee.ensembles import Rebuilt, Roster, Round, rebuilt
from committee.ensembles.roster import feature_importances, kind_of_member, with_rows
from committee.ensembles.training_rows import digest
from committee.export import to_sklearn
from committee.fit_plan import (
    FitPlan,
    check_chunks,
    check_kind,
    check_rows_are_held_out,
    plan_of,
)
from committee.gates import Gate
from committee.held_out import DRAWS_OF_FIT, HeldOutPredictions, of_committee, of_gate
from committee.losses import measure_of
from committee.members import Bagging, Generation, Generator, Pool, TrainingData
from committee.members.base import split_off
from committee.members.dask_training import ChunkedData, generate_members, training_data
from committee.members.training import router_of
from committee.path import WHOLE_PATH, Path
from committee.predictions import combined, predict_members, weighted_by_row
from committee.votes import Votes, packed, unpacked
from committee.weighing import grow, weigh

#: Attributes that a copy does not keep: a rebuilt booster, rows, marks.
_NOT_COPIED = ("_whole", "_refined", WHOLE_PATH)
#: Attributes that depend on the weights, which a gate replaces.
_OF_WEIGHTS = [
    "path_",
    "_summary",
    "_refined",
    "_whole",
    "_held_out_rows",
    "_calibration",
    "held_out_error_",
    "held_out_error_name_",
]
#: Fitted attributes, besides those of scikit-learn.
_FITTED = [
    *_OF_WEIGHTS,
    *["roster_", "combiner_", "held_out_", "support_", "gate_", "_digest", "refined_"],
]


class BaseCommittee(BaseEstimator):
    """A committee: members, and weights or a gate."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "generator": [Generator, None],
        "combiner": "no_validation",  # as_combiner checks it
        "gate": [Gate, None],
        "weigh_on": [
            StrOptions({"held-out", "train"}),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "stop": [StrOptions({"evidence"}), None],
        "uncertainty": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _default_estimator: ClassVar[type]
    #: Returns labels or numbers, or raises ValueError.
    _check_y: Callable[[Any], Any]

    #: Defaults of parameters that pruned committees or regressors lack.
    gate: Gate | None = None
    uncertainty: bool = False
    calibration: str | None = None

    #: Members and weights, with the form of their predictions.
    roster_: Roster
    #: Numbers of the members in the generation or ensemble.
    support_: IntArray
    combiner_: Combiner | None
    gate_: Gate | None = None
    held_out_: BoolArray | None
    held_out_error_: float | None = None
    held_out_error_name_: str | None = None
    path_: Path
    n_features_in_: int
    _calibration: Calibration | None
    #: Digest of the rows of `fit`, to recognise them.
    _digest: str

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
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.generator = generator
        self.combiner = combiner
        self.gate = gate
        self.weigh_on = weigh_on
        self.stop = stop
        self.uncertainty = uncertainty
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- members ---------------------------------------------------------------------

    @property
    def members_(self) -> list[Member]:
        """The members with a nonzero weight."""
        return self._fitted_roster().members

    @property
    def weights_(self) -> FloatArray:
        """The weight of each of the members, of shape (M,)."""
        weights = self._fitted_roster().weights
        assert weights is not None
        return weights

    @property
    def member_names_(self) -> list[str]:
        """Names of the members; number and class if no names were given."""
        roster = self._fitted_roster()
        if roster.names is not None:
            return list(roster.names)
        kinds = map(kind_of_member, roster.members)
        return [f"#{m} {kind}" for m, kind in zip(self.support_, kinds, strict=True)]

    @property
    def transformer_(self) -> Any:
        """Transformer applied to X before all members, or None."""
        return self._fitted_roster().transformer

    @property
    def n_members_(self) -> int:
        """Number of members with a nonzero weight."""
        return int(np.count_nonzero(self.weights_))

    @property
    def feature_importances_(self) -> FloatArray:
        """Weighted mean of the members' importances, (n_features,); it sums to one.

        Raises AttributeError if some member has none.
        """
        return feature_importances(self._fitted_roster(), self.n_features_in_)

    @lazy_rows(tail=lambda self: (len(self.roster_), *self.roster_.output_shape))
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every member.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        n_jobs : int, default=None
            Number of members that predict in parallel; None is `n_jobs` of the committee.

        Returns
        -------
        F : array of shape (N, M) or (N, M, K)
            Classes in the order of `classes_`.
        """
        check_is_fitted(self)
        return self._member_predictions(X, self.n_jobs if n_jobs is None else n_jobs)

    def _member_predictions(self, X: Any, n_jobs: int | None) -> FloatArray:
        return predict_members(self.roster_, self._prepared(X), n_jobs=n_jobs)

    def _member_weights(self, X: Any, F: FloatArray) -> FloatArray:
        """Return the weights of the members, (M,), or of a gate for each row, (N, M)."""
        return self.weights_ if self.gate_ is None else self.gate_.weights(X)

    def _scores(self, X: Any) -> FloatArray:
        """Return b + sum_m w_m f_m, or with a gate sum_m g_m(x) f_m."""
        self._fitted_roster()
        if self.gate_ is not None:
            F = self._member_predictions(X, self.n_jobs)
            return weighted_by_row(F, self._member_weights(X, F))
        X, whole = self._prepared(X), self._rebuilt()
        if whole is not None:
            return whole(X) + self.roster_.offset
        return combined(self.roster_, X, n_jobs=self.n_jobs)

    def _rebuilt(self) -> Rebuilt | None:
        """Return one booster of all kept rounds, which predicts in one call."""
        if isinstance(self.members_[0], Round) and "_whole" not in self.__dict__:
            self._whole = rebuilt(self.members_, self.weights_)
        return self.__dict__.get("_whole")

    def _prepared(self, X: Any) -> Any:
        """Check X and prepare it for the members."""
        return self.roster_.prepared(self._check_X(X, reset=False))

    def _as_roster(self) -> Roster:
        """Return the roster with the mask and the digest of the training rows."""
        check_is_fitted(self)
        known = with_rows(self.roster_, self.held_out_, getattr(self, "_digest", None))
        if self.gate_ is not None:  # no weights that hold for all rows
            known = replace(known, weights=None)
        return replace(known, combiner=self.combiner_)

    def _fitted_roster(self) -> Roster:
        if "roster_" not in self.__dict__:
            # NotFittedError is an AttributeError too, as hasattr() and available_if() need.
            check_is_fitted(self)
        return self.roster_

    def __sklearn_is_fitted__(self) -> bool:
        """Return True if the last fit was completed."""
        return hasattr(self, "roster_")

    # --- gate ------------------------------------------------------------------------

    @lazy_rows(tail=lambda committee: (len(committee.members_),))
    def gate_weights(self, X: Any) -> FloatArray:
        """Return g(x), the weight of every member at every x.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
            For a Dask array or frame the result is a lazy Dask array.

        Returns
        -------
        G : array of shape (N, M)
            Rows sum to one.
        """
        self._fitted_roster()
        if self.gate_ is None:
            raise AttributeError(
                f"This {type(self).__name__} has no gate: its weights are constant, "
                "see weights_. Fit it with gate=..., or call with_gate."
            )
        return self.gate_.weights(X)

    def with_gate(self, gate: Gate, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the same members behind a gate, fitted on other rows.

        Use it to gate a committee made by `prune`. The result has neither `path_` nor
        `summary()`.

        Parameters
        ----------
        gate : gate
            It is cloned.
        X : array-like or frame of shape (N, n_features)
            Rows that the members were not trained on, or the training rows if the
            committee recorded which rows each member left out.
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), default=None
            Sample weights.

        Returns
        -------
        committee : CommitteeClassifier or CommitteeRegressor
        """
        check_is_fitted(self)
        if not isinstance(gate, Gate):
            raise TypeError(
                f"gate must be a gate, such as SoftmaxGate(). Got {gate!r} instead."
            )
        if is_dask(X):
            raise TypeError(
                "A gate needs all rows in memory: compute() the collections first."
            )
        if self.roster_.output == "scores":
            raise ValueError(
                "The members are rounds of a booster. Their scores are summed, so a "
                "gate cannot weigh them."
            )
        mask = self._unseen(X)
        y = self._check_y(y)
        if self.roster_.classes is not None:
            y = label_codes(y, self.roster_.classes)
        made = copy.copy(self)
        for name in _OF_WEIGHTS:
            made.__dict__.pop(name, None)
        made.roster_ = replace(self.roster_, link="mean", floor=None, offset=0.0)
        F = made._member_predictions(X, made.n_jobs)
        votes = Votes(F, y, mask, sample_weight)
        made._fit_gate(gate, X, votes)
        method = "slope" if self.calibration == "auto" else self.calibration
        made._measure(of_gate(gate, None, X, votes, method), rows=True)
        return made

    def _unseen(self, X: Any) -> BoolArray | None:
        """Return the mask of the rows that members left out; None for fresh rows."""
        recognise = self._as_roster().recognise
        found = None if recognise is None else recognise(self._prepared(X))
        if found == "same" and self.held_out_ is not None:
            return self.held_out_
        if found in ("same", "another order"):
            raise ValueError(
                "The members were trained on these rows, so their errors there are "
                "too small. Pass fresh rows, or fit the committee with gate=..., "
                "which uses held-out rows."
            )
        return None

    def _fit_gate(self, gate: Gate, X: Any, votes: Votes) -> None:
        """Fit a clone of the gate."""
        F, y, mask, s = votes.F, votes.y, votes.held_out, votes.sample_weight
        self.gate_ = clone(gate).fit(X, F, y, held_out=mask, sample_weight=s)

    # --- fit -------------------------------------------------------------------------

    def _fit(self, data: TrainingData | ChunkedData) -> Self:
        """Generate members, weigh them and store the result."""
        rng = check_random_state(self.random_state)
        plan = plan_of(self, in_memory=data.in_memory)
        if plan.asked is not None:
            check_rows_are_held_out(self, plan.asked)
        generator = self._generator()
        how = {
            "n_jobs": self.n_jobs,
            "random_state": rng,
            "verbose": bool(self.verbose),
        }
        if self.stop is not None:
            assert isinstance(data, TrainingData)
            return self._grow(data, plan, rng, how)
        generation, rows = generate_members(
            generator,
            self.estimator if isinstance(self.generator, Pool) else self._estimator(),
            data,
            weigh_on=self.weigh_on if plan.needs_rows else None,
            **how,
        )
        # Seeded after the members, which thus do not depend on the combiner.
        chosen = as_combiner(plan.combiner, rng)
        if self.gate is not None and chosen is not None:
            chosen = chosen.copy_for("votes")  # a gate weighs no logarithms
        combiner, w, F = weigh(
            chosen,
            generation,
            rows,
            output=generator.output,
            n_jobs=self.n_jobs,
            needs_F=plan.needs_F,
        )
        generation = replace(generation, F=F)
        return self._store(
            generation, combiner, w, rows, plan, in_memory=data.in_memory
        )

    def _grow(
        self, data: TrainingData, plan: FitPlan, rng: Any, how: dict[str, Any]
    ) -> Self:
        """Train and weigh members in batches, until the evidence stops rising."""
        if plan.combiner is None or self.weigh_on == "train":
            raise ValueError(
                'stop="evidence" needs a combiner that computes the evidence, such as '
                'EPPruner(), and weigh_on="held-out" or a fraction. Got '
                f"combiner={self.combiner!r} and weigh_on={self.weigh_on!r}."
            )
        rows = None
        if not isinstance(self.weigh_on, str):
            data, rows = split_off(data, self.weigh_on, rng)
        generation, combiner = grow(
            *(self._generator(), self._estimator(), data, as_combiner(plan.combiner)),
            rows=rows,
            **how,
        )
        used = data if rows is None else rows
        return self._store(generation, combiner, combiner.weights_, used, plan)

    def _store(
        self,
        generation: Generation,
        combiner: Combiner | None,
        w: FloatArray,
        rows: Any,
        plan: FitPlan,
        *,
        in_memory: bool = True,
    ) -> Self:
        """Store members with a weight, held-out errors, and the gate."""
        members, mask = generation.members, generation.held_out
        F: Any = generation.F
        self.support_ = np.flatnonzero(w) if np.any(w) else np.arange(len(members))
        self.combiner_ = combiner
        # The mask of Dask collections would keep the whole graph.
        self.held_out_ = (
            mask[:, self.support_] if in_memory and mask is not None else None
        )
        self.roster_ = Roster(
            members,
            w,
            getattr(self, "classes_", None),
            rows.classes,
            output=self._generator().output,
            link="combiner" if self.gate is None else "mean",
            # A gate weighs probabilities, also after a log pool, and adds nothing.
            floor=None if combiner is None or self.gate else combiner.floor_,
            offset=0.0 if combiner is None or self.gate else combiner.offset,
            # Column names are checked before; trees take one array for all.
            arrays=all(isinstance(m, BaseDecisionTree) for m in members),
            names=generation.names,
        ).only(self.support_, w[self.support_])
        y, s, gate = rows.y, rows.sample_weight, self.gate
        if gate is not None:
            kept = Votes(F[:, self.support_], y, self.held_out_, s)
            self._fit_gate(gate, rows.X, kept)
        if not plan.measures:
            return self
        votes, method = Votes(F, y, mask, s), plan.calibration
        if self.calibration == "auto" and self.roster_.floor is not None:
            method = None  # a log pool has a slope of its own
        if gate is None:
            found = of_committee(combiner, w, votes, method)
        else:
            found = of_gate(gate, combiner, rows.X, votes, method)
        self._measure(found, rows=self.uncertainty)
        return self

    def _measure(self, found: HeldOutPredictions, *, rows: bool) -> None:
        """Store calibration, error, and on request residuals or scores."""
        found = replace(found, most_draws=DRAWS_OF_FIT)
        if found.counted.any():
            if found.calibration is not None:
                self._calibration = found.calibration
            # With negative weights missing votes cannot be filled.
            fillable = self.gate_ is not None or self.weights_.min() >= 0
            if fillable or not found.votes.masked:
                measure = measure_of(None, of_classes=found.votes.n_classes is not None)
                self.held_out_error_ = found.error(measure)[0]
                self.held_out_error_name_ = error_name(HELD_OUT, measure.name)
        if rows:
            self._held_out_rows = found.stored(self.support_)

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]
    ) -> TrainingData | ChunkedData:
        """Return checked rows, in memory or in chunks."""
        check_kind(self)
        if self.gate is not None:
            check_rows_are_held_out(self, "A gate")
        combiner = as_combiner(plan_of(self).combiner)
        data = training_data(self, X, y, sample_weight, fit_params, self._check_y)
        if isinstance(data, TrainingData):
            self._digest = digest(data.X)
            if self.gate is not None:
                self.gate.check_inputs(data.X)
        if combiner is not None and not data.in_memory:
            combiner.check_chunks(data.n_classes)
        return data

    def _check_chunks(self, fit_params: dict[str, Any]) -> None:
        """Raise for options that need all rows in memory."""
        check_chunks(self, fit_params)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Check column names and number; return frames and sparse matrices unchanged."""
        if getattr(self, "transformer_", None) is not None:
            return X  # the transformer checks it, and may take text
        return check_columns(self, X, reset=reset)

    def _leaves_rows_out(self) -> bool:
        """Return True if `fit` will store the mask of left-out rows."""
        held_out = plan_of(self).needs_rows and self.weigh_on == "held-out"
        return held_out and hasattr(self._generator(), "sample")

    def _estimator(self) -> Member:
        """Return the members' estimator; by default the generator's."""
        if self.estimator is not None:
            return self.estimator
        return self._generator().default_member(self._default_estimator)

    def _estimators(self) -> Sequence[Member]:
        """Return the unfitted estimators of the members."""
        if isinstance(self.generator, Pool):
            return self.generator.members or [self._estimator()]
        return [self._estimator()]

    def _generator(self) -> Generator:
        """Return the generator; by default Bagging(100)."""
        return Bagging() if self.generator is None else self.generator

    def _forget(self) -> None:
        """Delete fitted attributes, so that a failed refit leaves no stale ones."""
        for name in _FITTED:
            self.__dict__.pop(name, None)

    # --- look inside, copy, scikit-learn ----------------------------------------------

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: any(hasattr(self, n) for n in ("path_", "_summary", "_refined"))
    )
    def summary(self) -> Any:
        """Return errors and costs before and after `prune` or `refine`.

        It is computed on first use, from the rows passed to `prune`.

        Returns
        -------
        summary : committee.pruning.Summary
            Prints as a table.
        """
        if not hasattr(self, "_summary"):
            source: Any = self.__dict__.get("_refined") or self.path_.assessment
            self._summary = source.summary(self)
        return self._summary

    def to_sklearn(self, *, calibration: str | None = "keep") -> Any:
        """Return a plain scikit-learn model with the same predictions.

        Parameters
        ----------
        calibration : {"keep"} or None, default="keep"
            None leaves the calibration out; see `committee.to_sklearn`.

        Returns
        -------
        model : forest, booster, voting ensemble or pipeline
            Inside a `CalibratedClassifierCV` if the committee has a calibration.
        """
        return to_sklearn(self, calibration=calibration)

    def _html_repr(self) -> str:
        """Return the HTML for a notebook: headlines above scikit-learn's diagram."""
        return f"{headline_html(self)}{estimator_html_repr(self)}"

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of the members; see scikit-learn's guide."""
        return router_of(self)

    def __sklearn_tags__(self) -> Any:
        """Return the tags that hold for all members and the gate."""
        tags = super().__sklearn_tags__()
        known = [e for e in self._estimators() if hasattr(e, "__sklearn_tags__")]
        inputs = [get_tags(e).input_tags for e in known]
        # A gate takes dense numbers.
        plain = self.gate is None and self.gate_ is None
        tags.input_tags.sparse = plain and all(tag.sparse for tag in inputs)
        tags.input_tags.allow_nan = plain and all(tag.allow_nan for tag in inputs)
        return tags

    def __getstate__(self) -> Any:
        """Return the attributes; the mask as bits, the path without rows."""
        state: Any = super().__getstate__()
        whole = state.get(WHOLE_PATH, False)
        state = {n: v for n, v in state.items() if n not in _NOT_COPIED}
        if state.get("held_out_") is not None:
            state["held_out_"] = packed(state["held_out_"])
        if "path_" in state:
            state["path_"] = state["path_"].for_copy(self, whole=whole)
        return state

    def __setstate__(self, state: Any) -> None:
        """Restore the attributes."""
        if state.get("held_out_") is not None:
            state = {**state, "held_out_": unpacked(**state["held_out_"])}
        super().__setstate__(state)
        if "path_" in state:
            self.path_.bind(self)

    def __copy__(self) -> Self:
        """Return a shallow copy, which keeps the rows of the path."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other
