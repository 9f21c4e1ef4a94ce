"""How a fitted committee asks its members and puts together what they say."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import BoolArray, FloatArray, Member, Votes
from committee.distributed import is_dask, map_rows
from committee.ensembles import Rebuilt, Roster, Round, rebuilt
from committee.predictions import iter_predictions, predict_all


class Speaking:
    """What a committee does once it has members and weights."""

    n_jobs: int | None
    members_: list[Member]
    weights_: FloatArray
    held_out_: BoolArray | None
    transformer_: Any
    _votes: Votes
    #: What members call the classes; None for regression.
    _spoken: Any
    #: Whether members take plain arrays only.
    _arrays: bool

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
        if is_dask(X):
            columns = () if self._spoken is None else (len(self._spoken),)
            tail = (len(self.members_), *columns)
            return self._lazily("member_predictions", X, tail, np.float64)  # type: ignore[no-any-return]
        return predict_all(
            self.members_,
            self._prepared(X),
            classes=self._spoken,
            votes=self._votes,
            n_jobs=self.n_jobs if n_jobs is None else n_jobs,
        )

    def _lazily(self, method: str, X: Any, tail: tuple[int, ...], dtype: Any) -> Any:
        """Return what a method says on a Dask collection, as a lazy Dask array."""
        check_is_fitted(self, "weights_")
        alone = copy.copy(self)
        alone.n_jobs = None  # blocks are asked at the same time already
        return map_rows(_said, X, tail, dtype, alone, method)

    def _combined(self, X: Any) -> FloatArray:
        """Return sum_m w_m f_m, one member at a time and in order."""
        check_is_fitted(self, "weights_")
        X = self._prepared(X)
        joined = self._joined()
        if joined is not None:
            return joined(X)
        support = np.flatnonzero(self.weights_)
        stream = iter_predictions(
            [self.members_[m] for m in support],
            X,
            classes=self._spoken,
            votes=self._votes,
            n_jobs=self.n_jobs,
        )
        columns = () if self._spoken is None else (len(self._spoken),)
        total = np.zeros((X.shape[0], *columns))
        w = self.weights_[support]
        equal = len(set(w)) == 1
        for weight, P in zip(w, stream, strict=True):
            total += P if equal else weight * P
        # Equal votes are counted first and scaled once, so that ties stay ties.
        return total * w[0] if equal else total

    def _joined(self) -> Rebuilt | None:
        """Return the booster that the rounds of one make up, built at first use."""
        if not isinstance(self.members_[0], Round):
            return None
        if "_whole" not in self.__dict__:
            self._whole = rebuilt(self.members_, self.weights_)
        return self._whole

    def __getstate__(self) -> Any:
        """Leave out what is built at first use."""
        state: Any = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_whole"}

    def _prepared(self, X: Any) -> Any:
        """Check X and return it as the members take it."""
        X = self._check_X(X, reset=False)
        return self._as_roster().prepared(X)

    def _as_roster(self) -> Roster:
        """Return the members and how to ask them."""
        check_is_fitted(self, "weights_")
        mask = self.held_out_

        def held_out(n_rows: int) -> BoolArray:
            assert mask is not None
            if len(mask) != n_rows:
                raise ValueError(
                    f"oob=True needs the {len(mask)} rows that the committee was "
                    f"trained on, in their order. Got {n_rows} rows."
                )
            return mask

        return Roster(
            self.members_,
            self.weights_,
            getattr(self, "classes_", None),
            self._spoken,
            votes=self._votes,
            transformer=self.transformer_,
            arrays=self._arrays,
            held_out=None if mask is None else held_out,
            no_oob_reason=(
                "It does not know rows that its members have not seen: a committee does "
                "that was fitted in memory with a combiner and "
                'weigh_on="held-out", and one that was pruned before does not. Give '
                "rows that it was not trained on, without oob."
            ),
        )

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Check names and widths; hand frames and sparse matrices through."""
        if getattr(self, "transformer_", None) is not None:
            return X  # for the transformer to judge, which may well take text
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


def _said(X: Any, committee: Any, method: str) -> Any:
    """Ask a committee on one block of rows."""
    return getattr(committee, method)(X)
