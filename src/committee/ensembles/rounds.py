"""Rounds of a booster as members of a committee, whichever library trained it.

A booster is raw(x) = start(x) + sum_m h_m(x). Member m is round m, scaled to
f_m = start + M h_m, so that the mean of all members is the booster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from committee._typing import FloatArray, Member
from committee.ensembles.roster import Roster, equal_weights
from committee.ensembles.training_rows import Recognise
from committee.probabilities import softmax_probabilities

#: Given X, yields the raw values (N, T) of all rounds in order, faster than one by one.
Stages = Callable[[Any], Iterator[FloatArray]]


@dataclass(frozen=True)
class Shared:
    """Parameters that are the same for all rounds of one booster."""

    #: M, the number of rounds that the booster uses.
    n_rounds: int
    #: Shape (T,), with T = K for more than two classes and 1 otherwise; None if start
    #: depends on x.
    start: FloatArray | None
    #: Shape (K,); None for regression.
    classes: Any = None
    #: Log odds are slope * raw.
    slope: float = 1.0
    #: The user's estimator without its rounds, if the library keeps rounds in a separate
    #: object.
    wrapper: Any = None

    @property
    def layout(self) -> tuple[Any, ...]:
        """M, start and classes, for comparison."""
        lists = (np.asarray(a).tolist() for a in (self.start, self.classes))
        return (self.n_rounds, *lists)

    def raw(self, h: Any) -> FloatArray:
        """Return start + M h, (N, T), for a constant start."""
        h = np.asarray(h, dtype=np.float64)
        raw: FloatArray = np.asarray(self.start) + self.n_rounds * h.reshape(len(h), -1)
        return raw

    def raw_offset(self, b: Any) -> FloatArray:
        """Return the raw values (T,) that `predictions` turns into an offset b."""
        T = len(np.asarray(self.start))
        if self.classes is None:
            return np.full(T, b, dtype=np.float64)
        if np.ndim(b) == 0:  # the same for all classes
            return np.zeros(T)
        s = len(b) * (b - np.mean(b)) / self.slope
        return np.array([s[1] - s[0]]) if T == 1 else s

    def staged(self, stages: Stages, X: Any) -> Iterator[FloatArray]:
        """Yield the predictions of each round in order."""
        return map(self.predictions, stages(X))

    def predictions(self, raw: FloatArray) -> FloatArray:
        """Return raw values (N, T) as predictions (N,) or class scores (N, K).

        With s the raw scores of the classes, centred,

            F_k = (1 + s_k) / K,

        the softmax of s to first order. Rows sum to one, and softmax(K F) is the
        softmax of s exactly.
        """
        if self.classes is None:
            return raw[:, 0]
        s = self.slope * raw
        if s.shape[1] == 1:
            # Log odds of the second of two classes: their difference is raw.
            s = s * [-0.5, 0.5]
        s = s - s.mean(axis=1, keepdims=True)
        return (1.0 + s) / s.shape[1]  # type: ignore[no-any-return]


class Round(ABC, BaseEstimator):
    """One round of a booster, f_m(x) = start(x) + M h_m(x); `model` holds this round."""

    def __init__(self, model: Any, shared: Shared) -> None:
        self.model = model
        self.shared = shared

    @staticmethod
    @abstractmethod
    def predict_raw(model: Any, X: Any) -> Any:
        """Return the raw predictions of a model of this library, before its link."""

    @staticmethod
    @abstractmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Return the booster of start (T,) + sum_m w_m M h_m; see the function `rebuild`.

        None leaves a start that depends on x as it is.
        """

    @staticmethod
    @abstractmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return columns, outputs and bins, which must be equal to merge models."""

    def raw(self, X: Any) -> FloatArray:
        """Return start + M h_m, of shape (N, T)."""
        return self.shared.raw(self.predict_raw(self.model, X))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: a round is trained with its booster."""
        return self

    def scores(self, X: Any) -> FloatArray:
        """Return F, for classifiers (N, K): rows sum to one, entries may be negative."""
        return self.shared.predictions(self.raw(X))

    def predict(self, X: Any) -> Any:
        """Return f_m, or the class with the largest score."""
        predictions = self.scores(X)
        if self.shared.classes is None:
            return predictions
        return self.shared.classes[predictions.argmax(axis=1)]

    @property
    def classes_(self) -> Any:
        """The booster's classes."""
        if self.shared.classes is None:
            raise AttributeError("A round of a regression booster has no classes.")
        return self.shared.classes

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: a round is always fitted."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return the estimator type of the booster; NaN and sparse X are allowed."""
        tags = super().__sklearn_tags__()
        regression = self.shared.classes is None
        tags.estimator_type = "regressor" if regression else "classifier"
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def rounds_roster(members: list[Any], stages: Stages, recognise: Recognise) -> Roster:
    """Return the roster of a booster's rounds."""
    shared = members[0].shared
    return Roster(
        members,
        equal_weights(len(members)),
        shared.classes,
        shared.classes,
        output="soft" if shared.classes is None else "scores",
        probabilities=softmax_probabilities,
        start=None if shared.start is None else shared.predictions(shared.raw([0]))[0],
        recognise=recognise,
        no_oob_reason=(
            "Boosted rounds learn from all rows. Pass rows that the booster was not "
            "trained on, without oob."
        ),
        staged_predictions=partial(shared.staged, stages),
    )


