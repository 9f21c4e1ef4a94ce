"""Committees: from X and y to predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import (
    assert_all_finite,
    column_or_1d,
)
from sklearn.utils.multiclass import check_classification_targets

from committee._typing import FloatArray
from committee._validation import (
    fit_context,
)
from committee.base import BaseCommittee
from committee.distributed import ScoreMixin, lazy_rows
from committee.ensembles import Roster
from committee.probabilities import (
    as_probabilities,
    slope_probabilities,
    softmax_probabilities,
)

#: Types of None and of the missing values of pandas, which may not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}


class CommitteeClassifier(ScoreMixin, ClassifierMixin, BaseCommittee):
    """A committee of classifiers: generate members, weigh them, vote.

        p(k | x) = sum_m w_m p_m(k | x)

    Parameters
    ----------
    estimator : classifier, optional
        The kind of the members, a decision tree unless given. Leave it at None
        for a `Pool`. It is trained on class codes, the positions in `classes_`: a
        `class_weight` dictionary is keyed by these.
    generator : generator, optional
        How members are made: `Bagging(100)` unless given.
    combiner : combiner or str, optional
        How members are weighed, such as `EPPruner()` or "ep" (`docs/choose.md` lists
        the names). None takes the generator's own weights: equal
        ones, or those of AdaBoost.
    weigh_on : {"held-out", "train"} or float, default="held-out"
        The rows to weigh on: for each member those it did not see (cross-fitted
        where members see all rows, the training rows for AdaBoost), the
        training rows, or a fraction of the rows that is split off.
    stop : {"evidence"}, optional
        Train members in batches of 20, and no more once two batches in a row have
        not raised the log evidence of the combiner by 3; the generator's number of
        members is then the most there can be. For `EPPruner` and `ARDPruner`, and all
        generators but `Pool` and `LPBoost`; `AdaBoost` needs a fraction as `weigh_on`.
    n_jobs : int, optional
        Members that train, or predict, at the same time, through joblib. Results do
        not depend on it. On Dask collections Dask decides.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    members_ : list of fitted estimators
        Those with a nonzero weight, as after `prune`; `support_` are their numbers
        among all that were trained. They know class codes, the positions in
        `classes_`.
    member_names_ : list of str
        As given in a `Pool` or to `prune`; otherwise the number and the class.
    weights_ : array of shape (M,)
        One for each of `members_`; `combiner_.weights_` has one for all.
    n_members_ : int
    support_ : array of shape (M,)
    held_out_ : bool array of shape (N, M) or None
        True where the member did not train on the row; None for Dask collections,
        whose mask is made, used and forgotten chunk by chunk.
    combiner_ : combiner or None
        The fitted combiner.
    classes_ : array of shape (K,)
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import Bagging, CommitteeClassifier, SimplexWeights
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = CommitteeClassifier(
    ...     DecisionTreeClassifier(),
    ...     generator=Bagging(20),
    ...     combiner=SimplexWeights(),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> committee.score(X, y) > 0.95
    True
    >>> committee.predict_proba(X[:1]).shape
    (1, 2)
    """

    _default_estimator = DecisionTreeClassifier
    classes_: Any

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Generate the members and weigh them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame each member of `Bagging` or `MiniBatches` is
            trained on rows of one chunk, on the worker that has it, and weighed on
            all chunks; other chunks make other members.
        y : array-like of shape (N,)
            Labels of any type.
        sample_weight : array-like of shape (N,), optional
        **fit_params
            Handed to the members by metadata routing.

        Returns
        -------
        self
        """
        self._forget()
        _require_y(self, y)
        data = self._training_data(X, y, sample_weight, fit_params, _labels)
        self.classes_ = _at_least_two(data.labels)
        return self._fit(data)

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, columns in the order of `classes_`.

        The combiner turns the weighted sums of the members' probabilities or
        votes into probabilities: as a rule it cuts them at zero and scales rows to
        sum one; `LogPool` has the softmax of weighted log-probabilities. A committee made by `prune` has p(k | x) ~ exp(slope_ s_k(x)): few
        members that are sure of themselves are not to be taken at their word.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        p : array of shape (N, K)
        """
        return self._probabilities(self._combined(X))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return probabilities of the weighted sums (N, K)."""
        if self.roster_.link == "softmax":
            return softmax_probabilities(scores)
        if self.roster_.link == "slope" and self.slope_ is not None:
            return slope_probabilities(scores, self.slope_)
        if self.roster_.link == "slope" and self.roster_.floor is not None:
            # No rows for a slope: that of the combiner, whose weights need not sum to one.
            assert self.combiner_ is not None
            return self.combiner_.probabilities(self.combiner_.weights_.sum() * scores)
        if self.roster_.link in ("mean", "slope") or self.combiner_ is None:
            return as_probabilities(scores)
        return self.combiner_.probabilities(scores)

    def _as_roster(self) -> Roster:
        """Return the roster with what is known of rows and probabilities."""
        return replace(super()._as_roster(), probabilities=self._probabilities)

    @property
    def slope_(self) -> float | None:
        """Slope of the probabilities of a committee made by `prune`, found on first use.

        It has the least log-loss on rows that did not choose the members; None where
        probabilities are weighted means, as with too few rows for folds.
        """
        if self._fitted_roster().link != "slope":
            return None
        if "_slope" in self.__dict__ or not hasattr(self, "path_"):
            return self.__dict__.get("_slope")
        return self.path_.assessment.slope(self.support_)  # type: ignore[union-attr]

    def __getstate__(self) -> Any:
        """Find the slope while the rows are there: a copy has none."""
        state = super().__getstate__()
        if hasattr(self, "path_"):
            state["_slope"] = self.slope_
        return state

    def __delattr__(self, name: str) -> None:
        """Find the slope before the rows of `path_` are given up."""
        if name == "path_":
            self._slope = self.slope_
        super().__delattr__(name)

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the class with the largest weighted vote.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        labels : array of shape (N,)
        """
        # Probabilities are largest where the weighted sums are.
        codes = self._combined(X).argmax(axis=1)
        return self.classes_[codes]


class CommitteeRegressor(ScoreMixin, RegressorMixin, BaseCommittee):
    """A committee of regressors: generate members, weigh them, average.

        f_ens(x) = sum_m w_m f_m(x)

    Parameters
    ----------
    estimator : regressor, optional
        The kind of the members, a decision tree unless given. Leave it at None
        for a `Pool`.
    generator : generator, optional
        How members are made: `Bagging(100)` unless given.
    combiner : combiner or str, optional
        How members are weighed, such as `EPPruner()` or "ep" (`docs/choose.md` lists
        the names). None takes equal weights.
    weigh_on : {"held-out", "train"} or float, default="held-out"
        The rows to weigh on: for each member those it did not see (cross-fitted
        where members see all rows), the training rows, or a fraction of the
        rows that is split off.
    stop : {"evidence"}, optional
        Train members in batches of 20, and no more once two batches in a row have
        not raised the log evidence of the combiner by 3; the generator's number of
        members is then the most there can be. For `EPPruner` and `ARDPruner`, and all
        generators but `Pool` and `LPBoost`; `AdaBoost` needs a fraction as `weigh_on`.
    n_jobs : int, optional
        Members that train, or predict, at the same time, through joblib. Results do
        not depend on it. On Dask collections Dask decides.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    members_ : list of fitted estimators
        Those with a nonzero weight, as after `prune`; `support_` are their numbers
        among all that were trained.
    member_names_ : list of str
        As given in a `Pool` or to `prune`; otherwise the number and the class.
    weights_ : array of shape (M,)
        One for each of `members_`; `combiner_.weights_` has one for all.
    n_members_ : int
    support_ : array of shape (M,)
    held_out_ : bool array of shape (N, M) or None
        True where the member did not train on the row; None for Dask collections,
        whose mask is made, used and forgotten chunk by chunk.
    combiner_ : combiner or None
        The fitted combiner.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee import Bagging, CommitteeRegressor, SimplexWeights
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = CommitteeRegressor(
    ...     DecisionTreeRegressor(min_samples_leaf=5),
    ...     generator=Bagging(20),
    ...     combiner=SimplexWeights(),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> committee.predict(X[:2]).shape
    (2,)
    """

    _default_estimator = DecisionTreeRegressor

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Generate the members and weigh them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame each member of `Bagging` or `MiniBatches` is
            trained on rows of one chunk, on the worker that has it, and weighed on
            all chunks; other chunks make other members.
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional
        **fit_params
            Handed to the members by metadata routing.

        Returns
        -------
        self
        """
        self._forget()
        _require_y(self, y)
        data = self._training_data(X, y, sample_weight, fit_params, _numbers)
        return self._fit(data)

    @lazy_rows()
    def predict(self, X: Any) -> FloatArray:
        """Return the weighted mean of the members' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        f_ens : array of shape (N,)
        """
        return self._combined(X)


def _require_y(estimator: BaseEstimator, y: Any) -> None:
    """Refuse to be fitted without targets."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but "
            "the target y is None."
        )


def _labels(y: Any) -> Any:
    """Return y as a 1-D array of labels."""
    y = _finite(y)
    check_classification_targets(y)
    return y


def _numbers(y: Any) -> FloatArray:
    """Return y as a 1-D array of finite numbers."""
    return _finite(y).astype(np.float64)  # type: ignore[no-any-return]


def _finite(y: Any) -> Any:
    """Return y as a 1-D array without missing values."""
    y = column_or_1d(y, warn=True)
    if y.dtype == object and any(type(label).__name__ in _MISSING for label in y):
        raise ValueError("Input y contains None: drop or fill rows without a target.")
    assert_all_finite(y, input_name="y")
    return y


def _at_least_two(classes: Any) -> Any:
    """Refuse a classification of nothing."""
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs at least 2 classes in y. Got 1 class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes
