"""Members within a budget of seconds, in real AutoGluon pools.

python -m benchmarks budgets [SET ...] [--pools FOLDER]

A half, a quarter and a tenth of the seconds of all models for one row. "drop the worst" is
AutoGluon's way to keep to `infer_limit`: the model of the largest error is left out until
the others fit, and these are weighed by greedy selection. Costs enter the choice of the
model that `BudgetPruner` removes, not the selection of its combiner. Ratios of log-loss
(RMSE) to greedy selection from all models, as in `benchmarks arena`, whose pools it uses.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._arena_pools import CLASSES, NUMBERS, ArenaPool, arena_pools
from benchmarks._timing import show
from benchmarks.arena import mean_ratio
from committee import BudgetPruner, EPPruner, GreedyPruner
from committee.combiners import Combiner
from committee.losses import log_losses

SHARES = (0.5, 0.25, 0.1)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks budgets")
    parser.add_argument("sets", nargs="*", default=[*CLASSES, *NUMBERS])
    parser.add_argument("--pools", default="build/arena-pools")
    asked = parser.parse_args(argv)
    found: dict[str, list[dict[float, float]]] = {}
    for name, pool in arena_pools(asked.sets, Path(asked.pools)):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            for line, ratios in _ratios(pool).items():
                found.setdefault(line, []).append(ratios)
        print(name, flush=True)
    n = len(next(iter(found.values())))
    rows = [
        [line, *(mean_ratio([ratio[s] for ratio in ratios]) for s in SHARES)]
        for line, ratios in found.items()
    ]
    columns = ["line", *(f"{share:.0%} of the seconds" for share in SHARES)]
    show(f"budgets: loss relative to greedy from all models, {n} pools", columns, rows)


def _ratios(pool: ArenaPool) -> dict[str, dict[float, float]]:
    """Return loss / loss of greedy from all models, by line and share of the seconds."""
    everything = np.arange(pool.F.shape[1])
    whole = _loss(_greedy(pool), pool, everything)
    lines: dict[str, dict[float, float]] = {}
    for share in SHARES:
        limit = share * pool.seconds.sum()
        kept = _without_the_worst(pool, limit)
        budget = {"costs": pool.seconds, "budget": limit}
        for line, combiner, members in (
            ("drop the worst, greedy", _greedy(pool), kept),
            ("drop the worst, auto", BudgetPruner(budget=1e9), kept),
            ("BudgetPruner, greedy", BudgetPruner(_greedy(pool), **budget), everything),
            ("BudgetPruner, auto", BudgetPruner(**budget), everything),
            ("BudgetPruner, EP", BudgetPruner(EPPruner(), **budget), everything),
        ):
            lines.setdefault(line, {})[share] = _loss(combiner, pool, members) / whole
    return lines


def _greedy(pool: ArenaPool) -> Combiner:
    numbers = pool.kind == "regression"
    return GreedyPruner(scoring="neg_mean_squared_error" if numbers else "neg_log_loss")


def _without_the_worst(pool: ArenaPool, limit: float) -> np.ndarray:
    """Return the members left when the worst is left out until the others fit."""
    y, F = pool.y, pool.F
    if pool.kind == "regression":
        error = np.mean((F - y[:, None]) ** 2, axis=0)
    else:
        error = [log_losses(F[:, m], y.astype(int)).mean() for m in range(F.shape[1])]
    order = np.argsort(error)
    fits = np.flatnonzero(np.cumsum(pool.seconds[order]) <= limit)
    if len(fits):
        return np.asarray(order[: fits[-1] + 1])
    return np.asarray([m for m in order if pool.seconds[m] <= limit][:1])


def _loss(combiner: Combiner, pool: ArenaPool, members: np.ndarray) -> float:
    F, y = pool.F[:, members], pool.y
    numbers = pool.kind == "regression"
    y = y.astype(float) if numbers else y.astype(int)
    combiner.fit(F, y)
    output = combiner.combine(pool.F_fresh[:, members])
    if numbers:
        return float(np.sqrt(np.mean((output - pool.y_fresh) ** 2)))
    p = combiner.probabilities(output)
    p = p / p.sum(axis=1, keepdims=True)
    return float(log_losses(p, pool.y_fresh.astype(int)).mean())
