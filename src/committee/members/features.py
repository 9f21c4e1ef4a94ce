"""RandomSubspaces and Rotations: members that train on different features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee._typing import Member
from committee._validation import AT_LEAST_ONE, COUNT_OR_SHARE, count_of
from committee.ensembles.member_features import OnColumns, Rotated
from committee.members.base import TrainingData
from committee.members.pool import CrossFittedGenerator


class RandomSubspaces(CrossFittedGenerator):
    """Train every member on all rows, but on columns drawn at random (Ho 1998).

    f_m(x) = f(x[columns_m])

    No row is left out, so members are weighed on predictions cross-fitted over five
    folds, which takes five more fits for each member.

    Parameters
    ----------
    n_members : int, default=100
    max_features : float or int, default=0.5
        Fraction or number of the columns of each member.

    References
    ----------
    T. K. Ho. The random subspace method for constructing decision forests. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 20, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from committee import CommitteeClassifier, RandomSubspaces
    >>> X, y = make_classification(random_state=0)
    >>> subspaces = RandomSubspaces(5, max_features=0.25)
    >>> committee = CommitteeClassifier(generator=subspaces, random_state=0).fit(X, y)
    >>> [len(member.columns) for member in committee.members_]
    [5, 5, 5, 5, 5]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "max_features": COUNT_OR_SHARE,
    }

    def __init__(self, n_members: int = 100, *, max_features: float = 0.5) -> None:
        self.n_members = n_members
        self.max_features = max_features

    def _unfitted(
        self, estimator: Member, data: TrainingData, random: np.random.RandomState
    ) -> list[Member]:
        p = data.X.shape[1]
        q = count_of(self.max_features, p)
        if q > p:
            raise ValueError(f"max_features={q} columns of {p} cannot be drawn.")
        return [
            OnColumns(estimator, np.sort(random.permutation(p)[:q]))
            for _ in range(self.n_members)
        ]


class Rotations(CrossFittedGenerator):
    """Train every member on all rows, with columns rotated by a different matrix.

    f_m(x) = f(x' R_m)

    R_m is block diagonal. Each block contains the principal directions of a few
    columns, computed on some of the rows of some classes (see `Rotated`). With trees
    this is the rotation forest. Columns must be numeric, and of similar scale, because
    principal directions depend on units. Members are weighed on cross-fitted
    predictions, as in `RandomSubspaces`.

    Parameters
    ----------
    n_members : int, default=100
    group_size : int, default=3
        Number of columns that are rotated together.

    References
    ----------
    J. J. Rodriguez, L. I. Kuncheva, C. J. Alonso. Rotation forest: a new classifier
    ensemble method. IEEE Transactions on Pattern Analysis and Machine Intelligence 28,
    2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from committee import CommitteeClassifier, Rotations
    >>> X, y = make_classification(n_features=6, random_state=0)
    >>> committee = CommitteeClassifier(generator=Rotations(3), random_state=0).fit(X, y)
    >>> R = committee.members_[0].rotation_.toarray()
    >>> bool(np.allclose(R @ R.T, np.eye(6)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "group_size": [AT_LEAST_ONE],
    }

    def __init__(self, n_members: int = 100, *, group_size: int = 3) -> None:
        self.n_members = n_members
        self.group_size = group_size

    def _unfitted(
        self, estimator: Member, data: TrainingData, random: np.random.RandomState
    ) -> list[Member]:
        return [Rotated(estimator, self.group_size)] * self.n_members
