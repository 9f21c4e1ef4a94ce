"""`predict_interval` and `predict_set` of committees."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from committee._typing import BoolArray, FloatArray
from committee.distributed import lazy_rows
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
    "{name} needs rows that neither the members nor the weights have seen, and this "
    "committee keeps none: fit it with uncertainty=True, or take the one that "
    "prune(ensemble, X, y) returns, or that path_.choose() returns before it is saved."
)

_GATED = (
    "{name} is for weights that are the same for all rows, and this committee has a gate: "
    "fit it without, uncertainty=True, or ask the committee before with_gate."
)


class KeepsHeldOutRows:
    """A committee that knows its errors on held-out rows, found out on first use."""

    def _known_rows(self) -> Any:
        """Return residuals or scores of held-out rows; None where there are none."""
        if "_held_out_rows" not in self.__dict__ and hasattr(self, "path_"):
            found = self.path_.assessment.held_out_rows(self)
            if found is not None:
                self._held_out_rows = found
        return self.__dict__.get("_held_out_rows")

    @property
    def has_held_out_rows(self) -> bool:
        """Whether there are rows that neither members nor weights have seen."""
        check_is_fitted(self)
        return self._known_rows() is not None

    def _check_asked(self, name: str, coverage: Any, method: str, methods: Any) -> Any:
        """Return what is known, once the question makes sense."""
        known = self.has_held_out_rows
        check_coverage(coverage)
        if method not in methods:
            allowed = ", ".join(map(repr, methods))
            raise ValueError(f"method must be one of {allowed}. Got {method!r}.")
        if not known:
            gated = getattr(self, "gate_", None) is not None
            raise ValueError((_GATED if gated else _NO_ROWS).format(name=name))
        return self._known_rows()

    def __getstate__(self) -> Any:
        """Measure while the rows of `path_` are there: a copy has none."""
        known = self._known_rows()
        state: Any = super().__getstate__()
        return state if known is None else {**state, "_held_out_rows": known}

    def __delattr__(self, name: str) -> None:
        """Measure before the rows of `path_` are given up."""
        if name == "path_":
            self._known_rows()
        super().__delattr__(name)


class IntervalMixin(KeepsHeldOutRows):
    """Intervals for numbers."""

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "scaled"
    ) -> FloatArray:
        """Return an interval for the target of each row.

        It comes from residuals R of rows that neither the members nor the weights
        have seen; no further data are needed. A committee made by `prune` has such
        rows, and one that was fitted with `uncertainty=True`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.
        coverage : float, default=0.9
            The share of targets to lie within, above 0 and below 1. n rows are enough
            for n / (n + 1).
        method : {"scaled", "constant", "jackknife+"}, default="scaled"
            "scaled": wider where members differ. "constant": f(x) -+ a quantile of R, no
            more work than `predict`. "jackknife+": after bootstrap, by members that did
            not see a row; for large committees of members that leave rows out, for
            others it is wider than it need be, or the same as "constant". The
            equations are in `committee.uncertainty`.

        Returns
        -------
        interval : array of shape (N, 2)
            Lower and upper ends.
        """
        known = self._check_asked("predict_interval", coverage, method, INTERVALS)
        w = self.weights_  # type: ignore[attr-defined]
        R = known.unseen(w)[0] if method == "jackknife+" else known.residual
        rank(len(R), coverage)  # too few rows are told of before any work
        return self._interval(X, coverage=float(coverage), method=method)

    @lazy_rows(tail=lambda model: (2,))
    def _interval(self, X: Any, *, coverage: float, method: str) -> FloatArray:
        known: HeldOutResiduals = self._known_rows()
        if method == "constant":
            f = self.predict(X)  # type: ignore[attr-defined]
            return constant_interval(f, known.residual, coverage)
        F, w = self.member_predictions(X), self.weights_  # type: ignore[attr-defined]
        if method == "jackknife+":
            R, mask = known.unseen(w)
            return jackknife_plus_interval(F, w, R, mask, coverage)
        f, s = weighted_sum(F, w), member_spread(F, w)
        return scaled_interval(f, s, known.residual, known.spread, coverage)


class SetMixin(KeepsHeldOutRows):
    """Sets of classes."""

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, method: str = "lac"
    ) -> BoolArray:
        """Return the classes that each row may well have.

        They come from probabilities of rows that neither the members nor the weights
        have seen; no further data are needed. A committee made by `prune` has such
        rows, and one that was fitted with `uncertainty=True`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.
        coverage : float, default=0.9
            The share of rows whose class is to be in their set, above 0 and below 1.
        method : {"lac", "aps"}, default="lac"
            "lac": the least ambiguous sets, the smallest in the mean. "aps": adaptive
            ones, larger for rows that are hard to tell. The equations are in
            `committee.uncertainty.sets`.

        Returns
        -------
        sets : bool array of shape (N, K)
            Columns in the order of `classes_`; at least one True in a row.
        """
        known = self._check_asked("predict_set", coverage, method, SCORES)
        rank(len(known.lac), coverage)
        return self._class_sets(X, coverage=float(coverage), method=method)

    @lazy_rows(tail=lambda model: (len(model.classes_),), dtype=lambda model: bool)
    def _class_sets(self, X: Any, *, coverage: float, method: str) -> BoolArray:
        known: HeldOutScores = self._known_rows()
        p = self.predict_proba(X)  # type: ignore[attr-defined]
        return class_sets(SCORES[method](p), p, getattr(known, method), coverage)
