"""The contract of all combiners: F and y in, one weight for each member out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
    fit_context,
)
from committee.diagnostics.correlation import (
    MomentSums,
    WeightSums,
    correlation_of,
    largest_error,
    moment_sums,
)
from committee.distributed import is_dask, map_rows
from committee.predictions import combine
from committee.probabilities import as_probabilities


@dataclass(frozen=True)
class Problem:
    """Checked inputs of a combiner.

    Attributes
    ----------
    F : array of shape (N, M) or (N, M, K)
    y : array of shape (N,)
        Floats, or class codes 0..K-1.
    held_out : bool array of shape (N, M) or None
        None where every member speaks on every row.
    sample_weight : array of shape (N,) or None
    """

    F: FloatArray
    y: FloatArray | IntArray
    held_out: BoolArray | None
    sample_weight: FloatArray | None

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.F.shape[1])

    @property
    def n_classes(self) -> int | None:
        """K, or None for regression."""
        return int(self.F.shape[2]) if self.F.ndim == 3 else None

    def counted(self) -> Problem:
        """Return the problem without rows of weight zero."""
        s = self.sample_weight
        if s is None or np.all(s > 0):
            return self
        rows = s > 0
        held_out = None if self.held_out is None else self.held_out[rows]
        return Problem(
            self.F[rows],
            self.y[rows],
            check_held_out(held_out, self.F[rows].shape),
            s[rows],
        )

    @property
    def masked(self) -> bool:
        """Whether members abstain on some rows."""
        return self.held_out is not None

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.sample_weight is not None

    def total(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return function(problem, *args), a sum over rows.

        The function sees a problem with some of the rows, and what it returns has a
        method `plus` or can be added; here all rows are together.
        """
        return function(self, *args)

    def aside(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return `total` of a function that does not look at F."""
        return function(self, *args)

    def mean_weight(self) -> float:
        """Return the mean row weight, 1 where rows have none."""
        if not self.weighted:
            return 1.0
        total, n_rows = self.aside(weight_and_rows)
        return float(total / n_rows)

    def error_correlation(self) -> tuple[FloatArray, float]:
        """Return C in squared units of the errors, and the unit."""
        weights = self.aside(_weight_sums) if self.weighted else None
        return correlation_of(
            lambda scale: self.total(_moment_sums, weights, scale),
            lambda: self.total(_largest_error).value,
        )

    def centred_targets(self) -> FloatArray:
        """Return y as (N, 1), or one-hot targets minus 1/K as (N, K)."""
        if self.n_classes is None:
            return np.asarray(self.y, dtype=np.float64)[:, None]
        K = self.n_classes
        centred: FloatArray = (self.y[:, None] == np.arange(K)) - 1.0 / K
        return centred


class Largest(NamedTuple):
    """The largest of some numbers, or of each column; its sum is that of all."""

    value: Any

    def plus(self, other: Largest) -> Largest:
        """Return the larger of both."""
        return Largest(np.maximum(self.value, other.value))


class Sums(tuple[Any, ...]):
    """Several sums over the same rows, of one pass."""

    def plus(self, other: Sums) -> Sums:
        """Add each to its like."""
        return Sums(
            one.plus(two) if hasattr(one, "plus") else one + two
            for one, two in zip(self, other, strict=True)
        )


def weight_and_rows(problem: Problem) -> FloatArray:
    """Return the total weight and the number of rows."""
    assert problem.sample_weight is not None
    return np.array([problem.sample_weight.sum(), len(problem.sample_weight)])


def _weight_sums(problem: Problem) -> WeightSums:
    assert problem.sample_weight is not None
    return WeightSums.of(problem.sample_weight)


def _moment_sums(
    problem: Problem, weights: WeightSums | None, scale: float
) -> MomentSums:
    s = problem.sample_weight
    if weights is not None and s is not None:
        s = weights.effective(s)
    return moment_sums(problem.F, problem.y, problem.held_out, s, scale)


def _largest_error(problem: Problem) -> Largest:
    return Largest(largest_error(problem.F, problem.y, problem.held_out))


class Combiner(ABC, BaseEstimator):
    """Base class of everything that weighs or prunes members.

    A subclass writes `_weigh(problem)`, which returns the weights and may store
    what else it learned. Combiners see predictions, never X or an estimator.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    #: False for a combiner that looks at nothing but the number of members.
    needs_rows: ClassVar[bool] = True

    #: True for a combiner that asks a problem for nothing but sums over its rows.
    takes_chunks: ClassVar[bool] = False

    #: What a combiner does that sums over chunks cannot, after the name of its class.
    needs_all: ClassVar[str] = "has to see all rows at once"

    weights_: FloatArray

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, F: Any, y: Any, *, held_out: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the members' weights.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
            Predictions of M members on N rows; for classification votes or
            probabilities, classes on the last axis. Columns of a data frame
            become the members' names. A Dask array or frame is weighed chunk by
            chunk where it lies, by combiners that need only sums over rows.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        held_out : bool array of shape (N, M), optional
            True where the member did not train on the row; elsewhere it
            abstains. All rows count unless given.
        sample_weight : array of shape (N,), optional
            Only ratios matter, except to combiners with a likelihood (`EPPruner`,
            `ARDPruner`, `EMPruner`, `MCMCPruner`): there a weight counts as a number
            of rows.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        if is_dask(F, y, held_out, sample_weight):
            problem = self._chunked(F, y, held_out, sample_weight)
        else:
            names, F = F, check_predictions(F)
            validate_data(self, names, skip_check_array=True)
            problem = Problem(
                F,
                check_targets(F, y),
                check_held_out(held_out, F.shape),
                check_sample_weight(sample_weight, F),
            )
        self.weights_ = self._weigh(problem.counted())
        self._n_classes = problem.n_classes
        return self

    def _chunked(self, F: Any, y: Any, held_out: Any, sample_weight: Any) -> Problem:
        """Return the problem of Dask collections, if this combiner can take it."""
        from committee.combiners.chunked_problem import chunked_problem

        if not is_dask(F):
            raise ValueError(
                "y, held_out or sample_weight is a Dask collection, but F is not: hand "
                "in F as one too, or compute() the others."
            )
        self.check_chunks(int(F.shape[2]) if len(F.shape) == 3 else None)
        problem = chunked_problem(F, y, held_out, sample_weight)
        names = F._meta if hasattr(F, "columns") else np.empty((1, F.shape[1]))
        validate_data(self, names, skip_check_array=True)
        return problem

    def check_chunks(self, n_classes: int | None) -> None:
        """Refuse Dask collections where sums over chunks are not enough.

        Parameters
        ----------
        n_classes : int or None
            K, or None for regression.
        """
        from committee.combiners.chunked_problem import refusal

        if not self.takes_chunks or self._sees_all(n_classes):
            raise refusal(self, self.needs_all)

    def _sees_all(self, n_classes: int | None) -> bool:
        """Whether this kind of problem needs all rows at once, unlike others."""
        return False

    @abstractmethod
    def _weigh(self, problem: Problem) -> FloatArray:
        """Return the weights, (M,)."""

    @property
    def support_(self) -> IntArray:
        """Members with a nonzero weight."""
        check_is_fitted(self, "weights_")
        return np.flatnonzero(self.weights_)

    @property
    def normalized_weights_(self) -> FloatArray:
        """The weights divided by their sum, for use as an average."""
        check_is_fitted(self, "weights_")
        w = self.weights_
        if abs(w.sum()) <= 1e-12 * np.abs(w).sum():
            raise ValueError(
                f"The weights sum to {w.sum():.3g} and cannot be scaled to sum one."
            )
        normalized: FloatArray = w / w.sum()
        return normalized

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Turn combined scores into class probabilities.

        Negative scores are cut at zero and rows scaled to sum one.

        Parameters
        ----------
        scores : array of shape (N, K)
            sum_m w_m F[:, m, :].

        Returns
        -------
        p : array of shape (N, K)
            Largest where the score is largest.
        """
        return as_probabilities(scores)

    def combine(self, F: Any) -> FloatArray:
        """Return the committee's output, sum_m w_m f_m.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        """
        check_is_fitted(self, "weights_")
        if is_dask(F):
            tail = () if self._n_classes is None else (self._n_classes,)
            return map_rows(_combine_block, F, tail, np.float64, self)  # type: ignore[no-any-return]
        names, F = F, check_predictions(F)
        validate_data(self, names, reset=False, skip_check_array=True)
        K = F.shape[2] if F.ndim == 3 else None
        if self._n_classes != K:
            raise ValueError(
                f"This {type(self).__name__} was fitted on F of shape "
                f"{_shape(self._n_classes)}. Got shape {F.shape}."
            )
        return combine(F, self.weights_)


def _combine_block(F: Any, combiner: Combiner) -> FloatArray:
    """Return the output on one block of rows, which may have none."""
    if len(F) == 0:
        return np.zeros((0, *F.shape[2:]))
    return Combiner.combine(combiner, F)


def _shape(n_classes: int | None) -> str:
    """Return the shape of F in words."""
    return "(N, M)" if n_classes is None else f"(N, M, {n_classes})"
