"""Seconds of every pruner, and as a ratio to one F'F product over all classes.

python -m benchmarks pruners [NAME ...] times the named ones, all unless given.
"""

import inspect
import time
from functools import partial

import numpy as np

import committee
from benchmarks._timing import show
from committee.combiners import Combiner
from committee.combiners.order_pruner import CRITERIA, OrderedPruner

M = 100


def main(argv: list[str]) -> None:
    pruners = {name: found for name, found in discover() if not argv or name in argv}
    for K in (2, 10):
        columns = ["pruner", "1,000 rows s", "bar", "2,000 rows s", "ratio"]
        columns += ["100,000 rows s", "ratio", "bar"]
        rows = [[name] for name in pruners]
        for N in (1_000, 2_000, 100_000):
            F, y = votes(N, K)
            slab = np.ascontiguousarray(F[..., 0])
            product = K * best_of_three(lambda S=slab: S.T @ S)
            for row, found in zip(rows, pruners.values(), strict=True):
                row += cells(found, F, y, product, N)
        show(f"pruners: M = {M}, {K} classes, ratios to F'F", columns, rows)


def discover():
    """Yield every pruner, every criterion, and greedy pruners by other scores."""
    for name in committee.__all__:
        found = getattr(committee, name)
        if (
            name.endswith("Pruner")
            and inspect.isclass(found)
            and issubclass(found, Combiner)
            and found is not committee.OrderPruner
        ):
            yield name, found
    for criterion in ("random", *CRITERIA):
        yield criterion, partial(committee.OrderPruner, criterion)
    for scoring in ("neg_log_loss", "roc_auc_ovr"):
        yield (
            f"GreedyPruner:{scoring}",
            partial(committee.GreedyPruner, scoring=scoring),
        )


def votes(N, K):
    """Return probabilities of unequal members that err together, and targets."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, size=N)
    odds = rng.standard_exponential((M, N, K)) + rng.standard_exponential((N, K))
    odds[:, np.arange(N), y] += rng.uniform(1.0, 2.0, size=(M, 1))
    odds /= odds.sum(axis=2, keepdims=True)
    return np.moveaxis(odds, 0, 1), y


def cells(found, F, y, product, N):
    """Return seconds, the ratio and the bar of one fit, as far as N has them."""
    takes = inspect.signature(found).parameters
    pruner = found(n_members=25) if "n_members" in takes else found()
    if "random_state" in takes:
        pruner.set_params(random_state=0)
    try:
        taken = best_of_three(lambda: pruner.fit(F, y))
    except (ImportError, ValueError) as error:
        return [type(error).__name__, ""] + ([""] if N == 100_000 else [])
    if N == 1_000:
        return [f"{taken:.4f}", "0.1" if isinstance(pruner, OrderedPruner) else ""]
    timing = [f"{taken:.3f}", f"{taken / product:.1f}"]
    if N == 100_000:
        scored = isinstance(pruner, committee.GreedyPruner) and pruner.scoring
        timing.append(
            "5 s" if scored else "5" if found is committee.GreedyPruner else ""
        )
    return timing


def best_of_three(call):
    """Return the seconds of the best of three calls, of one if it takes a second."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        if best > 1:
            break
    return best
