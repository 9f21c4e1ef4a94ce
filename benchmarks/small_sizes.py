"""Out-of-bag errors of small committees against their errors on fresh rows.

Forests of 200 trees; committees of k trees, the first of the forest and those that EP
chose on out-of-bag rows. "Counted" is the error on the votes that there are, with the
most frequent class or the mean of y where there are none; "filled" is that of
`FilledVotes`, which `prune` gives as the error of a path. EP's committees are
cross-fitted in both cases. Errors of numbers are in percent of the variance of y.

python -m benchmarks small-sizes [SPLITS], 2 unless given.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, train_test_split

from benchmarks._data import load, raetsch
from benchmarks._timing import show
from committee import EPPruner, combine
from committee.ensembles import roster_of
from committee.losses import decided, error_losses
from committee.predictions import predict_members
from committee.votes import Votes

SIZES = (5, 10, 20, 50)
N_TREES = 200
#: The difference may be at most this share of what counting has.
BAR = 1 / 3


class Outcome(NamedTuple):
    """Errors in % of one committee."""

    name: str
    choice: str
    size: int
    counted: float
    filled: float
    fresh: float


def main(argv: list[str]) -> None:
    n_splits = int(argv[0]) if argv else 2
    outcomes = [
        outcome
        for name in SETS
        for split in range(n_splits)
        for outcome in measure(name, split)
    ]
    for choice in ("first k", "EP"):
        some = [o for o in outcomes if o.choice == choice]
        show(
            f"small-sizes: {choice}, errors in %: counted / filled / fresh rows",
            ["set", *(f"k = {k}" for k in SIZES)],
            [[name, *(cell(some, name, k) for k in SIZES)] for name in SETS],
        )
    show(
        "small-sizes: mean absolute difference from fresh rows, with its standard error",
        ["committees", "counted", "filled", "ratio"],
        [
            row(f"{choice}, k = {k}", [o for o in outcomes if o[1:3] == (choice, k)])
            for choice in ("first k", "EP")
            for k in SIZES
        ]
        + [row("all", outcomes)],
    )
    print(f"The bar is a ratio of {BAR:.2f}.")


def cell(outcomes: list[Outcome], name: str, k: int) -> str:
    errors = [o[3:] for o in outcomes if (o.name, o.size) == (name, k)]
    if not errors:
        return "-"  # no path has so many members
    return " / ".join(f"{error:.1f}" for error in np.mean(errors, axis=0))


def row(name: str, outcomes: list[Outcome]) -> list[str]:
    gaps = np.abs([(o.counted - o.fresh, o.filled - o.fresh) for o in outcomes])
    se = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    cells = [f"{g:.2f} ± {s:.2f}" for g, s in zip(gaps.mean(axis=0), se, strict=True)]
    return [name, *cells, f"{gaps[:, 1].mean() / gaps[:, 0].mean():.2f}"]


def measure(name: str, split: int) -> Iterator[Outcome]:
    """Yield the errors of the committees of one forest."""
    X, y, X_test, y_test = SETS[name](split)
    kind = RandomForestRegressor if y.dtype.kind == "f" else RandomForestClassifier
    forest = kind(N_TREES, random_state=split).fit(X, y)
    roster = roster_of(forest)
    F, F_test = (predict_members(roster, rows) for rows in (X, X_test))
    rows = Votes(F, y, roster.held_out(len(y)), None)

    def fresh_error(w):
        return error_losses(decided(combine(F_test, w)), y_test).mean()

    unit = 100 / (y_test.var() if y.dtype.kind == "f" else 1.0)
    everything = np.arange(len(y))
    path = path_of(rows)
    folds = [
        (test, path_of(rows.at(train)))
        for train, test in KFold(5, shuffle=True, random_state=0).split(F)
    ]
    for k in SIZES:
        w = np.r_[np.full(k, 1 / k), np.zeros(N_TREES - k)]
        found = estimates(rows, [(everything, w)]), fresh_error(w)
        yield Outcome(name, "first k", k, *(unit * np.hstack(found)))
        if path.size.max() >= k:
            chosen = [(test, at_size(path, k)) for test, path in folds]
            error = fresh_error(at_size(path, k))
            found = estimates(rows, chosen), error
            yield Outcome(name, "EP", k, *(unit * np.hstack(found)))


def path_of(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return EPPruner().fit(rows.F, rows.y, held_out=rows.held_out).path_


def at_size(path, k):
    """Return the weights of the largest committee up to k members."""
    return path.weights[np.where(path.size <= k, path.size, 0).argmax()]


def estimates(rows, committees):
    """Return the counted and the filled error of weights, each on its own rows."""
    losses = np.hstack(
        [
            (count(rows, w, some), rows.filled.take(some).losses(w))
            for some, w in committees
        ]
    )
    return losses.mean(axis=1)


def count(rows, w, some):
    """Return the losses by votes that are there, their weights scaled to the same sum."""
    W = w * rows.held_out[some]
    total = W.sum(axis=1)
    voted = total > 0
    W *= np.divide(w.sum(), total, out=np.zeros(len(W)), where=voted)[:, None]
    output = decided(np.einsum("nm...,nm->n...", rows.F[some], W))
    return error_losses(np.where(voted, output, rows.baseline()), rows.y[some])


def divided(X, y, split, n=2000):
    """Return n rows to train on, and the others."""
    X, X_test, y, y_test = train_test_split(X, y, train_size=n, random_state=split)
    return X, y, X_test, y_test


def poker(split):
    """Return hands whose ranks are frequent."""
    z = load("poker-hand")
    some = z["y_train"] < 4
    return divided(z["X_train"][some], z["y_train"][some].astype(int), split)


def boston(split):
    z = load("boston")
    return divided(z["X"], z["y"].astype(float), split, n=300)


SETS = {
    **{name: partial(raetsch, name) for name in ("german", "image", "ringnorm")},
    **{name: partial(raetsch, name) for name in ("splice", "twonorm", "waveform")},
    "digits (10)": lambda split: divided(*load_digits(return_X_y=True), split, n=800),
    "poker (4)": poker,
    "generated (5)": lambda split: divided(
        *make_classification(
            *(7000, 20), n_informative=8, n_classes=5, flip_y=0.05, random_state=split
        ),
        split,
        n=1000,
    ),
    "friedman1 (numbers)": lambda split: divided(
        *make_friedman1(5000, noise=1.0, random_state=split), split, n=800
    ),
    "boston (numbers)": boston,
}
