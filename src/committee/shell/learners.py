"""The learners of a preset: their settings, and training them within a time limit.

Settings depend on the number of rows. They, and the learners of each preset, were chosen
on generated tables, on scikit-learn's own and on five of Raetsch's; `python -m benchmarks
shell` reports none of these.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from committee._parallel import track
from committee._typing import IntArray, Member
from committee.ensembles.boosted import Boosted, BoostedClassifier, BoostedRegressor
from committee.members import Generation, MemberFitError, Pool, TrainingData
from committee.members.base import GenerateOptions, Sample, draw_seeds, take
from committee.members.training import fit_member, set_random_states
from committee.shell.encoding import TableEncoding, one_hot, scaling
from committee.shell.messages import listed
from committee.shell.options import PRESETS, Train

#: Above so many rows boosting puts some aside and stops early, if the rarest class has
#: enough of them.
_STOPS_EARLY, _RAREST = 10_000, 20
#: Rows that a tree of a forest draws at most.
_DRAWN = 20_000
#: Learners are cross-fitted up to so many rows; above, some rows are set aside to weigh
#: on: this share, and at most this number.
_CROSS_FITTED, _ASIDE, _MOST_ASIDE = 100_000, 0.1, 50_000
#: Folds of the cross-fit.
_FOLDS = 5
#: Rows up to which a learner takes part; the others have no limit.
_MOST_ROWS = {"neighbours": 20_000, "network": 20_000}

#: A learner is timed on this share of the rows and on half of it, at most on so many.
_PART, _TIMED = 1 / 8, 40_000
#: Rows that the first learner gets even if time is up.
_FEWEST = 10_000
#: Size of a table (rows x columns x classes) up to which learners are not timed, for each
#: minute that is left, and up to which they get one thread.
_QUICK, _ONE_THREAD = 200_000, 2_000_000


_HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
#: Penalties of boosting with many leaves or rounds.
_PENALTIES = {"l2_regularization": 1.0, "max_features": 0.5}


# --- which learners ---------------------------------------------------------------------


@dataclass(frozen=True)
class TableSize:
    """Facts about a table that the settings of the learners depend on.

    Attributes
    ----------
    n_rows : int
    rarest : int or None
        Rows of the rarest class; None for regression.
    codes : list of int
        Columns with category codes, whose order has no meaning.
    n_jobs : int
        Trees of a forest that grow in parallel.
    """

    n_rows: int
    rarest: int | None
    codes: list[int]
    n_jobs: int = 1

    def of_kind(self, classifier: type, regressor: type, **settings: Any) -> Any:
        """Return the classifier or the regressor with some settings."""
        return (regressor if self.rarest is None else classifier)(**settings)

    @property
    def stops_early(self) -> bool:
        """True for many rows, if every class has enough of them to put some aside."""
        enough = self.rarest is None or self.rarest >= _RAREST
        return self.n_rows > _STOPS_EARLY and enough

    @property
    def weigh_on(self) -> str | float:
        """Rows to weigh members on: cross-fitted ones, or a share set aside."""
        if self.n_rows <= _CROSS_FITTED:
            return "held-out"
        return min(_ASIDE, _MOST_ASIDE / self.n_rows)


def learners_of(
    preset: str, table: TableSize
) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return (name, learner) pairs of a preset, and the names skipped for many rows.

    Examples
    --------
    >>> from committee.shell.learners import TableSize, learners_of
    >>> taken, skipped = learners_of("fast", TableSize(30_000, rarest=None, codes=[]))
    >>> [name for name, _ in taken], skipped
    ([..., 'boosting', 'shallow-boosting', 'extra-trees', 'linear'], ['network'])
    """
    own = ("catboost", "xgboost")
    names = [n for n in PRESETS[preset] if n not in own or _installed(n)]
    skipped = [n for n in names if table.n_rows > _MOST_ROWS.get(n, table.n_rows)]
    return [(n, _LEARNERS[n](table)) for n in names if n not in skipped], skipped


def boosting_by(learners: Sequence[Member]) -> str | None:
    """Return the libraries of boosters among the learners, with their versions."""
    found = {
        learner.library if isinstance(learner, Boosted) else "scikit-learn"
        for learner in learners
        if isinstance(learner, (Boosted, *_HISTOGRAMS))
    }
    return ", ".join(f"{name} {version(name)}" for name in sorted(found)) or None