def are_alike(rounds: Sequence[Round]) -> bool:
    """Return True if all rounds have the layout of the first: one booster can hold them.

    This holds for rounds of one booster. A file could combine rounds of several.
    """
    parts = [(type(one), one.layout(one.model), one.shared.layout) for one in rounds]
    return all(part == parts[0] for part in parts[1:])


def rebuild(rounds: Sequence[Any], weights: FloatArray, offset: Any = 0.0) -> Any:
    """Return a booster of the rounds' own library that predicts their weighted sum.

        raw(x) = b + sum_m w_m (start + M h_m(x))

    The leaves of round m are multiplied by M w_m. The new start, b + sum_m w_m start, is
    a constant of the booster, or its change is added to the leaves of the first remaining
    round. Rounds with weight zero are left out. The offset b is in units of F.
    """
    weights = np.asarray(weights, dtype=np.float64)
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise ValueError("A booster needs a round with a nonzero weight. Got none.")
    if not are_alike(rounds):
        raise ValueError(
            "A booster needs rounds with the same columns, classes and start. Got "
            "rounds of more than one booster."
        )
    shared, start, total = rounds[0].shared, None, float(weights.sum())
    if shared.start is not None:
        start = total * np.asarray(shared.start) + shared.raw_offset(offset)
    elif abs(total - 1.0) > 1e-12 or np.any(offset):
        raise ValueError(
            "Rounds on top of an `init` estimator fit into one booster only if their "
            f"weights sum to one. Got {total:g}, and the offset {offset}; keep the "
            "committee instead."
        )
    return rounds[0].rebuild([rounds[int(m)] for m in kept], weights[kept], start)


class Rebuilt:
    """The booster of weighted rounds, which predicts in one call."""

    def __init__(self, rounds: Sequence[Any], weights: FloatArray) -> None:
        self.first = rounds[0]
        self.booster = rebuild(rounds, weights)
        self.total = float(np.sum(weights))

    def __call__(self, X: Any) -> FloatArray:
        """Return sum_m w_m F_m, of shape (N,) or (N, K)."""
        raw = np.asarray(self.first.predict_raw(self.booster, X), dtype=np.float64)
        f: FloatArray = self.first.shared.predictions(raw.reshape(len(raw), -1))
        if f.ndim == 2:
            # sum_m w_m F_m sums to sum w over the classes; `predictions` to one.
            f += (self.total - 1.0) / f.shape[1]
        return f


def rebuilt(members: Sequence[Member], weights: FloatArray) -> Rebuilt | None:
    """Return the booster of weighted rounds; None for other members, or without one.

    If start depends on x, there is a booster only for weights that sum to one.
    """
    if not all(isinstance(member, Round) for member in members):
        return None
    try:
        return Rebuilt(members, weights)
    except ValueError:
        return None


@dataclass(frozen=True)
class Losses:
    """Losses of a library, by what the sum of rounds is."""

    #: Name of the library's option for the loss.
    option: str
    #: Losses whose rounds add up to the prediction.
    regression: AbstractSet[str]
    #: Losses whose rounds add up to log odds.
    classification: AbstractSet[str]
    #: Losses whose rounds add up to the prediction, but cannot be weighed again.
    unweighable: AbstractSet[str] = frozenset({"quantile"})

    def classes(self, model: Any, loss: str, n_classes: int = 0) -> Any:
        """Return the classes, or None for regression.

        A library's own Booster has no labels: its classes are the codes of `n_classes`,
        which may be 0 or 1 for two classes. Raise ValueError for a loss whose rounds
        cannot be weighed.
        """
        bare = not hasattr(model, "fit")
        if loss in self.regression and (bare or is_regressor(model)):
            return None
        if loss in self.classification and (bare or is_classifier(model)):
            return np.arange(max(2, n_classes)) if bare else model.classes_
        reason = "they add up to its predictions neither directly nor as log odds"
        if "quantile" in loss.lower():
            reason = "weights for the mean would not keep the quantile"
        raise refusal(model, self.option, loss, reason)

    def check_sum(self, model: Any, loss: str, *, plain: bool = True) -> None:
        """Raise ValueError if trees do not add up to the predictions or to log odds."""
        known = self.regression | self.classification | self.unweighable
        if loss not in known or not plain:
            raise ValueError(
                "to_onnx supports boosters whose trees sum to the prediction or the "
                "log-odds and that encode missing values as NaN. Got a "
                f"{type(model).__name__} with {self.option}={loss!r}."
            )


def refusal(model: Any, option: str, value: Any, reason: str) -> ValueError:
    """Return the error with the option that prevents weighing, and the reason."""
    return ValueError(
        f"The rounds of a {type(model).__name__} with {option}={value!r} cannot be "
        f"re-weighed: {reason}. Train it with plain boosting and squared error, "
        "absolute error or Huber loss, or for classes log loss."
    )
