"""Making members, computing F, weighing it, importing: ratios to the best rival."""

import subprocess
import sys

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks._timing import ratio, show
from committee import (
    Bagging,
    CommitteeClassifier,
    OptimalWeights,
    SimplexWeights,
    member_predictions,
)
from committee.linalg import solve_simplex


def main(argv: list[str]) -> None:
    rows = [
        *fitting(),
        *predicting(),
        *weighing(),
        *quadratic_programmes(),
        *importing(),
    ]
    columns = ["job", "rival", "ours s", "rival s", "ratio", "bar"]
    show("generate: ratios, smaller is better", columns, rows)


def line(job, rival, timing, bar=""):
    ours, theirs, r = timing
    return [job, rival, f"{ours:.4f}", f"{theirs:.4f}", f"{r:.2f}", bar]


def fitting():
    X, y = make_classification(5000, 20, n_informative=10, random_state=0)
    for n_jobs in (1, 2):
        bagging = BaggingClassifier(
            DecisionTreeClassifier(), 100, n_jobs=n_jobs, random_state=0
        )
        ours = CommitteeClassifier(
            DecisionTreeClassifier(),
            generator=Bagging(100),
            n_jobs=n_jobs,
            random_state=0,
        )
        timing = ratio(lambda o=ours: o.fit(X, y), lambda b=bagging: b.fit(X, y), 3)
        yield line(f"fit 100 bagged trees, n_jobs={n_jobs}", "Bagging*", timing, "1.1")
    scored = BaggingClassifier(
        DecisionTreeClassifier(), 100, oob_score=True, random_state=0
    )
    weighed = CommitteeClassifier(
        DecisionTreeClassifier(),
        generator=Bagging(100),
        combiner=SimplexWeights(),
        random_state=0,
    )
    timing = ratio(lambda: weighed.fit(X, y), lambda: scored.fit(X, y), 3)
    yield line("the same, weighed out of bag", "Bagging* oob_score", timing)


def predicting():
    X, y = make_classification(20000, 20, n_informative=10, random_state=0)
    members = [
        DecisionTreeClassifier(random_state=i).fit(X[i::100], y[i::100])
        for i in range(100)
    ]
    timing = ratio(
        lambda: member_predictions(members, X),
        lambda: [m.predict_proba(X) for m in members],
    )
    yield line("F of 100 trees, 20,000 rows", "predict_proba loop", timing, "1.1")


def weighing():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(100_000)
    F = (
        y[:, None]
        + rng.standard_normal((100_000, 1))
        + rng.standard_normal((100_000, 500)) * rng.uniform(0.7, 1.3, 500)
    )

    def product():
        return F.T @ F

    timing = ratio(lambda: SimplexWeights().fit(F, y), product, 3)
    yield line("SimplexWeights, N=100,000 M=500", "F'F", timing, "3")
    timing = ratio(lambda: OptimalWeights().fit(F, y), product, 3)
    yield line("OptimalWeights, N=100,000 M=500", "F'F", timing, "2")


def quadratic_programmes():
    rng = np.random.default_rng(0)
    for M in (27, 100, 500):
        E = rng.standard_normal((10 * M, 1)) + rng.standard_normal(
            (10 * M, M)
        ) * rng.uniform(0.7, 1.3, M)
        C = E.T @ E / len(E)

        def by_nnls(C=C):
            L = cholesky(C, lower=True)
            return nnls(L.T, solve_triangular(L, np.ones(len(C)), lower=True))[0]

        timing = ratio(lambda C=C: solve_simplex(C), by_nnls)
        yield line(f"simplex programme, M={M}", "SciPy nnls", timing)


def importing():
    def run(statement):
        return lambda: subprocess.run([sys.executable, "-c", statement], check=True)

    timing = ratio(run("import committee"), run("import sklearn.ensemble"))
    yield line("import committee", "import sklearn.ensemble", timing, "1.5")
