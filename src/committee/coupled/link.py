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

from committee._typing import FloatArray, IntArray
from committee.distributed import ScoreMixin, lazy_rows


class LinkMixin(ScoreMixin, ClassifierMixin):
    """A classifier by scores: the largest decides, the link makes probabilities."""

    classes_: Any
    slope_: float

    @abstractmethod
    def _scores(self, X: Any) -> FloatArray:
        """Return s_k, (N, K)."""

    @lazy_rows(dtype=lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> Any:
        """Return the class with the largest score.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame
            For a Dask collection the result is a lazy Dask array.

        Returns
        -------
        labels : array of shape (N,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    @lazy_rows(tail=lambda model: (len(model.classes_),))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities by the calibrated link.

        Parameters
        ----------
        X : array-like of shape (N, n_features), or a Dask array or frame

        Returns
        -------
        p : array of shape (N, K)
        """
        scores = self._scores(X)  # raises where there is no slope yet
        p: FloatArray = softmax(self.slope_ * scores, axis=1)
        return p


def score_axes(model: Any) -> tuple[int, ...]:
    """Return the shape of a classifier's decision function behind the rows."""
    return () if len(model.classes_) == 2 else (len(model.classes_),)


def both_sides(f: FloatArray) -> FloatArray:
    """Return one value for each class, (..., K): of a single value f, -f and f."""
    return np.concatenate([-f, f], axis=-1) if f.shape[-1] == 1 else f


def refuse_one_class(counted: Any) -> None:
    """Raise unless two of the labels count; `counted` are the distinct ones that do."""
    if len(counted) < 2:
        raise ValueError(
            "A classifier needs at least 2 classes in y. Got 1 class: "
            f"{counted.tolist()[0]!r}."
        )


def signed_targets(codes: IntArray, n_classes: int) -> FloatArray:
    """Return targets +-1: (N, 1) for two classes, else one column a class, (N, K)."""
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Y[:, 1:] if n_classes == 2 else Y
