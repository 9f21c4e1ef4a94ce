"""Members that see all rows, or all in some columns, weighed on cross-fitted F."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_array, check_random_state

from committee._typing import FloatArray, IntArray, Member, Output, RandomState
from committee._validation import (
    AT_LEAST_ONE,
    COUNT_OR_SHARE,
    HasMethods,
    Interval,
    count_of,
    safe_indexing,
)
from committee.ensembles.member_features import OnColumns, OnFeatures, Rotated
from committee.ensembles.roster import names_of
from committee.members.base import (
    Asked,
    BatchedGenerator,
    GenerateOptions,
    Generation,
    Generator,
    Sample,
    TrainingData,
    draw_seeds,
)
from committee.members.training import fit_member, params_of_split, run_parallel
from committee.predictions import predict_one

Fold = tuple[IntArray, IntArray]


def folds_of(cv: Any, data: TrainingData, rng: np.random.RandomState) -> list[Fold]:
    """Return (train, test) rows of each fold.

    `cv` is a number of folds, a splitter, or a list of (train, test) pairs. A number
    gives shuffled folds, stratified if every class has enough rows.
    """
    if isinstance(cv, Integral):
        return _shuffled(int(cv), data, rng)
    pairs = cv
    if hasattr(cv, "split"):
        pairs = cv.split(data.X, data.y, **params_of_split(cv, data.fit_params))
    folds = [(_row_numbers(a, data), _row_numbers(b, data)) for a, b in pairs]
    for i, (train, test) in enumerate(folds):
        if not len(train):
            raise ValueError(f"Fold {i} of cv has no rows to train on.")
        if len(np.intersect1d(train, test)):
            raise ValueError(
                f"Fold {i} of cv tests on rows that it trains on: members would be "
                "weighed on their own training rows."
            )
    if not any(len(test) for _, test in folds):
        raise ValueError("cv leaves no rows to weigh members on.")
    return folds


def times_tested(folds: list[Fold], n_rows: int) -> IntArray:
    """Return the number of folds in which each row is tested, (N,)."""
    tested = [np.unique(test) for _, test in folds]
    return np.bincount(np.concatenate(tested), minlength=n_rows)


def _shuffled(
    n_splits: int, data: TrainingData, rng: np.random.RandomState
) -> list[Fold]:
    N = len(data)
    if n_splits > N:
        raise ValueError(
            f"Cannot cross-fit {n_splits} folds on {N} rows (n_samples={N}). Use fewer "
            "folds, or weigh_on='train'."
        )
    splitter = KFold
    if data.n_classes is not None and np.bincount(data.y).min() >= n_splits:
        splitter = StratifiedKFold
    splits = splitter(n_splits, shuffle=True, random_state=rng)
    return list(splits.split(np.zeros(N), data.y))


def _row_numbers(rows: Any, data: TrainingData) -> IntArray:
    """Return row numbers, also for a mask; raise ValueError if out of range."""
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == len(data):
        return np.flatnonzero(rows)
    if rows.size and not (rows.min() >= 0 and rows.max() < len(data)):
        raise ValueError(
            f"cv must return row numbers from 0 to {len(data) - 1}. Got {rows.min()} to "
            f"{rows.max()}."
        )
    return np.unique(rows.astype(np.intp))


class Pool(Generator):
    """Train a list of different learners, or settings, each on all rows.

    Weighting and pruning gain most if members are of different kinds. Members are
    weighed on cross-fitted predictions, and then fitted on all rows. A `random_state` set
    on an estimator is kept; the committee seeds the others.

    Parameters
    ----------
    estimators : list of estimators, or of (name, estimator) pairs
    n_splits : int, default=5
        Number of folds of the cross-fit: shuffled, and stratified if possible.
    cv : int, splitter or list of (train, test), default=None
        Folds used instead of `n_splits`. A splitter that needs `groups`, such as
        `GroupKFold`, gets those passed to the committee's `fit`. Rows that no fold tests,
        such as the first of a `TimeSeriesSplit`, are not used to weigh members; for rows
        that several folds test, predictions are averaged.

    Attributes
    ----------
    n_members : int
    names : list of str
        The given names. A member without a name is named after its class, or after the
        last step of its pipeline, with a number if several have the same class.

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
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split"]),
            "array-like",
            None,
        ],
    }

    def __init__(
        self, estimators: Sequence[Any], n_splits: int = 5, *, cv: Any = None
    ) -> None:
        self.estimators = estimators
        self.n_splits = n_splits
        self.cv = cv

    @property
    def splitter(self) -> Any:
        """The splitter, which may request metadata; None for a number or a list."""
        return self.cv if hasattr(self.cv, "split") else None

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
        """A different name for each member."""
        return names_of(self.estimators)

    def generate(
        self, estimator: Member, data: TrainingData, **options: Any
    ) -> Generation:
        """Train the members; see `Generator.generate`. `estimator` must be None."""
        self._validate_params()
        if estimator is not None:
            raise ValueError(
                "A Pool has its own estimators: leave 'estimator' at None. Got "
                f"{type(estimator).__name__} instead."
            )
        if not self.estimators:
            raise ValueError("The 'estimators' of a Pool must not be empty.")
        how = GenerateOptions(**options)
        rng = check_random_state(how.random_state)
        seeds = draw_seeds(rng, self.n_members)
        cv = self.n_splits if self.cv is None else self.cv
        folds = folds_of(cv, data, rng) if how.held_out else []
        generation = cross_fitted(
            self.members, data, seeds, folds, how, output=self.output, keep_seeds=True
        )
        return replace(generation, names=self.names)


