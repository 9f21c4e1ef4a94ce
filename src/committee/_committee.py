"""What all committees share: generate, weigh, combine."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import (
    check_random_state,
    get_tags,
)
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Member,
    RandomState,
    Votes,
)
from committee._validation import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
    index_params,
    routing_enabled,
    safe_indexing,
)
from committee.combiners import Combiner
from committee.members import Bagging, Generation, Generator, Pool, TrainingData
from committee.predictions import iter_predictions, predict_all


class BaseCommittee(BaseEstimator):
    """What classification and regression share: generate, weigh, combine."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "generator": [Generator, None],
        "combiner": [Combiner, None],
        "weigh_on": [
            StrOptions({"held-out", "train"}),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _default_estimator: ClassVar[type]

    members_: list[Member]
    weights_: FloatArray
    held_out_: BoolArray | None
    combiner_: Combiner | None
    _votes: Votes

    def __init__(
        self,
        estimator: Member | None = None,
        *,
        generator: Generator | None = None,
        combiner: Combiner | None = None,
        weigh_on: str | float = "held-out",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool | int = False,
    ) -> None:
        self.estimator = estimator
        self.generator = generator
        self.combiner = combiner
        self.weigh_on = weigh_on
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def n_members_(self) -> int:
        """Number of members with a nonzero weight."""
        check_is_fitted(self, "weights_")
        return int(np.count_nonzero(self.weights_))

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
        check_is_fitted(self, "weights_")
        return predict_all(
            self.members_,
            self._check_X(X, reset=False),
            classes=self._codes(),
            votes=self._votes,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata reach the members; see scikit-learn's guide."""
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for i, estimator in enumerate(self._estimators()):
            router.add(**{f"estimator_{i}": estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        """Accept what all members accept."""
        tags = super().__sklearn_tags__()
        known = [e for e in self._estimators() if hasattr(e, "__sklearn_tags__")]
        inputs = [get_tags(e).input_tags for e in known]
        tags.input_tags.sparse = all(tag.sparse for tag in inputs)
        tags.input_tags.allow_nan = all(tag.allow_nan for tag in inputs)
        return tags

    def _fit(
        self,
        X: Any,
        y: Any,
        n_classes: int | None,
        sample_weight: Any,
        fit_params: dict[str, Any],
    ) -> Self:
        """Generate members, weigh them and keep the result."""
        self._check_kind()
        data = TrainingData(
            X,
            y,
            n_classes,
            check_sample_weight(sample_weight, X),
            self._route(fit_params),
        )
        rng = check_random_state(self.random_state)
        needs_rows = self.combiner is not None and self.combiner.needs_rows
        rows_apart = None
        if needs_rows and not isinstance(self.weigh_on, str):
            data, rows_apart = _split_apart(data, self.weigh_on, rng)
        generation = self._generator().generate(
            self.estimator if isinstance(self.generator, Pool) else self._estimator(),
            data,
            held_out=needs_rows and self.weigh_on == "held-out",
            n_jobs=self.n_jobs,
            random_state=rng,
            verbose=bool(self.verbose),
        )
        self._votes = self._generator().votes
        self._weigh(generation, rows_apart if rows_apart is not None else data)
        self.members_ = generation.members
        return self

    def _weigh(self, generation: Generation, rows: TrainingData) -> None:
        """Fit the combiner on the generation's F, or on F of the given rows."""
        M = len(generation.members)
        self.held_out_ = generation.held_out
        if self.combiner is None:
            own = generation.weights
            self.combiner_ = None
            self.weights_ = np.full(M, 1.0 / M) if own is None else own
            return
        combiner = clone(self.combiner)
        if not combiner.needs_rows:
            shape = () if rows.n_classes is None else (rows.n_classes,)
            combiner.fit(np.zeros((1, M, *shape)), np.zeros(1))
        else:
            F = generation.F
            if F is None:
                F = predict_all(
                    generation.members,
                    rows.X,
                    classes=rows.classes,
                    votes=self._votes,
                    n_jobs=self.n_jobs,
                )
            combiner.fit(
                F,
                rows.y,
                held_out=generation.held_out,
                sample_weight=rows.sample_weight,
            )
        self.combiner_ = combiner
        self.weights_ = combiner.weights_

    def _check_kind(self) -> None:
        """Refuse members that are plainly made for the other task."""
        wrong = is_regressor if is_classifier(self) else is_classifier
        for estimator in self._estimators():
            if wrong(estimator):
                raise ValueError(
                    f"The members of a {type(self).__name__} must be of its own kind. "
                    f"Got {type(estimator).__name__}."
                )

    def _route(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for the members, once it is clear who asked for it."""
        if not fit_params:
            return {}
        if not routing_enabled():
            raise TypeError(
                f"fit() got {sorted(fit_params)}. Members get further arguments "
                "through metadata routing: call "
                "sklearn.set_config(enable_metadata_routing=True) and "
                "set_fit_request(...) on the estimator."
            )
        process_routing(self, "fit", **fit_params)
        return fit_params

    def _combined(self, X: Any) -> FloatArray:
        """Return sum_m w_m f_m, one member at a time and in order."""
        check_is_fitted(self, "weights_")
        X = self._check_X(X, reset=False)
        support = np.flatnonzero(self.weights_)
        stream = iter_predictions(
            [self.members_[m] for m in support],
            X,
            classes=self._codes(),
            votes=self._votes,
            n_jobs=self.n_jobs,
        )
        codes = self._codes()
        columns = () if codes is None else (len(codes),)
        total = np.zeros((X.shape[0], *columns))
        for m, P in zip(support, stream, strict=True):
            total += self.weights_[m] * P
        return total

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Check names and widths; hand frames and sparse matrices through."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        options = {
            "accept_sparse": ["csr"],
            "ensure_all_finite": False,
            "reset": reset,
        }
        try:
            return validate_data(self, X, **options)
        except ValueError as error:
            # Text is for members that can read it, such as an encoding pipeline.
            if "could not convert" not in str(error):
                raise
            return validate_data(self, X, dtype=None, **options)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the last fit came to its end."""
        return hasattr(self, "weights_")

    def _forget(self) -> None:
        """Be unfitted: should this fit fail, nothing old may stay beside the new."""
        self.__dict__.pop("weights_", None)

    def _estimator(self) -> Member:
        """Return the members' estimator, a decision tree unless given."""
        if self.estimator is None:
            return self._default_estimator()
        return self.estimator

    def _estimators(self) -> Sequence[Member]:
        """Return the unfitted estimators behind the members."""
        if isinstance(self.generator, Pool):
            return self.generator.members or [self._estimator()]
        return [self._estimator()]

    def _generator(self) -> Generator:
        """Return the generator, Bagging(100) unless given."""
        return Bagging() if self.generator is None else self.generator

    def _codes(self) -> IntArray | None:
        """Return the class codes, None for regression."""
        return None


def _split_apart(
    data: TrainingData, fraction: float, rng: np.random.RandomState
) -> tuple[TrainingData, TrainingData]:
    """Return the training rows, and a fraction of all rows to weigh on."""
    fraction = float(fraction)
    if not 1 <= round(fraction * len(data)) <= len(data) - 1:
        raise ValueError(
            f"weigh_on={fraction:g} of {len(data)} rows (n_samples={len(data)}) leaves "
            "nothing to weigh on, or nothing to train on."
        )
    K, smaller_part = data.n_classes, min(fraction, 1 - fraction) * len(data)
    few = K is None or np.bincount(data.y).min() < 2 or smaller_part < K
    train, apart = train_test_split(
        np.arange(len(data)),
        test_size=fraction,
        random_state=rng,
        stratify=None if few else data.y,
    )
    return _take(data, np.sort(train)), _take(data, np.sort(apart))


def _take(data: TrainingData, rows: IntArray) -> TrainingData:
    """Return the data of some rows, in their order."""
    s = data.sample_weight
    return TrainingData(
        safe_indexing(data.X, rows),
        data.y[rows],
        data.n_classes,
        None if s is None else s[rows],
        index_params(data.X, data.fit_params, indices=rows),
    )
