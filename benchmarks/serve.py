"""A forest of 500 trees, pruned out of bag: what it costs and gains to serve it.

Three sets of more than 10,000 rows. The forest is trained on the training rows and
pruned on the same rows, out of bag; errors are those on fresh rows, with their
standard errors. Rivals: a random part of the same forest and a fresh forest, both of
as many trees, and gradient boosting. Times are of `predict` on the fresh rows, in
turns in one run.
"""

import argparse
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from benchmarks import _data
from benchmarks._timing import ratio, show
from committee import prune
from committee.pruning.costs import stored_bytes


def _adult() -> tuple[np.ndarray, ...]:
    z = _data.load("adult")
    return (
        np.nan_to_num(z["X_train"], nan=-1.0),
        z["y_train"].astype(int),
        np.nan_to_num(z["X_test"], nan=-1.0),
        z["y_test"].astype(int),
    )


def _friedman() -> tuple[np.ndarray, ...]:
    X, y = make_friedman1(30_000, noise=1.0, random_state=0)
    return X[:15_000], y[:15_000], X[15_000:], y[15_000:]


SETS: dict[str, Callable[[], tuple[np.ndarray, ...]]] = {
    "adult": _adult,
    "poker": _data.poker,
    "friedman": _friedman,
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks serve")
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    options = parser.parse_args(argv)
    errors, costs = [], []
    for name in options.sets:
        X, y, X_new, y_new = SETS[name]()
        forest_class = (
            RandomForestRegressor if name == "friedman" else (RandomForestClassifier)
        )
        forest = forest_class(options.trees, random_state=0, n_jobs=-1).fit(X, y)
        forest.set_params(n_jobs=None)
        pruned = prune(forest, X, y, oob=True)
        smaller = pruned.path_.choose(within_se=1)
        committees = {
            "pruned": pruned,
            "pruned, within_se=1": smaller,
            "pruned, max_members=25": pruned.path_.choose(max_members=25),
        }
        models = {f"forest of {options.trees}": forest, **committees}
        for k in (smaller.n_members_, 25):
            models[f"{k} trees at random"] = _random_part(forest, k)
            fresh = forest_class(k, random_state=1, n_jobs=-1).fit(X, y)
            models[f"fresh forest of {k}"] = fresh
        models["gradient boosting"] = _boosting(forest).fit(X, y)
        for label, model in models.items():
            errors.append([name, label, _error(model, X_new, y_new)])
        for label, small in committees.items():
            costs.append([name, label, *_costs(forest, small, X_new)])
    show(
        "Error on fresh rows (rate, or mean squared error)",
        ["set", "model", ""],
        errors,
    )
    show(
        "Cost of the pruned forest, as a share of the whole",
        [
            "set",
            "committee",
            "members",
            "k / M",
            "bytes",
            "seconds",
            "seconds / (k / M)",
        ],
        costs,
    )


def _random_part(forest: Any, k: int) -> Any:
    part = copy.copy(forest)
    chosen = np.random.default_rng(0).choice(len(forest.estimators_), k, replace=False)
    part.estimators_ = [forest.estimators_[m] for m in chosen]
    return part


def _boosting(forest: Any) -> Any:
    if isinstance(forest, RandomForestRegressor):
        return HistGradientBoostingRegressor(random_state=0)
    return HistGradientBoostingClassifier(random_state=0)


def _error(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    said = model.predict(X)
    losses = (said - y) ** 2 if y.dtype.kind == "f" else said != y
    return f"{losses.mean():.4f} ± {losses.std() / np.sqrt(len(y)):.4f}"


def _costs(forest: Any, small: Any, X: np.ndarray) -> list[str]:
    share = small.n_members_ / len(forest.estimators_)
    _, _, seconds = ratio(lambda: small.predict(X), lambda: forest.predict(X), 5)
    return [
        f"{small.n_members_} of {len(forest.estimators_)}",
        f"{share:.3f}",
        f"{stored_bytes(small) / stored_bytes(forest):.3f}",
        f"{seconds:.3f}",
        f"{seconds / share:.2f}",
    ]
