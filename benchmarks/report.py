"""The report about many members on many rows: seconds and bytes.

Trees of a forest are trained on a few rows, since only their number counts here; the
page is about all the others. Writing it asks every member once on every row.
"""

import argparse
import time

from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks._timing import show
from committee import report

#: Rows that the forest is trained on.
_TRAINED = 2000
#: What a page may take: seconds and bytes.
_BARS = (20, 2_000_000)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks report")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--members", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    N, M = options.rows, options.members
    n = min(_TRAINED, N)
    rows = []
    for task, make, kind in (
        ("two classes", make_classification, RandomForestClassifier),
        ("regression", make_regression, RandomForestRegressor),
    ):
        X, y = make(n + N, 20, n_informative=10, random_state=0)
        forest = kind(M, random_state=0, n_jobs=-1).fit(X[:n], y[:n])
        forest.set_params(n_jobs=None)
        start = time.perf_counter()
        page = report(forest, X[n:], y[n:], n_jobs=options.jobs)
        seconds = time.perf_counter() - start
        size = len(page.encode())
        rows.append([task, f"{N:,}", f"{M:,}", f"{seconds:.1f}", f"{size:,}"])
    show(
        f"report: below {_BARS[0]} seconds and {_BARS[1]:,} bytes",
        ["task", "rows", "members", "seconds", "bytes"],
        rows,
    )
