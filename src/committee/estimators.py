"""Committees: from X and y to predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    column_or_1d,
)
from sklearn.utils.multiclass import check_classification_targets

from committee._typing import FloatArray
from committee._validation import (
    fit_context,
)
from committee.base import BaseCommittee
from committee.distributed import brought, is_dask
from committee.probabilities import as_probabilities, softmax_probabilities

#: Types of None and of the missing values of pandas, which may not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}


class CommitteeClassifier(ClassifierMixin, BaseCommittee):
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
    combiner : combiner, optional
        How members are weighed. None takes the generator's own weights: equal
        ones, or those of AdaBoost.
    weigh_on : {"held-out", "train"} or float, default="held-out"
        The rows to weigh on: for each member those it did not see (cross-fitted
        where members see all rows, the training rows for AdaBoost), the
        training rows, or a fraction of the rows that is split off.
    stop : {"evidence"}, optional
        Train members in batches of 20, and no more once two batches in a row have
        not raised the log evidence of the combiner by 3; the generator's number of
        members is then the most there can be. For `EPPruner` and `ARDPruner` on
        held-out rows of `Bagging`, `CrossSplits` or `MiniBatches`.
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
        if is_dask(X, y, sample_weight):
            rows = self._partitions(X, y, sample_weight, fit_params, _labels)
            self.classes_ = _at_least_two(rows.labels)
            return self._fit_chunks(rows)
        X = self._check_X(X, reset=True)
        y = _labels(y)
        check_consistent_length(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        self.classes_ = _at_least_two(classes)
        return self._fit(X, codes, len(classes), sample_weight, fit_params)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, columns in the order of `classes_`.

        The combiner turns the weighted sums of the members' probabilities or
        votes into probabilities: as a rule it cuts them at zero and scales rows to
        sum one.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, n_features)
            Of a Dask array or frame the answer is a Dask array, not yet computed.

        Returns
        -------
        p : array of shape (N, K)
        """
        if is_dask(X):
            return self._lazily("predict_proba", X, (len(self.classes_),), np.float64)  # type: ignore[no-any-return]
        scores = self._combined(X)
        if self.roster_.link == "softmax":
            return softmax_probabilities(scores)
        if self.roster_.link == "mean" or self.combiner_ is None:
            return as_probabilities(scores)
        return self.combiner_.probabilities(scores)

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
        if is_dask(X):
            return self._lazily("predict", X, (), self.classes_.dtype)
        p = self.predict_proba(X)
        return self.classes_[p.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or Dask collection of shape (N, n_features)
        y : array-like or Dask collection of shape (N,)
        sample_weight : array-like or Dask collection of shape (N,), optional

        Returns
        -------
        accuracy : float
        """
        predicted, y, s = brought(self.predict(X), y, sample_weight)
        return float(accuracy_score(y, predicted, sample_weight=s))


class CommitteeRegressor(RegressorMixin, BaseCommittee):
    """A committee of regressors: generate members, weigh them, average.

        f_ens(x) = sum_m w_m f_m(x)

    Parameters
    ----------
    estimator : regressor, optional
        The kind of the members, a decision tree unless given. Leave it at None
        for a `Pool`.
    generator : generator, optional
        How members are made: `Bagging(100)` unless given.
    combiner : combiner, optional
        How members are weighed. None takes equal weights.
    weigh_on : {"held-out", "train"} or float, default="held-out"
        The rows to weigh on: for each member those it did not see (cross-fitted
        where members see all rows), the training rows, or a fraction of the
        rows that is split off.
    stop : {"evidence"}, optional
        Train members in batches of 20, and no more once two batches in a row have
        not raised the log evidence of the combiner by 3; the generator's number of
        members is then the most there can be. For `EPPruner` and `ARDPruner` on
        held-out rows of `Bagging`, `CrossSplits` or `MiniBatches`.
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
        if is_dask(X, y, sample_weight):
            rows = self._partitions(X, y, sample_weight, fit_params, _numbers)
            return self._fit_chunks(rows)
        X = self._check_X(X, reset=True)
        y = _numbers(y)
        check_consistent_length(X, y)
        return self._fit(X, y, None, sample_weight, fit_params)

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
        if is_dask(X):
            return self._lazily("predict", X, (), np.float64)  # type: ignore[no-any-return]
        return self._combined(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the share of the variance of y that is predicted.

        Parameters
        ----------
        X : array-like, sparse matrix, frame or Dask collection of shape (N, n_features)
        y : array-like or Dask collection of shape (N,)
        sample_weight : array-like or Dask collection of shape (N,), optional

        Returns
        -------
        r2 : float
        """
        f, y, s = brought(self.predict(X), y, sample_weight)
        return float(r2_score(y, f, sample_weight=s))


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