def _installed(library: str) -> bool:
    """Return True if a library can be imported; do not import it."""
    return find_spec(library) is not None


def _by_library(table: TableSize, library: str, **settings: Any) -> Any:
    how = {"library": library, "settings": settings, "n_jobs": table.n_jobs}
    return table.of_kind(BoostedClassifier, BoostedRegressor, **how)


def _lightgbm_or_own(table: TableSize, own: dict[str, Any], **settings: Any) -> Any:
    """Return LightGBM where it is installed and need not stop early."""
    if table.stops_early or not _installed("lightgbm"):
        return _boosted(table, **own)
    return _by_library(table, "lightgbm", **settings)


def _boosting(table: TableSize) -> Any:
    own = {"max_iter": 500, "max_leaf_nodes": 63, **_PENALTIES}
    settings = {"n_estimators": 150, "learning_rate": 0.07, "num_leaves": 31}
    settings |= {"min_child_samples": 10, "colsample_bytree": 0.7}
    settings |= {"subsample": 0.8, "subsample_freq": 1, "reg_lambda": 1.0}
    return _lightgbm_or_own(table, own if table.stops_early else {}, **settings)


def _shallow_boosting(table: TableSize) -> Any:
    own = {"max_leaf_nodes": 4, "max_features": 0.5}
    settings = {"n_estimators": 200, "num_leaves": 4, "colsample_bytree": 0.5}
    return _lightgbm_or_own(table, own, **settings)


def _catboost(table: TableSize) -> Any:
    """Return CatBoost with few bins: two thirds of the time, and no more error."""
    settings: dict[str, Any] = {"iterations": 250, "learning_rate": 0.12, "depth": 5}
    if table.n_rows > _STOPS_EARLY:
        settings = {"iterations": 500, "learning_rate": 0.1, "depth": 6}
    settings |= {"boosting_type": "Plain", "max_bin": 64}
    return _by_library(table, "catboost", **settings)


def _xgboost(table: TableSize) -> Any:
    settings = {"n_estimators": 200, "learning_rate": 0.05, "max_depth": 6}
    settings |= {"subsample": 0.8, "colsample_bytree": 0.6}
    return _by_library(table, "xgboost", **settings)


def _slow_boosting(table: TableSize) -> Any:
    settings = {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 15}
    return _boosted(table, **settings, **_PENALTIES)


def _boosted(table: TableSize, **settings: Any) -> Any:
    return table.of_kind(*_HISTOGRAMS, early_stopping=table.stops_early, **settings)


def _forest(table: TableSize, *kinds: type, bootstrap: bool = False) -> Any:
    """Return a forest; on many rows its trees draw some of the rows."""
    many = table.n_rows > _DRAWN
    settings: dict[str, Any] = {"n_estimators": 100, "min_samples_leaf": 2}
    settings["max_features"] = 0.5 if table.rarest is None else "sqrt"
    settings["max_samples"] = _DRAWN / table.n_rows if many else None
    settings |= {"bootstrap": bootstrap or many, "n_jobs": table.n_jobs}
    return table.of_kind(*kinds, **settings)


def _linear(table: TableSize) -> Any:
    settings = {} if table.rarest is None else {"max_iter": 300}
    return _scaled(table, table.of_kind(LogisticRegression, Ridge, **settings))


def _neighbours(table: TableSize) -> Any:
    settings: dict[str, Any] = {"n_neighbors": 15, "weights": "distance"}
    settings["n_jobs"] = table.n_jobs
    kinds = KNeighborsClassifier, KNeighborsRegressor
    return _scaled(table, table.of_kind(*kinds, **settings))


def _network(table: TableSize) -> Any:
    settings: dict[str, Any] = {"hidden_layer_sizes": (48, 24), "alpha": 1.0}
    settings |= {"learning_rate_init": 3e-3, "max_iter": 40}
    scaled = _scaled(table, table.of_kind(MLPClassifier, MLPRegressor, **settings))
    if table.rarest is not None:
        return scaled
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def _scaled(table: TableSize, learner: Any) -> Any:
    """Return a pipeline without gaps, with unit variances and a column for each code."""
    steps = scaling()
    if table.codes:
        parts = [("codes", one_hot(), table.codes)]
        steps.insert(0, ColumnTransformer(parts, remainder="passthrough"))
    return make_pipeline(*steps, learner)


