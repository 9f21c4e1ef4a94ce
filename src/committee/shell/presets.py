"""What `committee train` trains unless told otherwise: unlike learners, by preset.

Boosting does the heavy part. Settings follow the number of rows. They, and the names in
a preset, were chosen on generated tables, on scikit-learn's own and on five of Raetsch's,
none of which `python -m benchmarks shell` reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee.shell.choices import PRESETS
from committee.shell.encoding import one_hot, scaling

#: Boosting puts rows aside, watches them and stops in time, above so many rows; so do
#: networks, which get a penalty instead below.
_STOPS_EARLY, _FREE_NETWORK = 10_000, 3_000
#: Both if the rarest class has so many rows.
_RAREST = 20
#: Rows that a tree of a forest draws at most.
_DRAWN = 20_000
#: Rows up to which learners are cross-fitted; above, some are put aside to weigh on.
_CROSS_FITTED = 100_000
#: The share that is put aside then, and its rows at most.
_ASIDE, _MOST_ASIDE = 0.1, 50_000
#: Rows up to which a learner takes part; the others do for any number.
_MOST_ROWS = {"neighbours": 20_000, "network": 20_000}


@dataclass(frozen=True)
class Problem:
    """What the settings depend on.

    Attributes
    ----------
    n_rows : int
    rarest : int or None
        Rows of the rarest class; None for regression.
    codes : list of int
        Columns with codes of words, whose order means nothing.
    n_jobs : int
        Trees of a forest that grow at the same time.
    """

    n_rows: int
    rarest: int | None
    codes: list[int]
    n_jobs: int = 1

    def of_kind(self, classifier: type, regressor: type, **settings: Any) -> Any:
        """Return the learner of the task."""
        return (regressor if self.rarest is None else classifier)(**settings)

    @property
    def weigh_on(self) -> str | float:
        """The rows to weigh members on: cross-fitted ones, or a share put aside."""
        if self.n_rows <= _CROSS_FITTED:
            return "held-out"
        return min(_ASIDE, _MOST_ASIDE / self.n_rows)


def learners(preset: str, problem: Problem) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return the named learners of a preset, and the names that rows are too many for.

    Examples
    --------
    >>> from committee.shell.presets import Problem, learners
    >>> taken, left_out = learners("fast", Problem(30_000, rarest=None, codes=[]))
    >>> [name for name, _ in taken], left_out
    (['boosting', 'shallow-boosting', 'extra-trees', 'linear'], ['network'])
    """
    names = PRESETS[preset]
    left_out = [n for n in names if problem.n_rows > _MOST_ROWS.get(n, problem.n_rows)]
    taken = [(n, _LEARNERS[n](problem)) for n in names if n not in left_out]
    return taken, left_out


def _boosting(problem: Problem) -> Any:
    if not _stops_early(problem):
        settings = {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 15}
    else:
        settings = {"learning_rate": 0.1, "max_iter": 500, "max_leaf_nodes": 63}
    return _boosted(problem, **settings, l2_regularization=1.0, max_features=0.5)


def _boosted(problem: Problem, **settings: Any) -> Any:
    return problem.of_kind(
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        early_stopping=_stops_early(problem),
        **settings,
    )


def _stops_early(problem: Problem) -> bool:
    """Whether there are enough rows to watch, also of the rarest class."""
    return problem.n_rows > _STOPS_EARLY and _has_every_class(problem)


def _has_every_class(problem: Problem) -> bool:
    """Whether rows that are put aside have some of every class."""
    return problem.rarest is None or problem.rarest >= _RAREST


def _forest(problem: Problem) -> Any:
    return problem.of_kind(
        RandomForestClassifier, RandomForestRegressor, **_trees(problem)
    )


def _extra_trees(problem: Problem) -> Any:
    settings = _trees(problem)
    settings["bootstrap"] = settings["max_samples"] is not None
    return problem.of_kind(ExtraTreesClassifier, ExtraTreesRegressor, **settings)


def _trees(problem: Problem) -> dict[str, Any]:
    """Return settings of forests: on many rows trees draw some, and are fewer."""
    share = _DRAWN / problem.n_rows
    return {
        "n_estimators": 200 if share >= 1 else 100,
        "max_samples": None if share >= 1 else share,
        "n_jobs": problem.n_jobs,
    }


def _linear(problem: Problem) -> Any:
    learner = problem.of_kind(
        LogisticRegression,
        Ridge,
        **({} if problem.rarest is None else {"max_iter": 300}),
    )
    return _scaled(problem, learner)


def _neighbours(problem: Problem) -> Any:
    learner = problem.of_kind(
        KNeighborsClassifier,
        KNeighborsRegressor,
        n_neighbors=15,
        weights="distance",
        n_jobs=problem.n_jobs,
    )
    return _scaled(problem, learner)


def _network(problem: Problem) -> Any:
    settings: dict[str, Any]
    if problem.n_rows > _FREE_NETWORK and _has_every_class(problem):
        settings = {"early_stopping": True, "max_iter": 200, "n_iter_no_change": 15}
    else:
        settings = {"alpha": 1.0, "max_iter": 100}
    learner = problem.of_kind(
        MLPClassifier,
        MLPRegressor,
        hidden_layer_sizes=(64,),
        learning_rate_init=3e-3,
        **settings,
    )
    scaled = _scaled(problem, learner)
    if problem.rarest is not None:
        return scaled
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def _scaled(problem: Problem, learner: Any) -> Any:
    """Return a learner that sees no gaps, numbers of unit size, and columns for codes."""
    steps = scaling()
    if problem.codes:
        parts = [("codes", one_hot(), problem.codes)]
        steps.insert(0, ColumnTransformer(parts, remainder="passthrough"))
    return make_pipeline(*steps, learner)


_LEARNERS: dict[str, Callable[[Problem], Any]] = {
    "boosting": _boosting,
    "shallow-boosting": partial(_boosted, max_leaf_nodes=4, max_features=0.5),
    "plain-boosting": _boosted,
    "forest": _forest,
    "extra-trees": _extra_trees,
    "linear": _linear,
    "neighbours": _neighbours,
    "network": _network,
}
