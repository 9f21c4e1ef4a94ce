"""prune() against what it cannot do without: F and one fit of the combiner.

The summary is measured on first use and has a line of its own. So have fresh rows, where
prune() also checks that they are not among the training rows.

With --boosters SPLITS: errors of pruned boosters instead, see `boosters`.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    make_classification,
    make_friedman1,
    make_regression,
)
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier, XGBRegressor

import committee
from benchmarks._timing import ratio, show
from committee import EPPruner, member_predictions, prune
from committee.ensembles import roster_of

#: The most that prune() may take, in units of F and one fit.
_BAR = 1.15


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks prune")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--members", type=int, default=300)
    parser.add_argument("--boosters", type=int, metavar="SPLITS")
    options = parser.parse_args(argv)
    if options.boosters:
        boosters(options.boosters)
        return
    N, M = options.rows, options.members
    rows = []
    for task, make, kind in (
        ("two classes", make_classification, RandomForestClassifier),
        ("regression", make_regression, RandomForestRegressor),
    ):
        X, y = make(2 * N, 20, n_informative=8, random_state=0)
        X, y, fresh = X[:N], y[:N], (X[N:], y[N:])
        forest = kind(M, random_state=0, n_jobs=-1).fit(X, y).set_params(n_jobs=None)

        def plain(forest=forest, X=X, y=y):
            mask = roster_of(forest).held_out(len(X))
            EPPruner().fit(member_predictions(forest, X), y, held_out=mask)

        def plain_fresh(forest=forest, rows=fresh):
            EPPruner().fit(member_predictions(forest, rows[0]), rows[1])

        def pruned(forest=forest, X=X, y=y):
            return prune(forest, X, y, oob=True)

        for name, call, least in (
            ("prune", pruned, plain),
            ("prune and summary", lambda pruned=pruned: pruned().summary(), plain),
            (
                "prune, fresh rows",
                lambda forest=forest, rows=fresh: prune(forest, *rows),
                plain_fresh,
            ),
        ):
            ours, limit, times = ratio(call, least)
            line = [f"{name}, {task}", f"{ours:.2f}", f"{limit:.2f}", f"{times:.2f}"]
            rows.append([*line, "" if "summary" in name else f"{_BAR}"])
        rows.append([f"modules passed, {task}", f"{_modules(pruned)}", "", "", "30"])
    show(
        f"RandomForest({M}) on {N:,} rows, out of bag and fresh",
        ["call", "seconds", "F and one EP fit", "ratio", "at most"],
        rows,
    )


def boosters(n_splits: int) -> None:
    """Print RMSE or log-loss of boosters of 100 rounds on fresh rows, means over splits.

    They are trained on half of 1,000 rows (of three quarters of smaller sets), and pruned
    on the other half. "First 20" are the first rounds, "both" is trained on both halves.
    """
    little, much = (make_friedman1(4000, noise=s, random_state=0) for s in (1.0, 4.0))
    problems = {
        "little noise": little,
        "much noise": much,
        "diabetes": load_diabetes(return_X_y=True),
        "40 % wrong labels": make_classification(
            4000, n_informative=8, flip_y=0.4, random_state=0
        ),
        "breast cancer": load_breast_cancer(return_X_y=True),
    }
    own, files = {"n_jobs": 1}, {"allow_writing_files": False, "thread_count": 1}
    libraries = {
        "LightGBM": (LGBMRegressor, LGBMClassifier, {"verbose": -1, **own}),
        "XGBoost": (XGBRegressor, XGBClassifier, own),
        "CatBoost": (
            *(CatBoostRegressor, CatBoostClassifier),
            {"verbose": False, **files},
        ),
    }
    columns = ["as trained", "pruned", "rounds", "20 rounds", "first 20", "both"]
    rows = []
    for data, (X, y) in problems.items():
        for library, (*kinds, quiet) in libraries.items():
            kind = kinds[y.dtype.kind in "iu" and len(np.unique(y)) == 2]

            def booster(n=100, kind=kind, quiet=quiet):
                return kind(n_estimators=n, **quiet)

            found = [_errors(booster, X, y, split) for split in range(n_splits)]
            cells = [f"{value:.3g}" for value in np.mean(found, axis=0)]
            rows.append([data, library, *cells])
            print(*rows[-1], flush=True)
    show(f"boosters, {n_splits} splits", ["data", "library", *columns], rows)


def _errors(booster, X, y, split: int) -> list[float]:
    """Return the cells of one line, in the order of its columns."""
    train = min(1000, len(y) * 3 // 4)
    rows, test = train_test_split(
        np.arange(len(y)), train_size=train, random_state=split
    )
    a, b = np.array_split(rows, 2)

    def error(model):
        if hasattr(model, "predict_proba"):
            return log_loss(y[test], model.predict_proba(X[test]))
        return root_mean_squared_error(y[test], model.predict(X[test]))

    whole = booster().fit(X[a], y[a])
    small = prune(whole, X[b], y[b])
    few = small.path_.choose(max_members=20)
    rivals = [few, booster(20).fit(X[a], y[a]), booster().fit(X[rows], y[rows])]
    return [error(whole), error(small), small.n_members_, *map(error, rivals)]


def _modules(call) -> int:
    """Return how many files of the library a call passes."""
    home, files = str(Path(committee.__file__).parent), set()
    sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(None)
    return sum(name.startswith(home) for name in files)
