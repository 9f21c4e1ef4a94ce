"""prune() against what it cannot do without: F and one fit of the combiner.

The summary is measured on first use and has a line of its own. So have fresh rows, where
prune() also checks that they are not among the training rows.
"""

import argparse
import sys
from pathlib import Path

from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

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
    options = parser.parse_args(argv)
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


def _modules(call) -> int:
    """Return how many files of the library a call passes."""
    home, files = str(Path(committee.__file__).parent), set()
    sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(None)
    return sum(name.startswith(home) for name in files)
