"""`predict_interval` and `predict_set` of committees."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from committee._typing import BoolArray, FloatArray
from committee.distributed.collections import lazy_rows
from committee.predictions import weighted_sum
from committee.uncertainty.intervals import (
    check_coverage,
    constant_interval,
    jackknife_plus_interval,
    member_spread,
    rank,
    scaled_interval,
)
from committee.uncertainty.sets import SCORES, class_sets
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores

INTERVALS = ("scaled", "constant", "jackknife+")

_NO_ROWS = (
    "{name} needs held-out rows, and this committee stores none. Fit it with "
    "uncertainty=True, or use the committee that prune(ensemble, X, y) or path_.choose() "
    "returned, before it was saved."
)


class KeepsHeldOutRows:
    """A committee with residuals or scores of held-out rows, computed on first use."""

    def _known_rows(self) -> Any:
        """Return residuals or scores of held-out rows; None if there are none."""
        if "_held_out_rows" not in self.__dict__ and hasattr(self, "path_"):
            found = self.path_.assessment.held_out_rows(self)
            if found is not None:
                self._held_out_rows = found
        return self.__dict__.get("_held_out_rows")

    @property
    def has_held_out_rows(self) -> bool:
        """True if `predict_interval` or `predict_set` has held-out rows to use."""
        check_is_fitted(self)
        return self._known_rows() is not None

    def _check_asked(self, name: str, coverage: Any, method: str, methods: Any) -> Any:
        """Check the arguments and return the residuals or scores. Raises ValueError."""
        known = self.has_held_out_rows
        check_coverage(coverage)
        if method not in methods:
            allowed = ", ".join(map(repr, methods))
            raise ValueError(f"method must be one of {allowed}. Got {method!r}.")
        if not known:
            raise ValueError(_NO_ROWS.format(name=name))
        return self._known_rows()

    def __getstate__(self) -> Any:
        """Compute residuals or scores before the rows of `path_` are left out of a copy."""
        known = self._known_rows()
        state: Any = super().__getstate__()
        return state if known is None else {**state, "_held_out_rows": known}

    def __delattr__(self, name: str) -> None:
        """Compute residuals or scores before the rows of `path_` are deleted."""
        if name == "path_":
            self._known_rows()
        super().__delattr__(name)


class IntervalMixin(KeepsHeldOutRows):
    """`predict_interval` for regressors."""

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "scaled"
    ) -> FloatArray:
        """Return an interval for the target of each row.

        It is computed from residuals R of held-out rows, so no further data are needed.
        Committees made by `prune` store these rows, and so do committees fitted with
        `uncertainty=True`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            For a Dask array or frame the result is a lazy Dask array.
        coverage : float, default=0.9
            Fraction of targets to cover, above 0 and below 1. With n held-out rows it
            can be at most n / (n + 1).
        method : {"scaled", "constant", "jackknife+"}, default="scaled"
            "scaled": wider where members differ. "constant": f(x) -+ a quantile of R, as
            fast as `predict`. "jackknife+": jackknife+ after bootstrap, for large
            committees whose members leave rows out; for others it is wider than
            necessary, or the same as "constant", as behind a gate.
            `committee.uncertainty` has the equations.

        Returns
        -------
        interval : array of shape (N, 2)
            Lower and upper ends.
        """
        known = self._check_asked("predict_interval", coverage, method, INTERVALS)
        R = known.residual
        if method == "jackknife+" and known.mask is not None:
            R, _ = known.unseen(self.weights_)  # type: ignore[attr-defined]
        rank(len(R), coverage)  # raises for too few rows before any work
        return self._interval(X, coverage=float(coverage), method=method)

    @lazy_rows(tail=lambda model: (2,))
    def _interval(self, X: Any, *, coverage: float, method: str) -> FloatArray:
        known: HeldOutResiduals = self._known_rows()
        model: Any = self
        if method == "constant" or (method == "jackknife+" and known.mask is None):
            return constant_interval(model.predict(X), known.residual, coverage)
        F = model.member_predictions(X)
        w, b = model._member_weights(X, F), model._as_roster().offset
        if method == "jackknife+":
            R, mask = known.unseen(w)
            interval: FloatArray = b + jackknife_plus_interval(F, w, R, mask, coverage)
            return interval
        f, s = b + weighted_sum(F, w), member_spread(F, w)
        return scaled_interval(f, s, known.residual, known.spread, coverage)


class SetMixin(KeepsHeldOutRows):
    """`predict_set` for classifiers."""

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        method: str = "lac",
        by_class: bool = False,
    ) -> BoolArray:
        """Return a set of likely classes for each row.

        Sets are computed from the probabilities of held-out rows, so no further data
        are needed. Committees made by `prune` store these rows, and so do committees
        fitted with `uncertainty=True`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            For a Dask array or frame the result is a lazy Dask array.
        coverage : float, default=0.9
            Fraction of rows whose set contains the true class, above 0 and below 1.
        method : {"lac", "aps"}, default="lac"
            "lac": least ambiguous sets, the smallest on average. "aps": adaptive sets,
            larger for ambiguous rows. `committee.uncertainty.sets` has the equations.
        by_class : bool, default=False
            Whether to reach the coverage within each class, including rare ones, rather
            than over all rows. Sets are then larger. A class with fewer than coverage /
            (1 - coverage) held-out rows is in every set.

        Returns
        -------
        sets : bool array of shape (N, K)
            Columns in the order of `classes_`; at least one True in a row.
        """
        known = self._check_asked("predict_set", coverage, method, SCORES)
        if not by_class:
            rank(len(known.lac), coverage)  # raises for too few rows
        return self._class_sets(
            X, coverage=float(coverage), method=method, by_class=by_class
        )

    @lazy_rows(tail=lambda model: (len(model.classes_),), dtype=lambda model: bool)
    def _class_sets(
        self, X: Any, *, coverage: float, method: str, by_class: bool
    ) -> BoolArray:
        known: HeldOutScores = self._known_rows()
        p = self.predict_proba(X)  # type: ignore[attr-defined]
        y = known.y if by_class else None
        return class_sets(SCORES[method](p), p, getattr(known, method), coverage, y)
