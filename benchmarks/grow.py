"""Growing until the evidence stops, beside a fixed number of members.

Bagged trees, weighed by Expectation Propagation: `Bagging(1000)` with
`stop="evidence"` trains as many as it needs; its rivals train 100 and all 1,000. Three
seeds choose 40 % of the rows for the test; with them go the members. Errors are rates,
or root mean squared errors divided by the standard deviation of y. All numbers are
means over the seeds, with the standard deviation of the error. Seconds are of `fit`,
of the three in turns in one run.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._timing import show
from committee import Bagging, CommitteeClassifier, CommitteeRegressor, EPPruner

SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "generated classes": lambda: make_classification(
        3000, 20, n_informative=8, flip_y=0.05, random_state=0
    ),
    "friedman": lambda: make_friedman1(1500, noise=1.0, random_state=0),
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks grow")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--members", type=int, default=1000)
    options = parser.parse_args(argv)
    ways = {
        f'{options.members}, stop="evidence"': (options.members, "evidence"),
        "100": (100, None),
        f"{options.members}": (options.members, None),
    }
    rows = []
    for name in options.sets:
        X, y = SETS[name]()
        results: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
        for seed in range(options.seeds):
            parts = train_test_split(X, y, test_size=0.4, random_state=seed)
            for way, (M, stop) in ways.items():
                results[way].append(_run(parts, M, stop, seed))
        for way, found in results.items():
            trained, kept, error, seconds = np.mean(found, axis=0)
            spread = np.std(found, axis=0)[2]
            rows.append(
                [
                    name,
                    way,
                    f"{trained:.0f}",
                    f"{kept:.0f}",
                    f"{error:.4f} ± {spread:.4f}",
                    f"{seconds:.2f}",
                ]
            )
    show(
        f"Growing until the evidence stops, means over {options.seeds} seeds",
        ["set", "members", "trained", "kept", "test error", "seconds"],
        rows,
    )


def _run(parts: list[Any], M: int, stop: str | None, seed: int) -> tuple[float, ...]:
    """Return members trained and kept, the error and the seconds of one fit."""
    X, X_new, y, y_new = parts
    numbers = y.dtype.kind == "f"
    kind, tree = (
        (CommitteeRegressor, DecisionTreeRegressor())
        if numbers
        else (CommitteeClassifier, DecisionTreeClassifier())
    )
    committee = kind(
        tree, generator=Bagging(M), combiner=EPPruner(), stop=stop, random_state=seed
    )
    start = time.perf_counter()
    committee.fit(X, y)
    seconds = time.perf_counter() - start
    said = committee.predict(X_new)
    error = (
        np.sqrt(np.mean((said - y_new) ** 2)) / y_new.std()
        if numbers
        else np.mean(said != y_new)
    )
    return len(committee.combiner_.weights_), committee.n_members_, error, seconds
