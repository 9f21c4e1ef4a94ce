"""Printed, delivered, fresh: is the error that a model prints the error of fresh rows?

python -m benchmarks printed [--sets adult generated] [--first 0] [--draws 12]
[--rows 1500] [--ensembles NAME ...]

For each ensemble of two classes: the error and the log-loss that it prints of itself
(`summary()`, or the held-out scores of `fit`), those of the model that is delivered
(after `save` and `load`, and as a model of scikit-learn where there is one), and those of
the model in memory, both on fresh rows. The largest difference of their probabilities is a
column. In every draw each ensemble has rows of its own for training, pruning and testing
("pool, 10 folds" those of "pool"); z is the mean over draws of printed minus delivered, in
standard errors of this mean. Boosters and extra trees are pruned on a quarter of the rows,
forests out of bag.
"""

import argparse
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io import get_untrusted_types
from threadpoolctl import threadpool_limits

import committee
from benchmarks._data import load
from benchmarks._timing import show
from committee import (
    Bagging,
    CellKernelClassifier,
    CommitteeClassifier,
    MixtureOfExpertsClassifier,
    Networks,
    Pool,
    SoftmaxGate,
    prune,
    refine,
    save,
)

#: Test rows of a draw, and generated rows that draws are taken from.
FRESH, GENERATED = 5_000, 200_000
PARTS = ("printed", "delivered", "fresh")


