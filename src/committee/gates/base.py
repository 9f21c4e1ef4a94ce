"""The contract of all gates: X, F and y in, weights of every member at every x out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray
from committee._validation import (
    check_columns,
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
    fit_context,
    safe_indexing,
)
from committee.predictions import weighted_by_row
from committee.votes import Votes


class Gate(ABC, BaseEstimator):
    """Base class of weights that depend on x.

        f_ens(x) = sum_m g_m(x) f_m(x),    g_m(x) >= 0,  sum_m g_m(x) = 1

    A subclass writes `_learn(Z, problem)` and `_weigh(Z, F)`, where Z are the columns
    that the gate looks at, with mean zero and variance one on the rows of the fit.

    Parameters
    ----------
    columns : list of column numbers or names, optional
        What the gate looks at: all columns of X unless given. They must hold numbers,
        and no missing ones.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"columns": ["array-like", None]}

    #: Whether `weights` takes the members' standard deviations, std (N, M).
    needs_std: ClassVar[bool] = False

    columns: Any
    n_members_: int
    _centre: FloatArray
    _scale: FloatArray

    @property
    def fits_on_std(self) -> bool:
        """Whether `fit` takes them too, on rows that the members have not seen."""
        return False

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        F: Any,
        y: Any,
        *,
        held_out: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn which member is to be trusted where.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M) or (N, M, K)
            What the members predict for these rows, which they must not have seen:
            held out, cross-fitted or fresh.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        held_out : bool array of shape (N, M), optional
            True where the member did not train on the row; elsewhere it abstains.
        sample_weight : array of shape (N,), optional
            Only ratios matter.

        Returns
        -------
        self
        """
        X, problem = usable(*self._checked_rows(X, F, y, held_out, sample_weight))
        self._centre, self._scale = centre_and_scale(X, problem.row_weights)
        self.n_members_ = problem.n_members
        self._n_classes = problem.n_classes
        self._learn(self._scaled(X), problem)
        return self

    def _checked_rows(
        self, X: Any, F: Any, y: Any, held_out: Any, sample_weight: Any
    ) -> tuple[FloatArray, Votes]:
        """Return what the gate sees of X, and F, y, the mask and row weights."""
        X, F = self._inputs(X, reset=True), check_predictions(F)
        if len(X) != len(F):
            raise ValueError(
                f"X and F must have the same rows. Got {len(X)} rows of X and {len(F)} "
                "of F."
            )
        return X, Votes(
            F,
            check_targets(F, y),
            check_held_out(held_out, F.shape),
            check_sample_weight(sample_weight, F),
        )

    def weights(self, X: Any, F: Any = None) -> FloatArray:
        """Return g(x), the weights of the members at every x.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M) or (N, M, K), optional
            What the members predict there, for gates that look at it.

        Returns
        -------
        G : array of shape (N, M)
            Not negative; rows sum to one.
        """
        check_is_fitted(self)
        X = self._inputs(X, reset=False)
        return self._weigh(self._scaled(X), None if F is None else self._checked(X, F))

    def combine(self, X: Any, F: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x).

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M) or (N, M, K)

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        """
        F = check_predictions(F)
        return weighted_by_row(F, self.weights(X, F))

    def check_inputs(self, X: Any) -> None:
        """Refuse X that the gate cannot look at, before members are trained.

        X is an array-like or frame of shape (N, n_features).
        """
        clone(self)._inputs(X, reset=True)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has been called."""
        return hasattr(self, "n_members_")

    @abstractmethod
    def _learn(self, Z: FloatArray, problem: Votes) -> None:
        """Learn from Z (N, d) and F, y, the mask and row weights."""

    @abstractmethod
    def _weigh(self, Z: FloatArray, F: FloatArray | None) -> FloatArray:
        """Return G (N, M)."""

    def _inputs(self, X: Any, *, reset: bool) -> FloatArray:
        """Return the columns that the gate looks at, as numbers."""
        if hasattr(X, "shape") or hasattr(X, "columns"):
            check_columns(self, X, reset=reset)
        else:
            X = check_columns(self, X, reset=reset)
        try:
            if self.columns is not None:
                X = safe_indexing(X, list(self.columns), axis=1)
            return check_array(X, dtype=np.float64, input_name="X")  # type: ignore[no-any-return]
        except (IndexError, KeyError) as error:
            raise ValueError(
                f"columns must be some of the {self.n_features_in_} columns of X, by "
                f"number or by name. Got {self.columns!r}."
            ) from error
        except (TypeError, ValueError) as error:
            error.add_note(
                f"{type(self).__name__} looks at X itself: name columns of finite "
                f"numbers, {type(self).__name__}(columns=[...])."
            )
            raise

    def _scaled(self, X: FloatArray) -> FloatArray:
        Z: FloatArray = (X - self._centre) / self._scale
        return Z

    def _checked(self, X: FloatArray, predictions: Any) -> FloatArray:
        """Return F once it has the rows of X, and the members and classes of the fit."""
        F = check_predictions(predictions)
        K = () if self._n_classes is None else (self._n_classes,)
        wanted = (len(X), self.n_members_, *K)
        if F.shape != wanted:
            raise ValueError(
                f"F must have shape {wanted}: the rows of X, and the members that this "
                f"{type(self).__name__} was fitted on. Got shape {F.shape}."
            )
        return F


def centre_and_scale(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns, of rows with weights s.

    A constant column says nothing, and rounding must not make it: its scale is one.
    """
    centre = np.average(X, axis=0, weights=s)
    spread = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=s))
    return centre, np.where(spread <= 1e-12 * np.abs(centre), 1.0, spread)


def usable(X: FloatArray, problem: Votes) -> tuple[FloatArray, Votes]:
    """Leave out rows of weight zero, and those on which every member abstains."""
    use = problem.row_weights > 0
    if problem.held_out is not None:
        use &= problem.held_out.any(axis=1)
    if use.all():
        return X, problem
    if not use.any():
        raise ValueError(
            "No row has both a positive sample_weight and a member that did not train "
            "on it: nothing is known about the members' errors. Give rows that the "
            "members have not seen."
        )
    return X[use], problem.at(use)
