"""Intervals at 90 %: coverage of fresh rows, width and seconds, beside MAPIE's.

python -m benchmarks intervals [--sets NAME ...] [--class-sets NAME ...] [--splits 6]
[--members 60] [--rows 400]

Ten sets: five of real data, where one column is predicted from others, and five that
are generated. A forest is measured as a whole and pruned by EP, out of bag; a pool of
models of different kinds is weighed by EP on cross-fitted rows. The rivals are jackknife+ after bootstrap
by MAPIE, which trains as many trees itself, and the quantiles of quantile-forest; each
is left out where it is not installed (pip install mapie quantile-forest). Width is the
mean over test rows, relative to the whole forest at constant width. Seconds are those of
intervals for all test rows, pruning and its folds included. The training of the forest is
not counted, nor the fit of the pool, which cross-fits its weights; that of the rivals'
own trees is.

Then sets of classes on ten other sets, measured alike; size is the mean number of classes in
a set. The rival is MAPIE's cross-conformal classifier around a forest of as many trees.
--sets or --class-sets without a name leaves out one half.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman2, make_friedman3
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from benchmarks import _sets
from benchmarks._data import load
from benchmarks._timing import show
from committee import Average, CommitteeRegressor, Pool, prune

COVERAGE = 0.9
#: Rows to test on, at most.
TEST = 2000
METHODS = ("constant", "scaled", "jackknife+")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks intervals")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument(
        "--class-sets", nargs="*", choices=_sets.SETS, default=list(_sets.SETS)
    )
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--rows", type=int, default=400)
    options = parser.parse_args(argv)
    if options.sets:
        intervals(options)
    if options.class_sets:
        class_sets(options)


def class_sets(options) -> None:
    """Show coverage and size of sets of classes."""
    found = {
        name: [
            _sets.measured(*rows, options.members, seed)
            for seed, rows in enumerate(
                _sets.splits(name, options.splits, options.rows)
            )
        ]
        for name in options.class_sets
    }
    lines = list(dict.fromkeys(line for runs in found.values() for line in runs[0]))
    shown = []
    for line in lines:
        runs = [
            [run[line] for run in runs] for runs in found.values() if line in runs[0]
        ]
        coverage, size, seconds = np.moveaxis(np.array(runs), 2, 0)
        enough = np.sum(coverage.mean(axis=1) >= COVERAGE - 0.02)
        shown.append(
            [
                line,
                spread(100 * coverage.mean(axis=1)),
                f"{enough} of {len(runs)}",
                spread(size.mean(axis=1), 2),
                f"{np.median(seconds):.2f}",
            ]
        )
    show(
        f"sets of classes: {COVERAGE:.0%} asked for, {len(found)} sets, "
        f"{options.splits} splits, {options.rows} rows, {options.members} trees",
        ["", "coverage %", "at least 88 %", "classes", "seconds"],
        shown,
    )


def intervals(options) -> None:
    """Show coverage and width of intervals."""
    found = {
        name: [
            measured(*rows, options.members, seed)
            for seed, rows in enumerate(splits(name, options))
        ]
        for name in options.sets
    }
    lines = list(next(iter(found.values()))[0])
    coverage, width, seconds = (
        {
            line: np.array([[run[line][i] for run in runs] for runs in found.values()])
            for line in lines
        }
        for i in range(3)
    )
    whole = width["whole forest, constant"]
    show(
        f"intervals: {COVERAGE:.0%} asked for, {len(found)} sets, {options.splits} splits, "
        f"{options.rows} rows, {options.members} trees",
        ["", "coverage %", "within 2 points", "width", "seconds"],
        [
            [
                line,
                spread(100 * coverage[line].mean(axis=1)),
                f"{near(coverage[line].mean(axis=1))} of {len(found)}",
                spread((width[line] / whole).mean(axis=1), 3),
                f"{np.median(seconds[line]):.2f}",
            ]
            for line in lines
        ],
    )
    shown = [
        line for line in lines if "constant" not in line and "pruned, j" not in line
    ]
    show(
        "coverage by set, in %",
        ["", *shown],
        [
            [name, *(f"{100 * coverage[line][i].mean():.1f}" for line in shown)]
            for i, name in enumerate(found)
        ],
    )


def near(coverage):
    """Return on how many sets the coverage is within two points."""
    return int(np.sum(np.abs(coverage - COVERAGE) <= 0.02))


def spread(values, digits=1):
    """Return the mean over sets, with its standard error."""
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    se = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.{digits}f} ± {se:.{digits}f}"


def measured(X, y, X_test, y_test, n_members, seed):
    """Return coverage, mean width and seconds of every line, on one split."""
    found = {}

    def add(name, interval):
        start = time.perf_counter()
        lower, upper = interval().T
        seconds = time.perf_counter() - start
        inside = np.mean((lower <= y_test) & (y_test <= upper))
        found[name] = inside, np.mean(upper - lower), seconds

    def add_all(name, make, methods):
        for method in methods:  # made again, so that seconds are of one alone
            add(
                f"{name}, {method}",
                lambda: make().predict_interval(X_test, COVERAGE, method=method),  # noqa: B023
            )

    forest = RandomForestRegressor(n_members, random_state=seed).fit(X, y)
    pool = CommitteeRegressor(
        generator=Pool(learners(seed)),
        combiner="ep",
        uncertainty=True,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add_all(
            "whole forest",
            lambda: prune(forest, X, y, combiner=Average(), oob=True),
            METHODS,
        )
        add_all("EP-pruned", lambda: prune(forest, X, y, oob=True), METHODS)
        pool.fit(X, y)
        add_all("pool by EP", lambda: pool, METHODS[:2])
        for name, rival in rivals().items():
            add(name, lambda: rival(n_members, seed, X, y, X_test))  # noqa: B023
    return found


def learners(seed):
    """Return the models of different kinds of the pool."""
    scaled = StandardScaler
    return [
        ("ridge", make_pipeline(scaled(), RidgeCV(np.logspace(-3, 3, 7)))),
        ("5 neighbours", make_pipeline(scaled(), KNeighborsRegressor(5))),
        ("20 neighbours", make_pipeline(scaled(), KNeighborsRegressor(20))),
        ("svr", make_pipeline(scaled(), SVR(C=10.0))),
        ("tree", DecisionTreeRegressor(min_samples_leaf=10, random_state=seed)),
        ("forest", RandomForestRegressor(20, random_state=seed)),
    ]


def rivals():
    """Return the rivals that are installed."""
    found = {}
    try:
        from mapie.regression import JackknifeAfterBootstrapRegressor  # noqa: F401

        found["MAPIE, jackknife+ after bootstrap"] = mapie
    except ImportError:
        print("MAPIE is not installed: its line is left out.")
    try:
        import quantile_forest  # noqa: F401

        found["quantile-forest"] = quantile
    except ImportError:
        print("quantile-forest is not installed: its line is left out.")
    return found


def mapie(n_members, seed, X, y, X_test):
    from mapie.regression import JackknifeAfterBootstrapRegressor
    from mapie.subsample import Subsample

    model = JackknifeAfterBootstrapRegressor(
        DecisionTreeRegressor(random_state=seed),
        confidence_level=COVERAGE,
        method="plus",
        resampling=Subsample(n_resamplings=n_members, random_state=seed),
        aggregation_method="mean",
    )
    return model.fit_conformalize(X, y).predict_interval(X_test)[1][:, :, 0]


def quantile(n_members, seed, X, y, X_test):
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(n_members, random_state=seed).fit(X, y)
    ends = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
    return model.predict(X_test, quantiles=ends)


def splits(name, options):
    """Yield X, y, X_test, y_test."""
    X, y = SETS[name]()
    n = min(options.rows, len(y) * 2 // 3)
    shuffles = ShuffleSplit(
        options.splits,
        train_size=n,
        test_size=min(TEST, len(y) - n),
        random_state=0,
    )
    for train, test in shuffles.split(X):
        yield X[train], y[train], X[test], y[test]


def column(name, j, key="X"):
    """Return column j, to be predicted from the others."""
    X = load(name)[key].astype(float)
    X = X[~np.isnan(X).any(axis=1)]
    return np.delete(X, j, axis=1), X[:, j]


def boston():
    z = load("boston")
    return z["X"], z["y"]


def made(noise, seed):
    """Return 4,000 rows of a product and a wave, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(4000, 6))
    f = 10 * X[:, 0] * X[:, 1] + 3 * np.sin(6 * X[:, 3])
    return X, f + noise(rng, X)


SETS = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "boston": boston,
    "adult-age": lambda: column("adult", 0, "X_test"),
    "image-16": lambda: column("raetsch_image", 16),
    "waveform-10": lambda: column("raetsch_waveform", 10),
    "friedman2": lambda: make_friedman2(4000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(4000, noise=0.2, random_state=0),
    "growing": lambda: made(
        lambda rng, X: (0.2 + 2 * X[:, 2]) * rng.normal(size=len(X)), 1
    ),
    "heavy-tails": lambda: made(lambda rng, X: rng.standard_t(2, len(X)), 2),
    "skewed": lambda: made(lambda rng, X: rng.exponential(2.0, len(X)), 3),
}