class CrossFittedGenerator(BatchedGenerator):
    """Base class of generators whose members are trained on all rows, and cross-fitted.

    A subclass writes `_unfitted`.
    """

    @abstractmethod
    def _unfitted(
        self, estimator: Member, data: TrainingData, random: np.random.RandomState
    ) -> list[Member]:
        """Return the members before training."""

    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of a size."""
        estimator, data, size, options = asked
        self._validate_params()
        random = check_random_state(options.random_state)
        members = self._unfitted(estimator, data, random)
        seeds = draw_seeds(random, len(members))
        n_folds = max(2, min(5, len(data)))
        folds = folds_of(n_folds, data, random) if options.held_out else []
        for start in range(0, len(members), size):
            some = slice(start, start + size)
            yield cross_fitted(
                members[some], data, seeds[some], folds, options, output=self.output
            )


class RandomInits(CrossFittedGenerator):
    """Train every member on all rows; only its seed differs (chapter 4.3, 1).

    This helps if training itself is random, as for neural networks. No row is left out,
    so members are weighed on predictions cross-fitted over five folds, which takes five
    more fits for each member.

    Parameters
    ----------
    n_members : int, default=100
    noise : float, default=0.0
        Standard deviation of normal noise that is added to X, separately for each
        member, in units of the standard deviation of each column.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import CommitteeClassifier, RandomInits
    >>> X, y = make_classification(random_state=0)
    >>> tree = DecisionTreeClassifier(splitter="random", max_depth=2)
    >>> committee = CommitteeClassifier(tree, generator=RandomInits(5), random_state=0)
    >>> len(committee.fit(X, y).members_)
    5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "noise": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_members: int = 100, *, noise: float = 0.0) -> None:
        self.n_members = n_members
        self.noise = noise

    def _unfitted(
        self, estimator: Member, data: TrainingData, random: np.random.RandomState
    ) -> list[Member]:
        member = WithNoise(estimator, self.noise) if self.noise else estimator
        return [member] * self.n_members


class WithNoise(OnFeatures):
    """An estimator that is trained on X with noise, and predicts from X without."""

    def __init__(
        self, estimator: Member, noise: float, *, random_state: RandomState = None
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train on X + noise std(X) e, with e normal."""
        A = check_array(X, ensure_all_finite="allow-nan")
        e = check_random_state(self.random_state).normal(size=A.shape)
        return super().fit(A + self.noise * np.nanstd(A, axis=0) * e, y, **fit_params)

    def _features(self, X: Any) -> Any:
        return X


def cross_fitted(
    estimators: Sequence[Member],
    data: TrainingData,
    seeds: IntArray,
    folds: list[Fold],
    options: GenerateOptions,
    *,
    output: Output,
    keep_seeds: bool = False,
) -> Generation:
    """Fit every estimator on all rows, and make F by clones, fold by fold.

        F[n, m] = prediction of row n by a clone of m trained without n's fold

    Predictions of a row that several folds test are averaged; rows that no fold tests
    are not in F. The mask is None, because all of F is held out. Without folds, F is
    None. With `keep_seeds`, seeds set on estimators are kept.
    """
    jobs = (
        (_fit_and_cross_fit, estimator, data, folds, int(seed), output, keep_seeds)
        for estimator, seed in zip(estimators, seeds, strict=True)
    )
    members: list[Member] = []
    slabs: list[FloatArray] = []
    for member, P in run_parallel(
        jobs, len(estimators), n_jobs=options.n_jobs, verbose=options.verbose
    ):
        # Noise is for training only: the fitted estimator itself predicts.
        noisy = isinstance(member, WithNoise)
        members.append(member.estimator if noisy else member)
        slabs.append(P)
    if not folds:
        return Generation(members)
    F = np.moveaxis(np.stack(slabs), 0, 1)
    times = times_tested(folds, len(data))
    if times.all():
        return Generation(members, F)
    rows = np.flatnonzero(times)
    return Generation(members, F[rows], rows=rows)


def _fit_and_cross_fit(
    estimator: Member,
    data: TrainingData,
    folds: list[Fold],
    seed: int,
    output: Output,
    keep_seeds: bool,
) -> tuple[Member, FloatArray]:
    """Return the member fitted on all rows, and its out-of-fold predictions."""

    def fit(rows: IntArray) -> Member:
        sample = Sample.of(rows, data)
        return fit_member(estimator, data, sample, seed, keep_seeds=keep_seeds)

    member = fit(np.arange(len(data)))
    P = data.empty_predictions()
    for train, test in folds:
        X = safe_indexing(data.X, test)
        P[test] += predict_one(fit(train), X, classes=data.classes, output=output)
    times = times_tested(folds, len(data)) if folds else np.ones(len(data))
    return member, (P.T / np.maximum(times, 1)).T


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
