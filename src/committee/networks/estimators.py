"""One network as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from committee._typing import FloatArray
from committee._validation import fit_context
from committee.distributed import lazy_rows
from committee.networks.network import Network
from committee.targets import at_least_two, labels_of, numbers_of, require_y


class NetworkRegressor(RegressorMixin, Network):
    """A neural network for numbers, the member that `Networks` trains a hundred of.

        f(x) = W_L g(... g(W_1 x + b_1) ...) + b_L,    minimising the squared error

    by Adam with decoupled weight decay, in single precision. Columns and targets are
    standardised for the training, and the weights afterwards put back into their units:
    `coefs_` and `intercepts_` are those of a plain network, as `MLPRegressor` has them.
    Training stops `patience` epochs after the least loss on rows that are put aside, and
    goes back to the weights of that epoch. Missing values are refused: put
    `SimpleImputer` in front, and `OneHotEncoder` where there are categories.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(50, 50)
    activation : {"relu", "tanh"}, default="relu"
        g.
    embedding : {"piecewise-linear"}, optional
        Every column as up to `n_bins` numbers, one for each bin between quantiles of
        the training rows: see `committee.networks.embeddings`.
    n_bins : int, default=8
    learning_rate : float, default=0.01
    weight_decay : float, default=0.01
        Every step takes learning_rate x weight_decay of the weights away; intercepts
        stay.
    dropout : float, default=0.0
        The probability that a hidden unit is left out of a step.
    batch_size : int, default=32
    max_epochs : int, default=200
    patience : int or None, default=15
        Epochs without a lower loss after which training stops. None runs all of
        `max_epochs`, on all rows.
    validation_fraction : float, default=0.1
        Share of the rows that are put aside to decide when to stop.
    random_state : int, RandomState or None

    Attributes
    ----------
    coefs_ : list of arrays of shape (in, out)
    intercepts_ : list of arrays of shape (out,)
    edges_ : list of arrays, or None
        Of the bins of every column.
    n_iter_ : int
        Epochs that were run.
    validation_loss_ : float
        The least loss on the rows put aside, for a standardised target; NaN without.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import NetworkRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = NetworkRegressor(random_state=0).fit(X, y)
    >>> network.score(X, y) > 0.4
    True
    >>> [W.shape for W in network.coefs_]
    [(10, 50), (50, 50), (50, 1)]
    """

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        require_y(self, y)
        return self._fit(
            self.checked(X, reset=True), numbers_of(y), None, sample_weight
        )

    @lazy_rows()
    def predict(self, X: Any) -> FloatArray:
        """Return f(x).

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        f : array of shape (N,)
        """
        return self.from_outputs(self._outputs(X))

    @staticmethod
    def from_outputs(out: FloatArray) -> FloatArray:
        """Return predictions (N,) of outputs (N, 1)."""
        return out[:, 0]


class NetworkClassifier(ClassifierMixin, Network):
    """A neural network for classes, the member that `Networks` trains a hundred of.

        p(x) = softmax(W_L g(... g(W_1 x + b_1) ...) + b_L),    minimising the log-loss

    Otherwise it is like `NetworkRegressor`, which explains the parameters.

    Parameters
    ----------
    hidden_layer_sizes, activation, embedding, n_bins, learning_rate, weight_decay :
        As for `NetworkRegressor`.
    dropout, batch_size, max_epochs, patience, validation_fraction, random_state :
        As for `NetworkRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coefs_, intercepts_, edges_, n_iter_, n_features_in_ :
        As for `NetworkRegressor`.
    validation_loss_ : float
        The least log-loss on the rows put aside; NaN without.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import NetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> NetworkClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    classes_: Any

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (N, n_features)
        y : array-like of shape (N,)
            Labels.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        require_y(self, y)
        Z = self.checked(X, reset=True)
        self.classes_, codes = np.unique(labels_of(y), return_inverse=True)
        at_least_two(self.classes_)
        return self._fit(Z, codes, len(self.classes_), sample_weight)

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(x), classes in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        p : array of shape (N, K)
        """
        return self.from_outputs(self._outputs(X))

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the labels of the largest probabilities.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        labels : array of shape (N,)
        """
        codes = self._outputs(X).argmax(axis=1)
        return self.classes_[codes]

    @staticmethod
    def from_outputs(out: FloatArray) -> FloatArray:
        """Return probabilities (N, K) of outputs (N, K)."""
        p: FloatArray = softmax(out, axis=1)
        return p
