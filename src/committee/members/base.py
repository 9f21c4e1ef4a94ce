"""Base classes of generators, and the records that they take and return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight

from committee._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Member,
    Output,
    RandomState,
)
from committee._validation import (
    check_sample_weight,
    count_of,
    index_params,
    safe_indexing,
)


@dataclass(frozen=True)
class TrainingData:
    """Checked rows that members are trained on.

    Attributes
    ----------
    X : array, sparse matrix or data frame with N rows
        Passed to the members unchanged. None if only the targets are at hand.
    y : array of shape (N,)
        Targets, or class codes 0..K-1.
    n_classes : int or None
        K, or None for regression.
    sample_weight : array of shape (N,) or None
    fit_params : dict
        Metadata for every member's `fit`; entries of length N are indexed by its rows.
    labels : array of shape (K,) or None
        Labels of the class codes, if known.
    """

    X: Any
    y: FloatArray | IntArray
    n_classes: int | None
    sample_weight: FloatArray | None = None
    fit_params: dict[str, Any] = field(default_factory=dict)
    labels: Any = None

    #: False for `ChunkedData`, whose rows are in many places.
    in_memory: ClassVar[bool] = True

    def __len__(self) -> int:
        """N."""
        return len(self.y)

    @property
    def classes(self) -> IntArray | None:
        """The class codes, or None for regression."""
        return None if self.n_classes is None else np.arange(self.n_classes)

    def empty_predictions(self) -> FloatArray:
        """Return zeros for one member's predictions, (N,) or (N, K)."""
        shape = () if self.n_classes is None else (self.n_classes,)
        return np.zeros((len(self), *shape))


@dataclass(frozen=True)
class Sample:
    """The rows that one member trains on, each at most once."""

    rows: IntArray
    #: One for each row: integers are counts of repeated rows, floats are weights.
    weights: FloatArray | IntArray | None = None

    @classmethod
    def of(cls, rows: IntArray, data: TrainingData) -> Self:
        """Return these rows with their sample weights, if there are any."""
        s = data.sample_weight
        return cls(rows, None if s is None else s[rows])

    @classmethod
    def drawn(cls, rows: IntArray, n_rows: int) -> Self:
        """Return rows drawn with replacement from N, as distinct rows with counts."""
        counts = np.bincount(rows, minlength=n_rows)
        distinct = np.flatnonzero(counts)
        return cls(distinct, counts[distinct])


def n_drawn(max_samples: float, n_rows: int) -> int:
    """Return how many of N rows to draw: a number, or a share, of at least one row."""
    n = count_of(max_samples, n_rows)
    if n > n_rows:
        raise ValueError(
            f"max_samples={max_samples} rows cannot be drawn from n_samples={n_rows}. "
            "Use at most this number, or a fraction between 0 and 1."
        )
    return n


@dataclass(frozen=True)
class Generation:
    """Trained members, and predictions to weigh them on.

    Attributes
    ----------
    members : list of fitted estimators
    F : array of shape (N, M) or (N, M, K), or None
        Predictions to weigh the members on; None if not requested, or if every member
        was trained on all rows.
    held_out : bool array of shape (N, M) or None
        True where the member did not train on the row. None for a cross-fitted F, all
        entries of which are held out.
    weights : array of shape (M,) or None
        Weights of the method, such as AdaBoost's; None for equal weights.
    names : list of str or None
        Names of the members, if they have names.
    rows : int array or None
        Numbers of the rows of F; None for all rows.
    """

    members: list[Member]
    F: FloatArray | None = None
    held_out: BoolArray | None = None
    weights: FloatArray | None = None
    names: list[str] | None = None
    rows: IntArray | None = None


@dataclass(frozen=True)
class GenerateOptions:
    """The options of `Generator.generate`."""

    held_out: bool = True
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: bool = False


