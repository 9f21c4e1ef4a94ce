"""Numbers of pools of models of different kinds: RMSE of what weighs them, relative to greedy selection.

16 learners, weighed on cross-fitted predictions and measured on rows that nobody has seen.
Settings were chosen on other pools (generated: Friedman's, linear, piecewise and
heavy-tailed ones, 120 to 3,000 rows, 5 to 30 members, refitted and bagged). Every line is
the geometric mean over pools of RMSE / RMSE of greedy, with its standard error.

python -m benchmarks regression-pools [--sets boston diabetes] [--splits 3]
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks._data import load
from benchmarks._timing import show
from committee import (
    ARDPruner,
    EPPruner,
    GreedyPruner,
    LeastSquares,
    Pool,
    RidgeWeights,
    SimplexWeights,
)
from committee.members import TrainingData
from committee.predictions import predict_all

GREEDY = "greedy"
#: Training rows, a set each; the others are tested on.
SETS = {
    "diabetes": 300,
    "boston": 350,
    "friedman1": 400,
    "friedman2": 1000,
    "friedman3": 1000,
    "houses": 2000,
    "products": 600,
}


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks regression-pools")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=3)
    asked = parser.parse_args(argv)
    pools: list[dict[str, tuple[float, float, float]]] = []
    for name in asked.sets:
        for split in range(asked.splits):
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                pools.append(measured(*pool(name, split)))
            least = pools[-1][GREEDY][0]
            ratios = (f"{line[0] / least:.3f}" for line in pools[-1].values())
            print(f"{name}: {least:.4g}, ratios", *ratios, flush=True)
    rows = []
    for line in pools[0]:
        rmse, members, seconds = np.array([p[line] for p in pools]).T
        logs = np.log(rmse / [p[GREEDY][0] for p in pools])
        mean, se = np.exp(logs.mean()), logs.std() / np.sqrt(len(logs))
        cells = [f"{mean:.3f} ± {se:.3f}", f"{np.exp(logs.max()):.3f}"]
        times = [f"{members.mean():.1f}", f"{1000 * seconds.mean():.0f}"]
        rows.append([line, *cells, *times])
    title = f"regression pools: RMSE relative to greedy, {len(pools)} pools"
    show(title, ["line", "RMSE", "largest", "members", "ms"], rows)


def pool(name: str, split: int) -> tuple[np.ndarray, ...]:
    """Return cross-fitted F, y, and F and y of test rows."""
    X, y = rows_of(name, np.random.default_rng(split))
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=SETS[name], random_state=split
    )
    data = TrainingData(X, y, None)
    made = Pool(models()).generate(None, data, random_state=split)
    return made.F, y, predict_all(made.members, X_test), y_test


def rows_of(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, seed = SETS[name] + 4000, int(rng.integers(2**31))
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    if name == "boston":
        z = load("boston")
        return z["X"].astype(float), z["y"].astype(float)
    if name == "friedman1":
        return make_friedman1(n, 10, noise=2.0, random_state=seed)
    if name == "friedman2":
        return make_friedman2(n, noise=200.0, random_state=seed)
    if name == "friedman3":
        return make_friedman3(n, noise=0.2, random_state=seed)
    if name == "houses":
        return houses(n, rng)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] * X[:, 1] + np.maximum(X[:, 2], X[:, 3]) + rng.normal(size=n)


def houses(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return prices by place, income and age: skewed, and capped at the top."""
    place, income = rng.uniform(size=(n, 2)), rng.lognormal(0.0, 0.4, n)
    age, noise = rng.gamma(2.0, 10.0, n), 0.3 * rng.normal(size=n)
    towns = rng.uniform(size=(4, 2))
    near = np.exp(-20 * ((place[:, None] - towns) ** 2).sum(axis=2)).sum(axis=1)
    price = np.exp(0.7 * np.log(income) + near - 0.01 * age + noise)
    X = np.column_stack([place, income, age, rng.poisson(3, n)])
    return X, np.minimum(price, np.quantile(price, 0.95))


def models() -> list[tuple[str, Any]]:
    def scaled(model: Any) -> Any:
        inner = make_pipeline(StandardScaler(), model)
        return TransformedTargetRegressor(inner, transformer=StandardScaler())

    def network(alpha: float) -> Any:
        return scaled(MLPRegressor(hidden_layer_sizes=(32,), alpha=alpha, max_iter=150))

    def boosting(**settings: Any) -> Any:
        return HistGradientBoostingRegressor(max_iter=80, **settings)

    squares = make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge(10.0))
    return [
        ("ridge", scaled(Ridge())),
        ("squares", scaled(squares)),
        ("svr", scaled(SVR())),
        ("svr-10", scaled(SVR(C=10.0))),
        ("5-neighbours", scaled(KNeighborsRegressor(5))),
        ("20-neighbours", scaled(KNeighborsRegressor(20, weights="distance"))),
        ("tree-4", DecisionTreeRegressor(max_depth=4)),
        ("tree-leaf-10", DecisionTreeRegressor(min_samples_leaf=10)),
        ("forest", RandomForestRegressor(50)),
        ("forest-leaf-5", RandomForestRegressor(50, min_samples_leaf=5)),
        ("extra-trees", ExtraTreesRegressor(50)),
        ("boosting", boosting()),
        ("boosting-slow", boosting(learning_rate=0.05, max_leaf_nodes=8)),
        ("boosting-small", boosting(max_leaf_nodes=4)),
        ("network", network(1e-2)),
        ("network-smooth", network(1.0)),
    ]


def measured(F, y, F_test, y_test) -> dict[str, tuple[float, float, float]]:
    """Return RMSE, members with a weight and seconds of every line."""
    found = {}
    for line, fit in lines():
        start = time.perf_counter()
        w, b = fit(F, y)
        seconds = time.perf_counter() - start
        rmse = np.sqrt(np.mean((F_test @ w + b - y_test) ** 2))
        found[line] = float(rmse), float(np.count_nonzero(w)), seconds
    return found


def lines() -> Iterator[tuple[str, Any]]:
    """Yield names and fits: F and y to weights and an intercept."""

    def weighed(combiner: Any) -> Any:
        def fit(F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
            combiner.fit(F, y)
            return combiner.weights_, combiner.intercept_

        return fit

    def linear(model: Any) -> Any:
        def fit(F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
            model.fit(F, y)
            return model.coef_, model.intercept_

        return fit

    yield GREEDY, weighed(GreedyPruner())
    yield "best single", lambda F, y: (np.eye(F.shape[1])[_best(F, y)], 0.0)
    yield "mean of all", lambda F, y: (np.full(F.shape[1], 1 / F.shape[1]), 0.0)
    yield "NNLS", lambda F, y: (nnls(F, y)[0], 0.0)
    yield "SimplexWeights", weighed(SimplexWeights())
    yield "EPPruner", weighed(EPPruner())
    yield "ARDPruner", weighed(ARDPruner())
    yield "LeastSquares", weighed(LeastSquares())
    yield "least squares, intercept", linear(LinearRegression())
    yield "RidgeCV", linear(RidgeCV(np.logspace(-6, 6, 25)))
    yield "RidgeWeights", weighed(RidgeWeights())


def _best(F: np.ndarray, y: np.ndarray) -> int:
    return int(((F - y[:, None]) ** 2).mean(axis=0).argmin())
