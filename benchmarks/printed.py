"""Printed, delivered, fresh: is the error that a model prints the error of fresh rows?

python -m benchmarks printed [--sets adult generated] [--first 0] [--seeds 3]
[--rows 3000] [--ensembles NAME ...]

For each ensemble of two classes: the error and the log-loss that it prints of itself
(`summary()`, or the held-out scores of `fit`), those of the model that is delivered
(after `save` and `load`, and as a model of scikit-learn where there is one), and those of
fresh rows in memory. Delivered and fresh are measured on the same rows and are equal up
to rounding; the largest difference of their probabilities is a column. Printed and fresh
differ by z standard errors, for all seeds together: both are means over their rows, and the
standard deviation of a row's loss is taken from the fresh rows. Lines with the same seed
share their rows, so that their z go together: if these rows are hard, all are high. What is
hard is told by a control, a booster that was trained on other rows. By its losses on both
sets of rows, times the slope of the ensemble's losses on its, the difference is corrected:
"rows" is the correction, "z left" the z of what is left, in standard errors of what the
control leaves. Boosters and extra trees are pruned on a quarter of the rows, forests out of
bag.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

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

#: Fresh rows, at most.
FRESH = 20_000


class Line(NamedTuple):
    """Losses of one ensemble on one split."""

    printed: tuple[float, float]
    n_printed: int
    delivered: tuple[float, float]
    gap: float
    fresh: tuple[float, float]
    spread: tuple[float, float]
    rows: tuple[float, float]
    left: tuple[float, float]
    n_fresh: int

    @property
    def z(self) -> np.ndarray:
        """(printed - fresh) / s, for error and log-loss."""
        return np.subtract(self.printed, self.fresh) / self._se(self.spread)

    @property
    def z_left(self) -> np.ndarray:
        """(printed - fresh - rows) / s, s of what the control leaves."""
        gap = np.subtract(self.printed, self.fresh) - self.rows
        return gap / self._se(self.left)

    def _se(self, spread) -> np.ndarray:
        return np.array(spread) * np.sqrt(1 / self.n_printed + 1 / self.n_fresh)


def rows_of(name: str, seed: int, n: int):
    """Return X, y of n rows, fresh X, y, and X, y of n rows for the control."""
    if name == "generated":
        X, y = make_classification(
            2 * n + FRESH, 20, n_informative=8, flip_y=0.1, random_state=seed
        )
    else:
        z = load("adult")
        X = np.concatenate([z["X_train"], z["X_test"]]).astype(float)
        y = np.concatenate([z["y_train"], z["y_test"]]).astype(int)
        complete = np.isfinite(X).all(axis=1)
        X, y = X[complete], y[complete]
    order = np.random.default_rng(seed).permutation(len(y))
    parts = np.split(order[: 2 * n + FRESH], [n, n + FRESH])
    return [(X[rows], y[rows]) for rows in parts]


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
    pool = Pool(members(seed))
    models = {
        "pool": lambda: CommitteeClassifier(generator=pool, **how),
        "bag": lambda: CommitteeClassifier(generator=Bagging(50), **how),
        "networks": lambda: CommitteeClassifier(generator=Networks(20), **how),
        "cells": lambda: make_pipeline(StandardScaler(), CellKernelClassifier()),
        "gate": lambda: CommitteeClassifier(generator=pool, gate=SoftmaxGate(), **how),
        "mixture": lambda: make_pipeline(
            StandardScaler(),
            MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, **how),
        ),
    }
    for name, make in models.items():
        yield name, lambda X, y, make=make: make().fit(X, y)


def printed_by(model) -> tuple[tuple[float, float], int]:
    """Return the error and the log-loss that a model prints, and the number of rows."""
    if hasattr(model, "summary"):
        found = model.summary()
        return (found.error_after, found.log_loss_after), found.n_rows
    model = model[-1] if isinstance(model, Pipeline) else model
    lac = model._known_rows().lac  # 1 - p of the right class, on held-out rows
    p = np.maximum(1 - lac.astype(float), 1e-15)
    error = getattr(model, "held_out_error_", None)
    error = float(np.mean(p < 0.5)) if error is None else error  # of cells
    return (error, float(-np.log(p).mean())), len(p)


def losses(p, y):
    """Return errors and log-losses by row."""
    right = np.maximum(p[np.arange(len(y)), y], 1e-15)
    return (p.argmax(axis=1) != y).astype(float), -np.log(right)


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


def line_of(fit, data) -> Line:
    (X, y), (X_fresh, y_fresh), others = data
    model = fit(X, y)
    printed, n_printed = printed_by(model)
    p = model.predict_proba(X_fresh)
    found = delivered(model, X_fresh)
    by_row = losses(p, y_fresh)
    control = HistGradientBoostingClassifier(random_state=0).fit(*others)
    last = len(y) // 4 if n_printed <= len(y) // 4 else len(y)
    on_rows, on_fresh = (
        losses(control.predict_proba(X), y)
        for X, y in ((X[-last:], y[-last:]), (X_fresh, y_fresh))
    )
    rows, left = [], []
    for own, known, new in zip(by_row, on_rows, on_fresh, strict=True):
        slope = np.cov(own, new)[0, 1] / new.var()
        rows.append(float(slope * (known.mean() - new.mean())))
        left.append(float((own - slope * new).std()))
    return Line(
        printed,
        n_printed,
        tuple(float(loss.mean()) for loss in losses(found[-1], y_fresh)),
        max(float(abs(q - p).max()) for q in found),
        tuple(float(loss.mean()) for loss in by_row),
        tuple(float(loss.std()) for loss in by_row),
        tuple(rows),
        tuple(left),
        len(y_fresh),
    )


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["adult", "generated"])
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--ensembles", nargs="+")
    asked = parser.parse_args(argv)
    rows = []
    for data in asked.sets:
        for name, _ in ensembles(0):
            if asked.ensembles and name not in asked.ensembles:
                continue
            found = []
            for seed in range(asked.first, asked.first + asked.seeds):
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    fit = dict(ensembles(seed))[name]
                    found.append(line_of(fit, rows_of(data, seed, asked.rows)))
            rows.append(row_of(data, name, found))
            print("  ".join(rows[-1]), flush=True)
    columns = ["printed", "delivered", "fresh", "z", "rows", "z left"]
    for i, title in enumerate(("Error", "Log-loss")):
        cells = [[*row[:2], *row[2 + 6 * i : 8 + 6 * i], row[-1]] for row in rows]
        show(title, ["set", "ensemble", *columns, "gap of p"], cells)


def row_of(data: str, name: str, found: list[Line]) -> list[str]:
    """Return the means over seeds, and z of all seeds."""
    cells = [data, name]
    for i, shown in enumerate(("{:.2%}", "{:.4f}")):
        for part in ("printed", "delivered", "fresh"):
            mean = np.mean([getattr(line, part)[i] for line in found])
            cells.append(shown.format(mean))
        root = np.sqrt(len(found))
        cells.append(f"{sum(line.z[i] for line in found) / root:+.1f}")
        rows = np.mean([line.rows[i] for line in found])
        cells.append(shown.replace(":", ":+").format(rows))
        cells.append(f"{sum(line.z_left[i] for line in found) / root:+.1f}")
    return [*cells, f"{max(line.gap for line in found):.0e}"]


if __name__ == "__main__":
    main(sys.argv[1:])