class Generator(ABC, BaseEstimator):
    """Base class of generators.

    A generator has parameters only, so that it can be cloned and tuned; `generate` does
    not change it.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    #: Entries of F for classifiers: probabilities ("soft") or one-hot votes ("hard").
    output: ClassVar[Output] = "soft"
    #: Depth of the default tree of a committee without an estimator; None for no limit.
    default_depth: ClassVar[int | None] = None
    #: Whether members are weighed on rows that they did not train on.
    leaves_rows_out: ClassVar[bool] = True

    def has_unseen_rows(self, estimator: Member | None) -> bool:
        """Return True if held-out predictions need no training beyond the members."""
        return False

    def default_member(self, tree: Any) -> Member:
        """Return the default estimator: a decision tree."""
        return tree(max_depth=self.default_depth)

    @abstractmethod
    def generate(
        self,
        estimator: Member,
        data: TrainingData,
        *,
        held_out: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> Generation:
        """Train the members.

        Parameters
        ----------
        estimator : scikit-learn estimator
            Cloned for each member.
        data : TrainingData
        held_out : bool
            Whether to predict the rows that each member did not train on.
        n_jobs : int, default=None
            Number of members trained in parallel, through joblib.
        random_state : int, RandomState instance or None, default=None
            Results do not depend on `n_jobs`.
        verbose : bool
            Whether to show a progress bar on standard error.

        Returns
        -------
        Generation
        """


def with_class_weight(data: TrainingData, class_weight: Any) -> TrainingData:
    """Return the rows with weights s_n c(y_n), c by label or "balanced".

    balanced:  c(k) = N / (K N_k)
    """
    s = compute_sample_weight(class_weight, np.asarray(data.labels)[data.y])
    if data.sample_weight is not None:
        s = s * data.sample_weight
    return replace(data, sample_weight=check_sample_weight(s, s))


class Asked(NamedTuple):
    """Arguments of a generator that trains members in batches."""

    estimator: Member
    data: TrainingData
    size: int
    how: GenerateOptions


class BatchedGenerator(Generator):
    """Base class of generators that can train members in batches.

    A subclass implements `batches`.
    """

    n_members: int

    @abstractmethod
    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of a size."""

    def generate(
        self, estimator: Member, data: TrainingData, **options: Any
    ) -> Generation:
        """Train the members; see `Generator.generate`."""
        asked = Asked(estimator, data, self.n_members, GenerateOptions(**options))
        # Exhaust the iterator, so that the progress bar ends.
        (batch,) = self.batches(asked)
        return batch


def draw_seeds(random_state: np.random.RandomState, n: int) -> IntArray:
    """Return n integer seeds."""
    return random_state.randint(np.iinfo(np.int32).max, size=n)


def split_off(
    data: TrainingData, fraction: float, rng: np.random.RandomState
) -> tuple[TrainingData, TrainingData]:
    """Split off a fraction of the rows to weigh on; return training rows first."""
    check_fraction(fraction, len(data))
    train, weighing = split_rows(data, fraction, int(draw_seeds(rng, 1)[0]))
    return take(data, train), take(data, weighing)


def check_fraction(fraction: float, n_rows: int) -> None:
    """Raise ValueError if a fraction leaves no rows to weigh on or to train on."""
    if not 1 <= round(fraction * n_rows) <= n_rows - 1:
        raise ValueError(
            f"weigh_on={fraction:g} of {n_rows} rows (n_samples={n_rows}) leaves "
            "nothing to weigh on, or nothing to train on."
        )


def split_rows(
    data: TrainingData, fraction: float, seed: int
) -> tuple[IntArray, IntArray]:
    """Return row numbers to train on and to weigh on, stratified by class."""
    K, smaller_part = data.n_classes, min(fraction, 1 - fraction) * len(data)
    few = K is None or np.bincount(data.y).min() < 2 or smaller_part < K
    train, weighing = train_test_split(
        np.arange(len(data)),
        test_size=float(fraction),
        random_state=seed,
        stratify=None if few else data.y,
    )
    return np.sort(train), np.sort(weighing)


def take(data: TrainingData, rows: IntArray) -> TrainingData:
    """Return the data of these rows, in this order."""
    s = data.sample_weight
    return TrainingData(
        safe_indexing(data.X, rows),
        data.y[rows],
        data.n_classes,
        None if s is None else s[rows],
        index_params(data.X, data.fit_params, indices=rows),
    )
