"""Refined trees beside the whole forest, the same trees as they were, and boosting.

Forests of 200 trees, out of bag: the first k as they are, refined, and, with --ep, EP's
choice of at most k as it is and refined. A fresh forest of k trees is what the first k
are. Errors of numbers are mean squared errors in percent of the variance of y, of classes
error rates in percent, on rows that nothing has seen; bytes are of pickled models. Settings
were chosen on other sets: sines, OTL circuit, hours of adult, linear, radius of breast
cancer; make_classification (2 classes), Hastie, Gaussian quantiles, tic-tac-toe, diabetis.

python -m benchmarks refine [--splits 2] [--members 20] [--sets NAME ...] [--ep]
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks._data import load, raetsch
from benchmarks._timing import show
from committee import Average, prune, refine
from committee.pruning.costs import stored_bytes

N_TREES = 200
N_ROWS = 2000
COLUMNS = ("all", "plain", "refined", "EP", "EP refined", "HistGB")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks refine")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--sets", nargs="+", default=[*NUMBERS, *CLASSES])
    parser.add_argument("--ep", action="store_true")
    options = parser.parse_args(argv)
    for title, sets in (("regression", NUMBERS), ("classes", CLASSES)):
        names = [name for name in options.sets if name in sets]
        if not names:
            continue
        found = {
            name: [
                measure(sets[name], split, options.members, options.ep)
                for split in range(options.splits)
            ]
            for name in names
        }
        columns = [c for c in COLUMNS if options.ep or not c.startswith("EP")]
        rows = [table_row(name, runs, columns) for name, runs in found.items()]
        show(
            f"refine, {title}: errors in %, {options.members} of {N_TREES} trees",
            ["set", *columns, "bytes", "time / fit"],
            rows,
        )
        for line in ("refined", "EP refined") if options.ep else ("refined",):
            print(f"{line}: {verdict(title, found, line)}")


def table_row(name, runs, columns):
    cells = [spread([run[column] for run in runs]) for column in columns]
    share, seconds = (
        np.mean([run[x] for run in runs]) for x in ("refined, bytes", "seconds")
    )
    return [name, *cells, f"{100 * share:.1f} %", f"{seconds:.2f}"]


def spread(errors):
    se = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    return f"{np.mean(errors):.2f} ± {se:.2f}"


def verdict(title, found, line):
    means = {
        name: {key: np.mean([run[key] for run in runs]) for key in runs[0]}
        for name, runs in found.items()
    }
    small = sum(m[f"{line}, bytes"] <= 0.05 for m in means.values())
    if title == "regression":
        good = sum(m[line] <= m["all"] for m in means.values())
        ratio = np.mean([m[line] / m["all"] for m in means.values()])
        result = f"at or below all on {good} of {len(means)} sets, ratio {ratio:.3f}"
    else:
        gaps = [(m["plain"] - m["all"], m["plain"] - m[line]) for m in means.values()]
        closed = np.sum(gaps, axis=0)
        worse = [n for n, runs in found.items() if clearly_worse(runs, line)]
        result = (
            f"{closed[1] / closed[0]:.2f} of the gap between plain and all is closed; "
            f"clearly worse than plain: {', '.join(worse) or 'none'}"
        )
    return f"{result}; at most 5 % of the bytes on {small} of {len(means)}."


def clearly_worse(runs, line):
    """Whether it is worse than plain by more than the spread of the difference."""
    d = np.array([run[line] - run["plain"] for run in runs])
    return d.mean() > (d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else 0)


def measure(data, split, k, with_ep):
    """Return the errors in % of all that is compared, on one split."""
    X, X_test, y, y_test = data(split)
    of_classes = y.dtype.kind != "f"
    kind = RandomForestClassifier if of_classes else RandomForestRegressor
    boosting = (
        HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
    )

    def error(model):
        found = model.predict(X_test)
        if of_classes:
            return 100 * np.mean(found != y_test)
        return 100 * np.mean((found - y_test) ** 2) / y_test.var()

    began = time.perf_counter()
    forest = kind(N_TREES, random_state=split).fit(X, y)
    fitted = time.perf_counter()
    small = refine(forest, X, y, max_members=k, oob=True, random_state=split)
    refined = time.perf_counter()
    plain = prune(forest.estimators_[:k], X, codes(y), combiner=Average(), oob=False)
    if of_classes:
        plain.classes_ = forest.classes_
    found = {
        "all": error(forest),
        "plain": error(plain),
        "refined": error(small),
        "HistGB": error(boosting(random_state=split).fit(X, y)),
        "refined, bytes": stored_bytes(small) / stored_bytes(forest),
        "seconds": (refined - fitted) / (fitted - began),
    }
    if with_ep:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ep = prune(forest, X, y, oob=True, max_members=k)
        found["EP"] = error(ep)
        both = refine(ep, X, y, oob=True, random_state=split)
        found["EP refined"] = error(both)
        found["EP refined, bytes"] = stored_bytes(both) / stored_bytes(forest)
    return found


def codes(y):
    """Return classes as the trees of a forest name them."""
    return y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]


def divided(X, y, split, n=N_ROWS):
    n = min(n, int(0.7 * len(y)))
    rest = min(len(y) - n, 5000)
    return train_test_split(X, y, train_size=n, test_size=rest, random_state=split)


def robot_arm(n, rng):
    """Distance of the end of an arm of eight links from a point, as in kin8nm."""
    angles = rng.uniform(-np.pi / 2, np.pi / 2, size=(n, 8))
    turned = np.cumsum(angles, axis=1)
    end = np.stack([np.cos(turned).sum(axis=1), np.sin(turned).sum(axis=1)]) / 8
    return angles, np.hypot(end[0] - 0.1, end[1] - 0.1) + 0.02 * rng.normal(size=n)


def borehole(n, rng):
    """Flow of water through a borehole (Morris and others 1993), with noise."""
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    X = rng.uniform(low, high, size=(n, 8))
    rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
    log = np.log(r / rw)
    flow = 2 * np.pi * Tu * (Hu - Hl)
    flow = flow / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl))
    return X, flow + 5 * rng.normal(size=n)


def made(function, split):
    return divided(*function(7000, np.random.default_rng(split)), split)


def boston(split):
    z = load("boston")
    return divided(z["X"], z["y"].astype(float), split)


def adult(split, target=None):
    z = load("adult")
    X, y = z["X_train"].astype(float), z["y_train"].astype(int)
    if target is not None:
        X, y = np.delete(X, target, axis=1), X[:, target]
    return divided(X, y, split)


def poker(split):
    z = load("poker-hand")
    some = z["y_train"] < 4
    X, y = z["X_train"][some].astype(float), z["y_train"][some].astype(int)
    return divided(X, y, split)


def of_raetsch(name, split):
    X, y, X_test, y_test = raetsch(name, split)
    return X, X_test, y, y_test


NUMBERS = {
    "friedman1": lambda s: divided(*make_friedman1(7000, noise=1.0, random_state=s), s),
    "friedman2": lambda s: divided(*make_friedman2(7000, noise=125, random_state=s), s),
    "friedman3": lambda s: divided(*make_friedman3(7000, noise=0.1, random_state=s), s),
    "robot arm": partial(made, robot_arm),
    "borehole": partial(made, borehole),
    "boston": boston,
    "diabetes": lambda s: divided(*load_diabetes(return_X_y=True), s),
    "adult, age": partial(adult, target=0),
}
CLASSES = {
    **{
        name: partial(of_raetsch, name)
        for name in ("image", "splice", "german", "ringnorm", "waveform")
    },
    "digits (10)": lambda s: divided(*load_digits(return_X_y=True), s),
    "poker (4)": poker,
    "adult": adult,
    "generated (5)": lambda s: divided(
        *make_classification(
            *(7000, 20), n_informative=8, n_classes=5, flip_y=0.05, random_state=s
        ),
        s,
    ),
}
