"""Members on some of the columns, or on all columns rotated."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if

from committee._typing import FloatArray, IntArray, Member, RandomState
from committee._validation import safe_indexing

#: Share of the rows from which the principal directions of a group are computed.
_SHARE = 0.75
#: Of the rows that are rotated; half precision becomes double.
_PRECISIONS = [np.float64, np.float32]


class OnFeatures(MetaEstimatorMixin, BaseEstimator):
    """A member that is trained on features made of X, and predicts from them.

    f(x) = f_member(phi(x)); a subclass writes phi as `_features`.
    """

    estimator: Member

    @abstractmethod
    def _features(self, X: Any) -> Any:
        """Return phi of every row."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the estimator on its features."""
        self.estimator.fit(self._features(X), y, **fit_params)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Return the estimator's predictions from its features."""
        return self.estimator.predict(self._features(X), **options)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **options: Any) -> FloatArray:
        """Return the estimator's probabilities from its features."""
        p: FloatArray = self.estimator.predict_proba(self._features(X), **options)
        return p

    @property
    def classes_(self) -> Any:
        """The estimator's classes."""
        return self.estimator.classes_

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the estimator is fitted."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the estimator."""
        return self.estimator.__sklearn_tags__()


class OnColumns(OnFeatures):
    """A fitted estimator and the columns of X that it was trained on.

    f(x) = f_member(x[columns])
    """

    def __init__(self, estimator: Member, columns: IntArray) -> None:
        self.estimator = estimator
        self.columns = columns

    def _features(self, X: Any) -> Any:
        if isinstance(X, list):
            X = np.asarray(X)
        return safe_indexing(X, self.columns, axis=1)


def bare_tree(member: Member) -> Any:
    """Return the estimator inside an OnColumns, or the member itself."""
    return member.estimator if isinstance(member, OnColumns) else member


@dataclass(eq=False, repr=False)
class Rotated(OnFeatures):
    """An estimator that is trained on X R, with a random rotation R.

    The columns are split at random into groups of `group_size`. The block of R for a group
    is the orthogonal matrix of all its principal directions, computed from a bootstrap
    sample of three quarters of the rows of some classes.

    Parameters
    ----------
    estimator : estimator
    group_size : int
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    rotation_ : sparse array of shape (n_features, n_features)
    """

    rotation_: csr_array = field(init=False)

    estimator: Member
    group_size: int = 3
    _: KW_ONLY
    random_state: RandomState = None

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Draw the rotation and train the estimator on the rotated rows."""
        random = check_random_state(self.random_state)
        A = check_array(X, dtype=_PRECISIONS)
        codes = np.unique(y, return_inverse=True)[1] if self._of_classes else None
        order = random.permutation(A.shape[1])
        groups = np.array_split(order, -(-len(order) // self.group_size))
        blocks = [_directions(A[:, g], codes, random) for g in groups]
        self.rotation_ = _block_rotation(groups, blocks)
        return super().fit(A, y, **fit_params)

    @property
    def _of_classes(self) -> bool:
        return self.__sklearn_tags__().estimator_type == "classifier"  # type: ignore[no-any-return]

    def _features(self, X: Any) -> FloatArray:
        rotated: FloatArray = check_array(X, dtype=_PRECISIONS) @ self.rotation_
        return rotated


def _directions(
    A: FloatArray, codes: IntArray | None, random: np.random.RandomState
) -> FloatArray:
    """Return the eigenvectors of the covariance of some rows, as columns (g, g)."""
    rows = np.arange(len(A))
    if codes is not None:
        K = codes.max() + 1
        chosen = random.permutation(K)[: random.randint(1, K + 1)]
        rows = np.flatnonzero(np.isin(codes, chosen))
    drawn = random.choice(rows, size=max(1, round(_SHARE * len(rows))))
    B = A[drawn] - A[drawn].mean(axis=0)
    _, directions = np.linalg.eigh(B.T @ B)
    return np.asarray(directions)


def _block_rotation(groups: list[IntArray], blocks: list[FloatArray]) -> csr_array:
    """Return R (p, p), given the columns of each group and its block."""
    row = np.concatenate([np.repeat(g, len(g)) for g in groups])
    column = np.concatenate([np.tile(g, len(g)) for g in groups])
    values = np.concatenate([block.ravel() for block in blocks])
    p = sum(map(len, groups))
    return csr_array((values, (row, column)), shape=(p, p))
