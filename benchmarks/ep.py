"""EP pruning: speed beside the printed algorithm and F, growth, memory, ARD.

Seconds are CPU seconds of one thread, so that other processes do not count.
"""

import statistics
import time
import tracemalloc

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import ARDRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks._data import poker, raetsch
from benchmarks._timing import show
from committee import ARDPruner, Bagging, EPPruner, member_predictions
from committee.members import TrainingData
from tests.reference import ep as reference

#: Sweeps of the printed algorithm that are timed, and that it takes.
TIMED, SWEEPS = 2, 200


def main(argv: list[str]) -> None:
    with threadpool_limits(1):
        rows = [*against_print(), *against_predicting()]
        columns = ["job", "rival", "ours s", "rival s", "ratio", "bar"]
        show("ep: ratios of one run", columns, rows)
        columns = ["regression, 2,000 rows, M=100", "seconds", "members", "test MSE"]
        show("ep: ARD on the same F", columns, list(against_ard()))


def ratio(ours, rival, repeats: int) -> tuple[float, float, float]:
    """Return (best seconds of ours, best seconds of the rival, median ratio)."""
    ours(), rival()
    pairs = [(seconds(ours), seconds(rival)) for _ in range(repeats)]
    return (
        min(a for a, _ in pairs),
        min(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def seconds(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def out_of_bag(X, y):
    """Return 100 bagged trees on the two-class rows, with their F and mask."""
    data = TrainingData(X, y, 2)
    return Bagging(100).generate(DecisionTreeClassifier(), data, random_state=0)


def against_print():
    X, y, _, _ = raetsch("image", 0)
    trees = out_of_bag(X, y)
    sign = np.where(y > 0, 1.0, -1.0)[:, None]
    S = (trees.F[:, :, 1] - trees.F[:, :, 0]) * sign * trees.held_out

    def printed():
        reference.classification(S, np.ones(100), n_sweeps=TIMED)

    ours, theirs, r = ratio(
        lambda: EPPruner().fit(trees.F, y, held_out=trees.held_out), printed, 5
    )
    scale = SWEEPS / TIMED
    yield [
        f"EPPruner.fit, N={len(y):,} M=100",
        f"printed EP, {SWEEPS} sweeps ({TIMED} timed)",
        f"{ours:.4f}",
        f"{theirs * scale:.2f}",
        f"1/{scale / r:.0f}",
        "1/150",
    ]


def against_predicting():
    X, rank, _, _ = poker()
    y = (rank > 0).astype(int)
    trees = out_of_bag(X, y)
    F, mask = trees.F, trees.held_out

    def fit(step=1):
        return EPPruner().fit(F[::step], y[::step], held_out=mask[::step])

    def predict():
        member_predictions(trees.members, X)

    job = f"EPPruner.fit, N={len(y):,} M=100"
    ours, theirs, r = ratio(fit, predict, 3)
    yield [job, "computing F", f"{ours:.3f}", f"{theirs:.3f}", f"{r:.2f}", "1"]
    ours, theirs, r = ratio(fit, lambda: fit(10), 3)
    yield [job, "a tenth of N", f"{ours:.3f}", f"{theirs:.3f}", f"{r:.2f}", "12"]
    steps = fit().n_iter_, fit(10).n_iter_
    ours, theirs, r = ours / steps[0], theirs / steps[1], r * steps[1] / steps[0]
    per_step = f"the same per step ({steps[0]}, {steps[1]})"
    yield [per_step, "", f"{ours:.4f}", f"{theirs:.4f}", f"{r:.2f}", "12"]
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield ["peak memory / bytes of F", "", "", "", f"{peak / F.nbytes:.2f}", "3"]


def against_ard():
    X, y = make_friedman1(13_000, noise=1.6, random_state=0)
    train, weigh, test = slice(0, 1000), slice(1000, 3000), slice(3000, None)
    data = TrainingData(X[train], y[train], None)
    tree = DecisionTreeRegressor(min_samples_split=10)
    trees = Bagging(100).generate(tree, data, held_out=False, random_state=0)
    F = member_predictions(trees.members, X)

    def mse(prediction):
        return float(np.mean((y[test] - prediction) ** 2))

    rival = ARDRegression(fit_intercept=False)
    for name, pruner in (("ARDPruner", ARDPruner()), ("EPPruner", EPPruner())):
        ours, theirs, _ = ratio(
            lambda p=pruner: p.fit(F[weigh], y[weigh]),
            lambda: rival.fit(F[weigh], y[weigh]),
            3,
        )
        size, error = len(pruner.support_), mse(pruner.combine(F[test]))
        yield [name, f"{ours:.4f}", str(size), f"{error:.3f}"]
    size, error = np.count_nonzero(rival.coef_), mse(rival.predict(F[test]))
    yield ["ARDRegression", f"{theirs:.4f}", str(size), f"{error:.3f}"]
    yield ["all, equal weights", "", "100", f"{mse(F[test].mean(axis=1)):.3f}"]
