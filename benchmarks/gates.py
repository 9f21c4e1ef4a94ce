"""Weights that depend on x beside static ones, on the same members and fresh rows.

Two kinds of members: a pool of four models of different kinds, weighed on cross-fitted
predictions, and 25 bagged trees on 60 % of the rows, weighed on the rest. "gain" is the
error of static weights (`SimplexWeights`) minus the error of a method, with its standard
error over the splits. Mixtures train their own experts. Regression sets also have ten
Gaussian processes, each on a tenth of 70 % of the rows. Errors are rates, or root mean
squared errors divided by the standard deviation of y. The last table compares the time of
`NeighbourGate` with the time of its own search for neighbours.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks._data import load, raetsch
from benchmarks._timing import ratio, show
from committee import (
    Average,
    LSSVMClassifier,
    LSSVMRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    SimplexWeights,
    SoftmaxGate,
    member_predictions,
)

Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def piecewise(seed: int) -> Parts:
    """Four linear laws, one in each quadrant of the first two of five columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (2500, 5))
    laws = np.random.default_rng(0).normal(size=(4, 5))
    quadrant = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    y = 2 * (X * laws[quadrant]).sum(axis=1) + quadrant
    y += 0.3 * rng.normal(size=2500)
    return X[:500], y[:500], X[500:], y[500:]


def two_laws(seed: int) -> Parts:
    """Two classes, cut by a line left of zero and by another one right of it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (2500, 4))
    score = np.where(X[:, 0] > 0, X[:, 1] + X[:, 2], X[:, 1] - X[:, 2])
    y = (score + 0.2 * rng.normal(size=2500) > 0).astype(int)
    return X[:500], y[:500], X[500:], y[500:]


def boston(seed: int) -> Parts:
    z = load("boston")
    X, X_test, y, y_test = train_test_split(
        z["X"].astype(float), z["y"], test_size=0.4, random_state=seed
    )
    return X, y, X_test, y_test


SETS: dict[str, Callable[[int], Parts]] = {
    "piecewise": piecewise,
    "two laws": two_laws,
    "boston": boston,
    **{
        name: lambda seed, name=name: raetsch(name, seed)
        for name in ("banana", "diabetis", "german", "waveform")
    },
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gates")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000, help="of the last table")
    options = parser.parse_args(argv)
    for name in options.sets:  # one table each, as soon as it is known
        title = (
            f"{name}: fresh rows, {options.splits} splits, mean ± standard deviation"
        )
        rows = list(compared(name, options.splits))
        show(title, ["members", "method", "error", "gain ± se"], rows)
    columns = ["method", "gate s", "search s", "ratio", "bar"]
    title = f"NeighbourGate: {options.rows:,} rows, 50 members, 10,000 answers"
    show(title, columns, list(timed(options.rows)))


def compared(name: str, n_splits: int) -> Iterator[list[str]]:
    """Yield the rows of one data set."""
    found: dict[tuple[str, str], list[float]] = {}
    for split in range(n_splits):
        for key, error in errors(*SETS[name](split), seed=split):
            found.setdefault(key, []).append(error)
    for (members, method), values in found.items():
        error = np.array(values)
        static = np.array(found["pool" if members == "experts" else members, "simplex"])
        gain = static - error
        spread = gain.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
        means = f"{error.mean():.4f} ± {error.std():.4f}"
        beside = "" if method == "simplex" else f"{gain.mean():+.4f} ± {spread:.4f}"
        yield [members, method, means, beside]


def errors(
    X: Any, y: Any, X_test: Any, y_test: Any, *, seed: int
) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield ((members, method), error on fresh rows)."""
    of_classes = y.dtype.kind == "i"

    def error(f: Any) -> float:
        if of_classes:
            return float(np.mean(f.argmax(axis=1) != y_test))
        return float(np.sqrt(np.mean((f - y_test) ** 2)) / y_test.std())

    for kind, (rows, F, targets, F_test) in {
        "pool": _pool(X, y, X_test, of_classes),
        "bag": _bag(X, y, X_test, of_classes, seed),
    }.items():
        alone = [_loss(F[:, m], targets) for m in range(F.shape[1])]
        yield (kind, "best single"), error(F_test[:, int(np.argmin(alone))])
        for name, combiner in {
            "average": Average(),
            "simplex": SimplexWeights(),
        }.items():
            yield (kind, name), error(combiner.fit(F, targets).combine(F_test))
        for name, gate in _gates(of_classes).items():
            gate.fit(rows, F, targets)
            yield (kind, name), error(gate.combine(X_test, F_test))
    if not of_classes:
        yield from _processes(X, y, X_test, error, seed)
    for name, model in _mixtures(of_classes, seed).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        f = model.predict_proba(X_test) if of_classes else model.predict(X_test)
        yield ("experts", name), error(f)