_LEARNERS: dict[str, Callable[[TableSize], Any]] = {
    "boosting": _boosting,
    "catboost": _catboost,
    "xgboost": _xgboost,
    "shallow-boosting": _shallow_boosting,
    "slow-boosting": _slow_boosting,
    "forest": lambda table: _forest(
        table, RandomForestClassifier, RandomForestRegressor, bootstrap=True
    ),
    "extra-trees": lambda table: _forest(
        table, ExtraTreesClassifier, ExtraTreesRegressor
    ),
    "linear": _linear,
    "neighbours": _neighbours,
    "network": _network,
}


# --- in time ----------------------------------------------------------------------------


def fit_time(
    learner: Member, data: TrainingData, left: float = 0.0
) -> tuple[float, float]:
    """Time a learner on n and on n / 2 rows; `left` are the seconds to the deadline.

    Returns
    -------
    start, by_row : float
        A fit on n rows takes about start + by_row n seconds. Both are zero for a table
        that is small beside the time that is left.
    """
    if _size(data) <= _QUICK * max(1.0, left / 60.0):
        return 0.0, 0.0
    n, order = min(int(len(data) * _PART), _TIMED), _shuffled(len(data))
    try:
        with _threads_for(data):
            half, whole = (
                _seconds(learner, take(data, order[:size])) for size in (n // 2, n)
            )
    except ValueError:  # few rows may lack what all have, such as a second class
        return 0.0, 0.0
    by_row = max(whole - half, 0.0) / (n - n // 2)
    return whole - by_row * n, by_row


class TimedPool(Pool):
    """A `Pool` whose learners are trained in turn, the most valuable first.

    A learner is timed on n rows (an eighth of all, 40,000 at most) and on half of them.
    It is skipped if the straight line through both times exceeds the time that is left:

        fits (t_n + (N - n) (t_n - t_{n/2}) / (n / 2)) > time that is left

    The first learner is always trained. If rows were set aside to weigh on, it gets as
    many of the others as half of the time suffices for. Seeds and folds do not depend on
    which learners are skipped.

    Parameters
    ----------
    estimators : list of (name, estimator) pairs
    n_splits : int, default=5
    deadline : float, default=inf
        Time to finish, on the clock of `time.monotonic`.

    Attributes
    ----------
    trained : list of str
        Learners trained by the last `generate`, in the order of its members.
    too_slow : list of str
        Learners that were skipped.
    shortened : dict of int
        Rows of a learner that could not be trained on all of them in time.
    failed : dict of str
        Errors of learners that could not be trained on these rows.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Pool._parameter_constraints,
        "deadline": [float],
    }

    trained: list[str]
    too_slow: list[str]
    shortened: dict[str, int]
    failed: dict[str, str]

    def __init__(
        self,
        estimators: Sequence[Any],
        n_splits: int = 5,
        deadline: float = float("inf"),
    ) -> None:
        super().__init__(estimators, n_splits)
        self.deadline = deadline

    def generate(
        self, estimator: Member, data: TrainingData, **options: Any
    ) -> Generation:
        """Train the learners in turn; see `Generator.generate`."""
        self.trained, self.too_slow, self.shortened, self.failed = [], [], {}, {}
        how = GenerateOptions(**options)
        M, held_out = self.n_members, how.held_out
        rng = check_random_state(how.random_state)
        # The last seed is for the folds.
        *seeds, seed = draw_seeds(rng, M + 1).tolist()
        fits = self.n_splits + 1 if held_out else 1
        done: list[Generation] = []
        turns = list(zip(self.names, self.members, seeds, strict=True))
        for name, learner, own_seed in track(turns, M, "training", how.verbose):
            left = self.deadline - time.monotonic()
            rows, (start, by_row) = data, fit_time(learner, data, left)
            needed = fits * (start + by_row * len(data))
            if time.monotonic() + needed > self.deadline:
                if done:
                    self.too_slow.append(name)
                    continue
                if not held_out:
                    rows = self._fewer(name, data, start, by_row)
            member = clone(learner)
            set_random_states(member, own_seed, only_unset=True)
            try:
                made = self._cross_fitted(member, rows, seed, held_out)
            except MemberFitError as error:
                self.failed[name] = str(error.__cause__)
                continue
            self.trained.append(name)
            done.append(made)
        if not done:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.failed.items())
            raise ValueError(f"No learner could be trained on these rows. {reasons}")
        F = [part.F for part in done if part.F is not None]
        members = [member for part in done for member in part.members]
        return Generation(
            members, np.concatenate(F, axis=1) if F else None, names=list(self.trained)
        )

    def _fewer(
        self, name: str, data: TrainingData, start: float, by_row: float
    ) -> TrainingData:
        """Return as many rows as half of the remaining time suffices for."""
        half = (self.deadline - time.monotonic()) / 2
        n = max(int((half - start) / by_row), _FEWEST) if by_row else len(data)
        if n >= len(data):
            return data
        self.shortened[name] = n
        return take(data, np.sort(_shuffled(len(data))[:n]))

    def _cross_fitted(
        self, member: Member, data: TrainingData, seed: int, held_out: bool
    ) -> Generation:
        with warnings.catch_warnings(), _threads_for(data):
            # Some learners are meant to stop before they have converged.
            warnings.simplefilter("ignore", ConvergenceWarning)
            pool = Pool([member], self.n_splits)
            return pool.generate(None, data, held_out=held_out, random_state=seed)


def _shuffled(n_rows: int) -> IntArray:
    """Return the row numbers in an order that is always the same."""
    return np.random.RandomState(0).permutation(n_rows)


def _size(data: TrainingData) -> int:
    return len(data) * int(data.X.shape[1]) * (data.n_classes or 1)


def _threads_for(data: TrainingData) -> AbstractContextManager[Any]:
    """Return a context that limits OpenMP to one thread, unless the table is large.

    Threads wait for each other at every node of a tree. On a busy machine that took a
    hundred times the time of one thread for 178 rows, and four times for 32,000.
    """
    limits: AbstractContextManager[Any] = threadpool_limits(
        limits=1 if _size(data) <= _ONE_THREAD else None, user_api="openmp"
    )
    return limits


def _seconds(learner: Member, data: TrainingData) -> float:
    """Return the seconds to fit some rows and to predict a fifth of them."""
    rows = np.arange(len(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        member = fit_member(learner, data, Sample.of(rows, data), 0, keep_seeds=True)
        member.predict(data.X[: len(rows) // 5 + 1])
        return time.perf_counter() - start


# --- as a committee ---------------------------------------------------------------------


def fit_pool(
    committee: Any, encoding: TableEncoding, options: Train, start: float
) -> None:
    """Fit a committee of the learners of a preset, with notes about those skipped.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        Without a generator.
    encoding : TableEncoding
    options : Train
    start : float
        Start of the command on the clock of `time.monotonic`.
    """
    X, y, K = encoding.X, encoding.y, encoding.n_classes
    note, minutes = options.messages.note, f"{options.minutes or 0.0:g} minutes"
    rarest = None if K is None else int(np.unique(y, return_counts=True)[1].min())
    # Forests sum the predictions of their trees in the order in which threads finish.
    large = len(y) * X.shape[1] * (K or 1) > _ONE_THREAD
    jobs = options.jobs if large else 1
    table = TableSize(len(y), rarest, encoding.codes, jobs)
    taken, too_many = learners_of(str(options.preset), table)
    if too_many:
        note(f"{len(y):,} rows are too many for {listed(too_many)}: left out.")
    deadline = start + 60.0 * (options.minutes or 0.0)
    pool = TimedPool(taken, max(2, min(_FOLDS, len(y))), deadline)
    committee.set_params(generator=pool, weigh_on=table.weigh_on).fit(X, y)
    if pool.too_slow:
        note(
            f"{listed(pool.too_slow)} left out, which would have taken more than the "
            f"{minutes}; give more with --minutes. Without a time limit the same seed "
            "gives the same model."
        )
    for name, n_rows in pool.shortened.items():
        note(
            f"{name!r} was trained on {n_rows:,} rows, drawn at random: more would have "
            f"taken longer than the {minutes}; give more with --minutes."
        )
    for name, reason in pool.failed.items():
        note(f"{name!r} left out: it could not be trained on these rows. {reason}")
    # The file holds a plain pool, without a number of jobs.
    kept = [(name, learner) for name, learner in taken if name in pool.trained]
    for member in [*committee.members_, *(learner for _, learner in kept)]:
        own = [n for n in member.get_params() if n.split("__")[-1] == "n_jobs"]
        member.set_params(**dict.fromkeys(own))
    committee.set_params(generator=Pool(kept, pool.n_splits))
