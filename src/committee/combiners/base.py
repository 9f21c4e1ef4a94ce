"""The contract of all combiners: F and y in, one weight for each member out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

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
from committee.diagnostics.correlation import scaled_error_correlation
from committee.predictions import as_probabilities, combine


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

    def error_correlation(self) -> tuple[FloatArray, float]:
        """Return C in squared units of the errors, and the unit."""
        return scaled_error_correlation(
            self.F, self.y, self.held_out, self.sample_weight
        )

    def centred_targets(self) -> FloatArray:
        """Return y as (N, 1), or one-hot targets minus 1/K as (N, K)."""
        if self.n_classes is None:
            return np.asarray(self.y, dtype=np.float64)[:, None]
        K = self.n_classes
        centred: FloatArray = (self.y[:, None] == np.arange(K)) - 1.0 / K
        return centred


class Combiner(ABC, BaseEstimator):
    """Base class of everything that weighs or prunes members.

    A subclass writes `_weigh(problem)`, which returns the weights and may store
    what else it learned. Combiners see predictions, never X or an estimator.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    #: False for a combiner that looks at nothing but the number of members.
    needs_rows: ClassVar[bool] = True

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
            become the members' names.
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
        names, F = F, check_predictions(F)
        validate_data(self, names, reset=False, skip_check_array=True)
        K = F.shape[2] if F.ndim == 3 else None
        if self._n_classes != K:
            raise ValueError(
                f"This {type(self).__name__} was fitted on F of shape "
                f"{_shape(self._n_classes)}. Got shape {F.shape}."
            )
        return combine(F, self.weights_)


def _shape(n_classes: int | None) -> str:
    """Return the shape of F in words."""
    return "(N, M)" if n_classes is None else f"(N, M, {n_classes})"
