"""Unlike learners side by side."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

from committee._typing import Member, RandomState
from committee._validation import Interval
from committee.members.base import Generation, Generator, TrainingData
from committee.members.out_of_fold import cross_fitted


class Pool(Generator):
    """Train a list of unlike learners, or settings, each on all rows.

    Where members differ in kind, weighting and pruning pay most. No row is left
    out: the members are weighed on cross-fitted predictions, made by clones
    that did not see the row's fold, and then fitted on all rows. A `random_state`
    that an estimator was given stays; the others are seeded by the committee.

    Parameters
    ----------
    estimators : list of estimators, or of (name, estimator) pairs
    n_splits : int, default=5
        Folds of the cross-fit.

    Attributes
    ----------
    n_members : int
    names : list of str
        The given names; class names with a number where there are several.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from committee import CommitteeRegressor, Pool, SimplexWeights
    >>> X, y = make_regression(noise=1.0, random_state=0)
    >>> pool = Pool([Ridge(0.1), KNeighborsRegressor()])
    >>> committee = CommitteeRegressor(
    ...     generator=pool, combiner=SimplexWeights(), random_state=0
    ... )
    >>> int(committee.fit(X, y).weights_.argmax())
    0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimators": [list, tuple],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, estimators: Sequence[Any], n_splits: int = 5) -> None:
        self.estimators = estimators
        self.n_splits = n_splits

    @property
    def n_members(self) -> int:
        """M, the number of estimators."""
        return len(self.estimators)

    @property
    def members(self) -> list[Member]:
        """The unfitted estimators, without their names."""
        self._validate_params()
        members = [e[1] if isinstance(e, tuple) else e for e in self.estimators]
        for member in members:
            if not hasattr(member, "fit"):
                raise ValueError(
                    "The 'estimators' of a Pool must be estimators, or (name, "
                    f"estimator) pairs. Got {member!r} instead."
                )
        return members

    @property
    def names(self) -> list[str]:
        """One name for each member."""
        kinds = [type(member).__name__ for member in self.members]
        names = []
        for i, (entry, kind) in enumerate(zip(self.estimators, kinds, strict=True)):
            if isinstance(entry, tuple):
                names.append(str(entry[0]))
            elif kinds.count(kind) > 1:
                names.append(f"{kind}-{kinds[: i + 1].count(kind)}")
            else:
                names.append(kind)
        return names

    def generate(
        self,
        estimator: Member,
        data: TrainingData,
        *,
        held_out: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
    ) -> Generation:
        """Train the members; see `Generator.generate`. `estimator` must be None."""
        self._validate_params()
        if estimator is not None:
            raise ValueError(
                "A Pool brings its own estimators: leave 'estimator' at None. Got "
                f"{type(estimator).__name__} instead."
            )
        if not self.estimators:
            raise ValueError("The 'estimators' of a Pool must not be empty.")
        return cross_fitted(
            self.members,
            data,
            n_splits=self.n_splits,
            votes=self.votes,
            held_out=held_out,
            keep_seeds=True,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
