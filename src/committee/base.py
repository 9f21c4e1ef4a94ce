"""What all committees share: generate, weigh, combine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_random_state, estimator_html_repr, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from committee._notebook import headline_html
from committee._typing import BoolArray, FloatArray, IntArray, Member, RandomState
from committee._validation import (
    HasMethods,
    Interval,
    StrOptions,
    check_columns,
)
from committee.chunk_checks import check_chunks
from committee.combiners import Combiner
from committee.combiners.by_name import as_combiner
from committee.distributed import lazy_rows
from committee.ensembles import Rebuilt, Roster, Round, rebuilt
from committee.ensembles.roster import with_rows
from committee.ensembles.training_rows import digest
from committee.export import to_sklearn
from committee.gated_members import GatedMembers
from committee.gates import Gate
from committee.importances import feature_importances
from committee.members import Bagging, Generation, Generator, Pool, TrainingData
from committee.members.base import split_off
from committee.members.dask_rows import ChunkedData, training_data
from committee.members.dask_training import generate_members
from committee.path import Path
from committee.predictions import combined, predict_members
from committee.routing import router_of
from committee.uncertainty.after_fit import (
    check_rows_are_held_out,
    measure_held_out,
)
from committee.weighing import Weighed, grow, weigh


def _member_axes(committee: BaseCommittee) -> tuple[int, ...]:
    """Return the shape of F behind the rows."""
    return (len(committee.roster_), *committee.roster_.output_shape)


class BaseCommittee(GatedMembers):
    """What classification and regression share: generate, weigh, combine."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "generator": [Generator, None],
        "combiner": [Combiner, str, None],
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

    #: Set before `fit` by whoever wants `_weighing`: F, the rows and the mask that all
    #: members were weighed on, of which the committee keeps a part.
    _keeps_weighing: bool = False
    _weighing: tuple[FloatArray, TrainingData, BoolArray | None]

    #: Files of older versions have none.
    uncertainty: bool = False
    #: Of classifiers.
    calibration: str | None = None

    combiner_: Combiner | None
    held_out_: BoolArray | None
    path_: Path
    n_features_in_: int
    #: Of the rows of `fit`, to recognise them by; handed on when it is pruned.
    _digest: str

    def __init__(
        self,
        estimator: Member | None = None,
        *,
        generator: Generator | None = None,
        combiner: Combiner | str | None = None,
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

    @property
    def feature_importances_(self) -> FloatArray:
        """Importances of the columns, the members' weighted by `weights_`; sum one.

        Where all members have them, as trees do: AttributeError otherwise.
        """
        return feature_importances(self._fitted_roster(), self.n_features_in_)

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: hasattr(self, "path_") or hasattr(self, "_summary")
    )
    def summary(self) -> Any:
        """Return what pruning cost and gained, for committees of `prune` and `refine`.

        It is made on first use, from the rows that were given to `prune`.

        Returns
        -------
        summary : committee.pruning.Summary
            Prints as a table.
        """
        if not hasattr(self, "_summary"):
            self._summary = self.path_.assessment.summary(self)  # type: ignore[union-attr]
        return self._summary

    def to_sklearn(self) -> Any:
        """Return a plain scikit-learn model with the same predictions.

        Returns
        -------
        model : forest, booster, voting ensemble or pipeline
            See `committee.to_sklearn`.
        """
        return to_sklearn(self)

    def _html_repr(self) -> str:
        """Return what a notebook shows: the headlines above scikit-learn's diagram."""
        return f"{headline_html(self)}{estimator_html_repr(self)}"

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata reach the members; see scikit-learn's guide."""
        return router_of(self)

    def __sklearn_tags__(self) -> Any:
        """Accept what all members accept, and the gate."""
        tags = super().__sklearn_tags__()
        known = [e for e in self._estimators() if hasattr(e, "__sklearn_tags__")]
        inputs = [get_tags(e).input_tags for e in known]
        plain = self.gate is None  # a gate looks at numbers
        tags.input_tags.sparse = plain and all(tag.sparse for tag in inputs)
        tags.input_tags.allow_nan = plain and all(tag.allow_nan for tag in inputs)
        return tags

    def _fit(self, data: TrainingData | ChunkedData) -> Self:
        """Generate members, weigh them and keep the result."""
        rng = check_random_state(self.random_state)
        check_rows_are_held_out(self, self._generator())
        if self.stop is not None:
            assert isinstance(data, TrainingData)
            return self._grow(data, rng)
        weigh_on = (
            self.weigh_on if isinstance(self.weigh_on, str) else float(self.weigh_on)
        )
        generation, rows = generate_members(
            self._generator(),
            self.estimator if isinstance(self.generator, Pool) else self._estimator(),
            data,
            weigh_on=weigh_on if self._needs_rows() else None,
            **self._how(rng),
        )
        weighed = weigh(
            as_combiner(self.combiner, rng),
            generation,
            rows,
            output=self._generator().output,
            n_jobs=self.n_jobs,
            needs_F=self._measures(),
        )
        if self._keeps_weighing and weighed.F is not None:
            self._weighing = weighed.F, rows, generation.held_out
        measure_held_out(self, weighed, rows, generation.held_out)
        if not data.in_memory:
            # The mask would bring the whole graph, and maybe all rows, along.
            generation = replace(generation, held_out=None)
        self._hold(generation, weighed.combiner, weighed.weights, rows.classes)
        return self._fit_gate(generation.F if weighed.F is None else weighed.F, rows)

    def _training_data(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        fit_params: dict[str, Any],
    ) -> TrainingData | ChunkedData:
        """Return checked rows, in memory or in chunks."""
        self._check_kind()
        self._check_gate(self._generator(), self.weigh_on)
        combiner = as_combiner(self.combiner)
        data = training_data(self, X, y, sample_weight, fit_params, self._check_y)
        if isinstance(data, TrainingData):
            self._digest = digest(data.X)
            if self.gate is not None:
                self.gate.check_inputs(data.X)
        if combiner is not None and not data.in_memory:
            combiner.check_chunks(data.n_classes)
        return data

    def _check_chunks(self, fit_params: dict[str, Any]) -> None:
        """Refuse, before any work, what has to see all rows at once."""
        check_chunks(self, self._generator(), fit_params)

    def _leaves_rows_out(self) -> bool:
        """Whether it will know the rows that each member did not see."""
        held_out = self._needs_rows() and self.weigh_on == "held-out"
        return held_out and hasattr(self._generator(), "sample")

    def _needs_rows(self) -> bool:
        """Whether members are weighed, gated or measured by what they predict."""
        combiner = as_combiner(self.combiner)
        weighs = combiner is not None and combiner.needs_rows
        return weighs or self.gate is not None or self._measures()

    def _measures(self) -> bool:
        """Whether held-out rows are needed for more than weights."""
        return self.uncertainty or self.calibration is not None

    def _grow(self, data: TrainingData, rng: np.random.RandomState) -> Self:
        """Train and weigh members in batches, until the evidence stops to rise."""
        if self.combiner is None or self.weigh_on == "train":
            raise ValueError(
                'stop="evidence" needs a combiner with an evidence, such as EPPruner(), '
                'and weigh_on="held-out" or a fraction. Got '
                f"combiner={self.combiner!r} and weigh_on={self.weigh_on!r}."
            )
        rows = None
        if not isinstance(self.weigh_on, str):
            data, rows = split_off(data, self.weigh_on, rng)
        generator, estimator, how = self._generator(), self._estimator(), self._how(rng)
        generation, combiner = grow(
            generator, estimator, data, as_combiner(self.combiner), rows=rows, **how
        )
        weighed = Weighed(combiner, combiner.weights_, generation.F)
        used = data if rows is None else rows
        measure_held_out(self, weighed, used, generation.held_out)
        self._hold(generation, combiner, combiner.weights_, data.classes)
        F = generation.F if rows is None else None
        return self._fit_gate(F, data if rows is None else rows)

    def _how(self, rng: np.random.RandomState) -> dict[str, Any]:
        """Return how members are to be trained."""
        return {
            "n_jobs": self.n_jobs,
            "random_state": rng,
            "verbose": bool(self.verbose),
        }

    def _hold(
        self,
        generation: Generation,
        combiner: Combiner | None,
        weights: FloatArray,
        codes: IntArray | None,
    ) -> Self:
        """Keep the members that have a weight, and how they predict."""
        members, mask = generation.members, generation.held_out
        self.support_ = np.flatnonzero(weights)
        if not len(self.support_):
            self.support_ = np.arange(len(members))
        self.combiner_ = combiner
        self.held_out_ = None if mask is None else mask[:, self.support_]
        self.roster_ = Roster(
            members,
            weights,
            getattr(self, "classes_", None),
            codes,
            output=self._generator().output,
            link="combiner" if self.gate is None else "mean",
            # A gate weighs probabilities, whatever weighed the members.
            floor=None if combiner is None or self.gate else combiner.floor_,
            # Column names have been checked by then; trees want one array for all.
            arrays=all(isinstance(m, BaseDecisionTree) for m in members),
            names=generation.names,
        ).only(self.support_, weights[self.support_])
        return self

    def _check_kind(self) -> None:
        """Refuse members that are plainly made for the other task."""
        wrong = is_regressor if is_classifier(self) else is_classifier
        for estimator in self._estimators():
            if wrong(estimator):
                raise ValueError(
                    f"The members of a {type(self).__name__} must be of its own kind. "
                    f"Got {type(estimator).__name__}."
                )

    def _forget(self) -> None:
        """Be unfitted: should this fit fail, nothing old may stay beside the new."""
        for name in (
            *("roster_", "combiner_", "held_out_", "support_", "path_", "gate_"),
            *("_whole", "_summary", "_slope", "_calibration", "_weighing", "_digest"),
            *("_held_out_rows", "refinement_"),
        ):
            self.__dict__.pop(name, None)

    @lazy_rows(tail=_member_axes)
    def member_predictions(self, X: Any, *, n_jobs: int | None = None) -> FloatArray:
        """Return F, the predictions of every member.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        n_jobs : int, optional
            The committee's own `n_jobs` unless given.

        Returns
        -------
        F : array of shape (N, M) or (N, M, K)
            Classes in the order of `classes_`.
        """
        check_is_fitted(self)
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        return predict_members(self.roster_, self._prepared(X), n_jobs=n_jobs)

    def _combined(self, X: Any) -> FloatArray:
        """Return sum_m w_m f_m, or with a gate sum_m g_m(x) f_m."""
        check_is_fitted(self)
        if self.gate_ is not None:
            return self._gated(X)
        X, whole = self._prepared(X), self._rebuilt()
        return (
            combined(self.roster_, X, n_jobs=self.n_jobs) if whole is None else whole(X)
        )

    def _rebuilt(self) -> Rebuilt | None:
        """Return the booster that rounds make up again: one call instead of many."""
        if isinstance(self.members_[0], Round) and "_whole" not in self.__dict__:
            self._whole = rebuilt(self.members_, self.weights_)
        return self.__dict__.get("_whole")

    def _prepared(self, X: Any) -> Any:
        """Check X and return it as the members take it."""
        return self.roster_.prepared(self._check_X(X, reset=False))

    def _as_roster(self) -> Roster:
        """Return the roster with what is known of the training rows."""
        check_is_fitted(self)
        known = with_rows(self.roster_, self.held_out_, getattr(self, "_digest", None))
        if self.gate_ is not None:  # weights that are no weights of all rows
            known = replace(known, weights=None)
        return replace(known, combiner=self.combiner_)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Check names and widths; hand frames and sparse matrices through."""
        if getattr(self, "transformer_", None) is not None:
            return X  # for the transformer to judge, which may well take text
        return check_columns(self, X, reset=reset)

    def _estimator(self) -> Member:
        """Return the members' estimator, that of the generator unless given."""
        if self.estimator is not None:
            return self.estimator
        return self._generator().default_member(self._default_estimator)

    def _estimators(self) -> Sequence[Member]:
        """Return the unfitted estimators behind the members."""
        if isinstance(self.generator, Pool):
            return self.generator.members or [self._estimator()]
        return [self._estimator()]

    def _generator(self) -> Generator:
        """Return the generator, Bagging(100) unless given."""
        return Bagging() if self.generator is None else self.generator