@cache
def population(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that draws are taken from."""
    if name == "generated":
        return make_classification(
            GENERATED, 20, n_informative=8, flip_y=0.1, random_state=0
        )
    z = load("adult")
    X = np.concatenate([z["X_train"], z["X_test"]]).astype(float)
    y = np.concatenate([z["y_train"], z["y_test"]]).astype(int)
    complete = np.isfinite(X).all(axis=1)
    return X[complete], y[complete]


def boosters(seed: int):
    """Yield names and boosters of the libraries that are installed."""
    yield (
        "HistGradientBoosting",
        HistGradientBoostingClassifier(max_iter=200, random_state=seed),
    )
    yield "GradientBoosting", GradientBoostingClassifier(random_state=seed)
    try:
        from xgboost import XGBClassifier

        yield "XGBoost", XGBClassifier(n_estimators=500, random_state=seed, n_jobs=1)
    except ImportError:
        pass
    try:
        from lightgbm import LGBMClassifier

        yield "LightGBM", LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    except ImportError:
        pass


def members(seed: int):
    """Return the models of the pool."""
    return [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        GaussianNB(),
        make_pipeline(StandardScaler(), KNeighborsClassifier(20)),
        RandomForestClassifier(50, min_samples_leaf=3, random_state=seed),
        HistGradientBoostingClassifier(max_iter=50, random_state=seed),
    ]


def ensembles(seed: int):
    """Yield names and functions of X, y that return a fitted committee."""

    def forest(X, y, kind=RandomForestClassifier):
        return kind(200, random_state=seed).fit(X, y)

    def apart(model):
        def fit(X, y):
            n = len(y) * 3 // 4
            return prune(model.fit(X[:n], y[:n]), X[n:], y[n:])

        return fit

    def out_of_bag(how, **options):
        return lambda X, y: how(forest(X, y), X, y, oob=True, **options)

    yield "forest", out_of_bag(prune)
    yield (
        "refined forest",
        out_of_bag(refine, max_members=20, random_state=seed),
    )
    yield "extra trees", apart(ExtraTreesClassifier(200, random_state=seed))
    for name, booster in boosters(seed):
        yield name, apart(booster)
    how = {"uncertainty": True, "random_state": seed}
    pool, finer = (Pool(members(seed), n_splits=n) for n in (5, 10))
    models = {
        "pool": lambda: CommitteeClassifier(generator=pool, **how),
        "bag": lambda: CommitteeClassifier(generator=Bagging(50), **how),
        "networks": lambda: CommitteeClassifier(generator=Networks(20), **how),
        "cells": lambda: make_pipeline(StandardScaler(), CellKernelClassifier()),
        "gate": lambda: CommitteeClassifier(generator=pool, gate=SoftmaxGate(), **how),
        "mixture": lambda: make_pipeline(
            StandardScaler(),
            MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, max_iter=25, **how),
        ),
        "pool, 10 folds": lambda: CommitteeClassifier(generator=finer, **how),
    }
    for name, make in models.items():
        yield name, lambda X, y, make=make: make().fit(X, y)


def printed_by(model) -> tuple[float, float]:
    """Return the error and the log-loss that a model prints."""
    if hasattr(model, "summary"):
        found = model.summary()
        return found.error_after, found.log_loss_after
    model = model[-1] if isinstance(model, Pipeline) else model
    lac = model._known_rows().lac  # 1 - p of the right class, on held-out rows
    p = np.maximum(1 - lac.astype(float), 1e-15)
    error = getattr(model, "held_out_error_", None)
    error = float(np.mean(p < 0.5)) if error is None else error  # of cells
    return error, float(-np.log(p).mean())


def losses(p, y) -> tuple[float, float]:
    """Return the error and the log-loss."""
    right = np.maximum(p[np.arange(len(y)), y], 1e-15)
    return float(np.mean(p.argmax(axis=1) != y)), float(-np.log(right).mean())


def delivered(model, X) -> list[np.ndarray]:
    """Return the probabilities of a saved and loaded model, and of scikit-learn's."""
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X), model[-1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        save(model, path)
        own = get_untrusted_types(file=path)  # classes of the boosters' libraries
        found = [committee.load(path, trusted=own).predict_proba(X)]
    if hasattr(model, "to_sklearn"):
        try:
            native = model.to_sklearn()
        except (ValueError, TypeError):
            return found
        if hasattr(native, "predict_proba"):
            found.append(native.predict_proba(X))
    return found


def measured(fit, X, y, X_fresh, y_fresh) -> tuple[np.ndarray, float]:
    """Return losses, a row for each of PARTS, and the largest difference of p."""
    model = fit(X, y)
    p = model.predict_proba(X_fresh)
    found = delivered(model, X_fresh)
    rows = [printed_by(model), losses(found[-1], y_fresh), losses(p, y_fresh)]
    return np.array(rows), max(float(abs(q - p).max()) for q in found)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["adult", "generated"])
    parser.add_argument("--first", type=int, default=0, help="draw")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--ensembles", nargs="+")
    asked = parser.parse_args(argv)
    rows, names = [], list(dict(ensembles(0)))
    for data in asked.sets:
        X, y = population(data)
        for name in asked.ensembles or names:
            e = names.index(name.partition(",")[0])
            found = []
            for draw in range(asked.first, asked.first + asked.draws):
                order = np.random.default_rng([draw, e]).permutation(len(y))
                known, fresh = np.split(order[: asked.rows + FRESH], [asked.rows])
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    fit = dict(ensembles(draw))[name]
                    found.append(measured(fit, X[known], y[known], X[fresh], y[fresh]))
            rows.append([data, name, *cells(found)])
            print("  ".join(rows[-1]), flush=True)
    for i, title in enumerate(("Error", "Log-loss")):
        shown = [[*row[:2], *row[2 + 5 * i : 7 + 5 * i], row[-1]] for row in rows]
        show(title, ["set", "ensemble", *PARTS, "difference", "z", "gap of p"], shown)


def cells(found: list[tuple[np.ndarray, float]]) -> list[str]:
    """Return means over draws, the difference and z, for errors and log-losses."""
    by_draw = np.array([losses for losses, _ in found])
    texts = []
    for i, shown in enumerate(("{:.2%}", "{:.4f}")):
        texts += [shown.format(mean) for mean in by_draw[:, :, i].mean(axis=0)]
        gaps = by_draw[:, 0, i] - by_draw[:, 1, i]
        se = gaps.std(ddof=1) / np.sqrt(len(gaps))
        texts += [
            shown.replace(":", ":+").format(gaps.mean()) + " ± " + shown.format(se)
        ]
        texts += [f"{gaps.mean() / se:+.1f}"]
    return [*texts, f"{max(gap for _, gap in found):.0e}"]


if __name__ == "__main__":
    main(sys.argv[1:])
