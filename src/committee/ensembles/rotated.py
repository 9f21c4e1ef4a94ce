"""A member that looks at rotated columns (Rodriguez, Kuncheva and Alonso 2006)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_array, check_random_state

from committee._typing import FloatArray, IntArray, Member, RandomState
from committee.ensembles.column_subsets import OnFeatures

#: Share of the rows of a group that its principal directions are taken from.
_SHARE = 0.75


class Rotated(OnFeatures):
    """An estimator on X R, with R a rotation of its own.

    The columns are split at random into groups of `group_size`. The block of R for a group
    is the orthogonal matrix of its principal directions, all of them, on a bootstrap
    sample of three quarters of the rows of some classes.

    Parameters
    ----------
    estimator : estimator
    group_size : int
    random_state : int, RandomState or None

    Attributes
    ----------
    rotation_ : sparse array of shape (n_features, n_features)
    """

    rotation_: csr_array

    def __init__(
        self,
        estimator: Member,
        group_size: int = 3,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.group_size = group_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Find the rotation and train the estimator behind it."""
        random = check_random_state(self.random_state)
        A = check_array(X)
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
        rotated: FloatArray = check_array(X) @ self.rotation_
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
    """Return R, whose block of each group of columns is given."""
    row = np.concatenate([np.repeat(g, len(g)) for g in groups])
    column = np.concatenate([np.tile(g, len(g)) for g in groups])
    values = np.concatenate([block.ravel() for block in blocks])
    p = sum(map(len, groups))
    return csr_array((values, (row, column)), shape=(p, p))
