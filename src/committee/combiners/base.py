"""The contract of all combiners: F and y in, one weight for each member out."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray
from committee._validation import check_predictions, column_names, fit_context
from committee.distributed.collections import lazy_rows
from committee.predictions import combine
from committee.probabilities import as_probabilities, pooled_terms
from committee.votes import Votes, votes_of


def for_all(values: Any, members: IntArray, n_members: int, other: float = 0.0) -> Any:
    """Return values of some members, on the last axis, with `other` for the rest."""
    result = np.full((*values.shape[:-1], n_members), other, dtype=values.dtype)
    result[..., members] = values
    return result


def _output_axes(combiner: Combiner) -> tuple[int, ...]:
    return () if combiner._n_classes is None else (combiner._n_classes,)


class Combiner(ABC, BaseEstimator):
    """Base class of everything that weighs or prunes members.

    A subclass writes `_weigh(votes)`, which returns the weights and may store other
    fitted attributes. Combiners see predictions, never X or an estimator.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    #: False for a combiner that uses only the number of members.
    needs_rows: ClassVar[bool] = True

    #: True for a combiner that needs only sums over rows.
    takes_chunks: ClassVar[bool] = False

    #: False if five more fits take more than a fifth of the time of a bag of trees.
    refits_fast: ClassVar[bool] = True

    #: Why a combiner needs all rows at once; follows the class name in the error.
    needs_all: ClassVar[str] = "has to see all rows at once"

    #: Fitted attributes (M,), with their value for a member without votes.
    _by_member: ClassVar[dict[str, float]] = {}

    #: Fitted attributes that hold member numbers.
    _numbers: ClassVar[tuple[str, ...]] = ()

    #: The least probability whose logarithm is weighed; None where F itself is.
    floor_: float | None = None
    #: b_k, which `combine` adds to the weighted sums of a log pool, (K,); None without.
    offsets_: FloatArray | None = None
    #: b, which `combine` adds to the weighted sums of a regression.
    intercept_: float = 0.0

    weights_: FloatArray
    #: Only of combiners that have one.
    path_: Any
    n_features_in_: int
    #: Of all members: set by a committee whose members have names.
    member_names_: list[str]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, F: Any, y: Any, *, held_out: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the members' weights.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
            Predictions of M members on N rows; for classification votes or
            probabilities, classes on the last axis. Columns of a data frame become the
            members' names. Combiners that need only sums over rows also take a Dask
            array or frame, chunk by chunk on the workers.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        held_out : bool array of shape (N, M), default=None
            True where the member did not train on the row; elsewhere it abstains. None
            means that every member votes on every row. A member that abstains on every
            row gets weight zero, except from `Average`.
        sample_weight : array-like of shape (N,), default=None
            Sample weights. Only their ratios matter, except for combiners with a
            likelihood (`EPPruner`, `ARDPruner`, `EMPruner`, `MCMCPruner`), where a
            weight counts as a number of rows.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        votes = votes_of(self, F, y, held_out, sample_weight).with_weight()
        M = votes.n_members
        if self.needs_rows:
            votes = votes.with_votes()
        weights, members = self._weigh(votes), votes.numbers
        if members is not None:
            weights = for_all(weights, members, M)
            self._renumber(members, M)
        self.weights_ = weights
        if hasattr(self, "path_"):
            self.path_ = self.path_.at(weights)
        self._n_classes = votes.n_classes
        return self

    def _renumber(self, members: IntArray, n_members: int) -> None:
        """Translate what a fit on some of the members has stored to all of them."""
        for name, value in self._by_member.items():
            if hasattr(self, name):
                found = for_all(getattr(self, name), members, n_members, value)
                setattr(self, name, found)
        for name in self._numbers:
            setattr(self, name, members[getattr(self, name)])
        if hasattr(self, "path_"):
            weights = for_all(self.path_.weights, members, n_members)
            self.path_ = replace(self.path_, weights=weights)

    def copy_for(self, pool: str) -> Self:
        """Return an unfitted copy, with pool="auto" replaced by "votes" or "log"."""
        made: Self = clone(self)
        if made.get_params(deep=False).get("pool") == "auto":
            made.set_params(pool=pool)
        return made

    @property
    def pool_(self) -> str:
        """Return "votes" if F is weighed, "log" if its logarithms are."""
        return "votes" if self.floor_ is None else "log"

    def check_chunks(self, n_classes: int | None) -> None:
        """Raise ValueError if the combiner cannot be fitted on Dask collections.

        n_classes is K, or None for regression.
        """
        if not self.takes_chunks or self._sees_all(n_classes):
            raise ValueError(
                f"{type(self).__name__} {self.needs_all} and does not support Dask "
                "collections: call compute() on them, or use ARDPruner, EPPruner, "
                "LeastSquares or SimplexWeights."
            )

    def _sees_all(self, n_classes: int | None) -> bool:
        """Return True if this kind of problem needs all rows at once."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        """Return True if the last fit succeeded."""
        return hasattr(self, "weights_")

    @abstractmethod
    def _weigh(self, votes: Votes) -> FloatArray:
        """Return the weights, (M,)."""

    @property
    def offset(self) -> FloatArray | float:
        """Offset of the weighted sums: `offsets_` or `intercept_`."""
        return self.intercept_ if self.offsets_ is None else self.offsets_

    @property
    def support_(self) -> IntArray:
        """Indices of the members with a nonzero weight."""
        check_is_fitted(self)
        return np.flatnonzero(self.weights_)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Turn combined scores into class probabilities.

            p_k ~ max(s_k, 0),    or softmax_k(s) of a log pool

        Parameters
        ----------
        scores : array of shape (N, K)
            b + sum_m w_m f_m, as `combine` returns it.

        Returns
        -------
        p : array of shape (N, K)
            Largest where the score is largest.
        """
        if self.floor_ is None:
            return as_probabilities(scores)
        p: FloatArray = softmax(scores, axis=1)
        return p

    def linked(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that a committee calibrates."""
        return self.probabilities(scores)

    @lazy_rows(tail=_output_axes)
    def combine(self, F: Any) -> FloatArray:
        """Return the committee's output, b + sum_m w_m f_m.

        b is `offsets_` or `intercept_`, zero for most combiners. A log pool sums the
        logarithms of f_m.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        """
        check_is_fitted(self)
        frame, F = F, check_predictions(F)
        self.check_members(frame if hasattr(frame, "columns") else F)
        K = F.shape[2] if F.ndim == 3 else None
        if self._n_classes != K:
            fitted = (
                "(N, M)" if self._n_classes is None else f"(N, M, {self._n_classes})"
            )
            raise ValueError(
                f"This {type(self).__name__} was fitted on F of shape {fitted}. "
                f"Got shape {F.shape}."
            )
        return combine(pooled_terms(F, self.floor_), self.weights_) + self.offset

    def check_members(self, F: Any) -> None:
        """Raise ValueError if the number or names of members differ from those in `fit`.

        The checks are those of `validate_data`, whose messages would mention features.
        F is an array or a frame of shape (n, M) or (n, M, K).
        """
        names, n_members = column_names(F), F.shape[1]
        combiner = f"this {type(self).__name__}"
        fitted = getattr(self, "feature_names_in_", None)
        if fitted is not None and names is not None:
            if list(names) != list(fitted):
                raise ValueError(
                    f"F must have the members that {combiner} was fitted on, in the "
                    f"same order. {_difference(list(fitted), list(names))}"
                )
        elif fitted is not None or names is not None:
            has, was = ("no ", "") if names is None else ("", "out")
            warnings.warn(
                f"F has {has}member names, but {combiner} was fitted with{was} names: "
                "columns are matched by position.",
                UserWarning,
                stacklevel=4,
            )
        if n_members != self.n_features_in_:
            raise ValueError(
                f"F has {n_members} members, but {combiner} was fitted on "
                f"{self.n_features_in_}. Pass one column for each of them, in the "
                "order used in fit."
            )


def _difference(fitted: list[str], names: list[str]) -> str:
    """Return which names are new and which are missing, ten of each at most."""
    new = [name for name in names if name not in set(fitted)]
    missing = [name for name in fitted if name not in set(names)]
    if not new and not missing:
        return f"Got another order: {names[:10]}."
    return f"Members not seen at fit: {new[:10]}; members missing: {missing[:10]}."