def _processes(
    X: Any, y: Any, X_test: Any, error: Callable[[Any], float], seed: int
) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the errors of Gaussian processes, weighed on rows that none of them saw."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    X, rows, y, targets = train_test_split(X, y, test_size=0.3, random_state=seed)
    kernel = RBF(np.sqrt(X.shape[1])) + WhiteKernel(0.1)
    members = [
        GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(
            X[part::10], y[part::10]
        )
        for part in range(10)
    ]
    F, F_test = (member_predictions(members, Z) for Z in (rows, X_test))
    for name, combiner in {"average": Average(), "simplex": SimplexWeights()}.items():
        yield ("GPs", name), error(combiner.fit(F, targets).combine(F_test))
    for name, gate in _gates(of_classes=False).items():
        gate.fit(rows, F, targets)
        yield ("GPs", name), error(gate.combine(X_test, F_test))


def _loss(f: Any, y: Any) -> float:
    """Return the error rate of probabilities, or the mean squared error."""
    return float(np.mean(f.argmax(1) != y if f.ndim == 2 else (f - y) ** 2))


def _gates(of_classes: bool) -> dict[str, Any]:
    gates: dict[str, Any] = {"SoftmaxGate": SoftmaxGate()}
    methods = ["soft", "ola"]
    if of_classes:
        methods += ["knora-e", "knora-u", "des-p"]
    return gates | {f"Neighbour {m}": NeighbourGate(m) for m in methods}


def _mixtures(of_classes: bool, seed: int) -> dict[str, Any]:
    mixture: Any = (
        MixtureOfExpertsClassifier if of_classes else MixtureOfExpertsRegressor
    )
    single = LogisticRegression(max_iter=1000) if of_classes else LinearRegression()
    machine = LSSVMClassifier() if of_classes else LSSVMRegressor()
    parts = mixture(machine, assignment="hard", random_state=seed)
    return {
        "one linear expert": single,
        "mixture of 4": mixture(random_state=seed),
        "hierarchical, 2 x 2": mixture(depth=2, random_state=seed),
        "one LS-SVM": make_pipeline(StandardScaler(), machine),
        "LS-SVMs on 4 parts": make_pipeline(StandardScaler(), parts),
    }


def _pool(X: Any, y: Any, X_test: Any, of_classes: bool) -> tuple[Any, ...]:
    """Return rows, cross-fitted F, targets and F of fresh rows."""
    members: list[Any] = (
        [
            make_pipeline(StandardScaler(), LogisticRegression()),
            GaussianNB(),
            make_pipeline(StandardScaler(), KNeighborsClassifier(9)),
            DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
        ]
        if of_classes
        else [
            make_pipeline(StandardScaler(), Ridge()),
            make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
            DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
            DecisionTreeRegressor(max_depth=2, random_state=0),
        ]
    )
    method = "predict_proba" if of_classes else "predict"
    F = [cross_val_predict(clone(m), X, y, cv=5, method=method) for m in members]
    F_test = member_predictions([m.fit(X, y) for m in members], X_test)
    return X, np.stack(F, axis=1), y, F_test


def _bag(X: Any, y: Any, X_test: Any, of_classes: bool, seed: int) -> tuple[Any, ...]:
    """Return the same of bagged trees, weighed on rows that none of them saw."""
    X, rows, y, targets = train_test_split(X, y, test_size=0.4, random_state=seed)
    kind: Any = BaggingClassifier if of_classes else BaggingRegressor
    tree: Any = DecisionTreeClassifier if of_classes else DecisionTreeRegressor
    bag = kind(tree(min_samples_leaf=3), 25, random_state=seed).fit(X, y)
    return (
        rows,
        member_predictions(bag, rows),
        targets,
        member_predictions(bag, X_test),
    )


def timed(n_rows: int) -> Iterator[list[str]]:
    """Yield what the gate takes beside its neighbour search."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 5)), rng.integers(0, 2, n_rows)
    right = rng.random((n_rows, 50)) < 0.8
    vote = np.where(right, y[:, None], 1 - y[:, None])
    F = np.stack([1.0 - vote, vote], axis=2)
    fresh = rng.normal(size=(10_000, 5))
    for method in ("soft", "ola", "knora-e", "knora-u", "des-p"):
        gate = NeighbourGate(method).fit(X, F, y)
        search = gate.neighbors_
        ours, alone, r = ratio(
            lambda gate=gate: gate.weights(fresh),
            lambda search=search: search.kneighbors(fresh, return_distance=False),
            3,
        )
        yield [method, f"{ours:.3f}", f"{alone:.3f}", f"{r:.2f}", "3"]
