"""From scores to probabilities: one slope, fitted on rows the score did not see.

    p(k | x) = exp(b s_k) / sum_l exp(b s_l),    b > 0

With a single slope the largest score stays the largest probability.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray
from committee.coupled.lazy import lazily
from committee.distributed import brought, is_dask


class LinkMixin(ClassifierMixin):
    """A classifier by scores: the largest decides, the link makes probabilities."""

    classes_: Any
    slope_: float

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return s_k, (N, K)."""

    def predict(self, X: Any) -> Any:
        """Return the class with the largest score.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the answer is a lazy Dask array.

        Returns
        -------
        labels : array of shape (N,)
        """
        if is_dask(X):
            check_is_fitted(self)
            return lazily(self, "predict", X, (), self.classes_.dtype)
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities by the calibrated link.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        p : array of shape (N, K)
        """
        if is_dask(X):
            check_is_fitted(self)
            tail = (len(self.classes_),)
            return lazily(self, "predict_proba", X, tail, np.float64)  # type: ignore[no-any-return]
        scores = self._scores(X)
        return link(scores, self.slope_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of rows whose class is the predicted one.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
        y : array-like of shape (N,), or a Dask collection
        sample_weight : array-like of shape (N,), optional, or a Dask collection

        Returns
        -------
        float
        """
        said, y, s = brought(self.predict(X), y, sample_weight)
        return float(accuracy_score(y, said, sample_weight=s))


def link(scores: FloatArray, slope: float) -> FloatArray:
    """Return class probabilities.

    Parameters
    ----------
    scores : array of shape (N, K)
    slope : float

    Returns
    -------
    p : array of shape (N, K)
    """
    return softmax(slope * scores, axis=1)  # type: ignore[no-any-return]


def both_sides(f: FloatArray) -> FloatArray:
    """Return one value for each class: for two classes, which share one, -f and f.

    Parameters
    ----------
    f : array of shape (..., 1) or (..., K)

    Returns
    -------
    s : array of shape (..., 2) or (..., K)
    """
    return np.concatenate([-f, f], axis=-1) if f.shape[-1] == 1 else f


def encode_labels(y: Any, sample_weight: FloatArray | None) -> tuple[Any, IntArray]:
    """Return the classes and the codes of labels, of which two must count.

    Parameters
    ----------
    y : array of labels, (N,)
    sample_weight : array of shape (N,) or None

    Returns
    -------
    classes : array of shape (K,)
    codes : array of shape (N,)
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    counted = codes if sample_weight is None else codes[sample_weight > 0]
    refuse_one_class(classes[np.unique(counted)])
    return classes, codes


def refuse_one_class(counted: Any) -> None:
    """Say that one class is not enough.

    Parameters
    ----------
    counted : array of the distinct labels that count
    """
    if len(counted) < 2:
        raise ValueError(
            "A classifier needs at least 2 classes in y. Got 1 class: "
            f"{counted.tolist()[0]!r}."
        )


def signed_targets(codes: IntArray, n_classes: int) -> FloatArray:
    """Return targets +-1: one column for two classes, else one for each class.

    Parameters
    ----------
    codes : array of class codes, (N,)
    n_classes : int

    Returns
    -------
    Y : array of shape (N, 1) or (N, K)
    """
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Y[:, 1:] if n_classes == 2 else Y
