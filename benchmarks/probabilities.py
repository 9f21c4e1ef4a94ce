"""Probabilities of pools of models of different kinds: errors, log-loss, Brier score, AUC.

20 cheap learners on at most 1,000 rows, weighed on cross-fitted predictions, and measured
on rows that nobody has seen. Every line is relative to greedy selection by log-loss: the
geometric mean over pools of measure / measure of greedy, with its standard error.
To all of a line's measures, and to those of greedy, half a row is added of which nothing
is known: half a wrong one, or half of log K, 1 - 1/K, 1/2. So few test rows cannot tell a
smaller loss from none, and tic-tac-toe, which is learned without a mistake, would decide
the mean by the fourth digit. "plain" is the log-loss without; of it there is the median as
well.

python -m benchmarks probabilities [SET ...] runs the named sets, all 23 unless given.
"""

import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._data import load
from benchmarks._pools import BINARY, MULTICLASS, models, rows_of
from benchmarks._timing import show
from committee import (
    ARDPruner,
    EMPruner,
    EPPruner,
    GreedyPruner,
    LogPool,
    Pool,
    SimplexWeights,
)
from committee.calibration import fit_calibration
from committee.held_out import CrossFit, share_unit
from committee.members import TrainingData
from committee.predictions import predict_all
from committee.probabilities import as_probabilities, pooled_terms
from committee.votes import Votes

SMALL = (
    *("australian", "breast-cancer", "diabetis", "flare-solar", "german", "heart"),
    *("thyroid", "tic-tac-toe", "titanic"),
)
TRAIN, TEST = 1000, 5000
#: Learners that take long, or are like others; "qda" needs more rows of a class.
LEFT_OUT = {
    *("network-32", "network-64-32", "logistic-products", "sgd", "city-block"),
    *("boosting", "qda"),
}
GREEDY = "greedy by log-loss"


class Measured(NamedTuple):
    """What one line has on one pool; all but members are better when small."""

    errors: float
    log_loss: float
    brier: float
    auc: float
    plain: float
    members: float
    seconds: float


def main(argv: list[str]) -> None:
    sets = argv or [*BINARY, *MULTICLASS, *SMALL]
    pools = []
    for i, name in enumerate(sets):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            pools.append(measured(*pool(name, i)))
        least = pools[-1][GREEDY].plain
        ratios = (f"{line.plain / least:.3f}" for line in pools[-1].values())
        print(f"{name}: {least:.4f}, ratios", *ratios, flush=True)
    losses = np.array([[line.plain for line in p.values()] for p in pools])
    ranks = 1 + (losses[:, :, None] > losses[:, None, :]).sum(axis=2).mean(axis=0)
    rows = [
        [method, *summary(method, pools), f"{rank:.1f}"]
        for method, rank in zip(pools[0], ranks, strict=True)
    ]
    columns = [
        "line",
        "errors",
        "log-loss",
        "Brier",
        "1 - AUC",
        "plain",
        "median",
        "members",
        "ms",
        "rank",
    ]
    show(f"probabilities: relative to greedy, {len(pools)} pools", columns, rows)


def summary(method: str, pools: list[dict[str, Measured]]) -> list[str]:
    """Return the cells of a line."""
    own = np.array([pool[method] for pool in pools])
    ratios = np.log(own[:, :5] / np.array([pool[GREEDY] for pool in pools])[:, :5])
    mean, se = ratios.mean(axis=0), ratios.std(axis=0) / np.sqrt(len(pools))
    cells = [f"{np.exp(m):.3f} ± {e:.3f}" for m, e in zip(mean, se, strict=True)]
    cells.append(f"{np.exp(np.median(ratios[:, 4])):.3f}")
    return [*cells, f"{own[:, 5].mean():.1f}", f"{1000 * own[:, 6].mean():.0f}"]


def pool(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return cross-fitted F, y, and F and y of test rows."""
    X, y = _rows(name)
    train = min(TRAIN, len(y) // 2)
    parts = train_test_split(
        np.arange(len(y)), train_size=train, stratify=y, random_state=seed
    )
    train, test = parts[0], parts[1][:TEST]
    K = int(y.max()) + 1
    chosen = [(key, model) for key, model in models() if key not in LEFT_OUT]
    made = Pool(chosen).generate(
        None, TrainingData(X[train], y[train], K), random_state=seed
    )
    F_test = predict_all(made.members, X[test], classes=np.arange(K))
    return made.F, y[train], F_test, y[test]


def _rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name not in ("australian", "tic-tac-toe"):
        return rows_of(name)
    z = load(name)
    return np.asarray(z["X"], dtype=float), (np.asarray(z["y"]) > 0).astype(int)


def measured(F, y, F_test, y_test) -> dict[str, Measured]:
    found, K, half = {}, F.shape[2], 0.5 / len(y_test)
    for method, fit in lines():
        start = time.perf_counter()
        members, predict = fit(F, y)
        seconds = time.perf_counter() - start
        p = predict(F_test)
        p = p / p.sum(axis=1, keepdims=True)
        auc = roc_auc_score(
            y_test, p[:, 1] if K == 2 else p, multi_class="ovr", labels=np.arange(K)
        )
        loss = log_loss(y_test, p, labels=np.arange(K))
        brier = np.sum((p - np.eye(K)[y_test]) ** 2, axis=1).mean()
        found[method] = Measured(
            np.mean(p.argmax(axis=1) != y_test) + half,
            loss + half * np.log(K),
            brier + half * (1 - 1 / K),
            1 - auc + half / 2,
            loss,
            members,
            seconds,
        )
    return found


def lines() -> Iterator[tuple[str, object]]:
    """Yield names and fits: F and y to the number of members, and F to probabilities."""
    yield GREEDY, weighed(GreedyPruner(scoring="neg_log_loss"))
    yield "best single", best_single
    yield "mean of all", lambda F, y: (F.shape[1], lambda F: F.mean(axis=1))
    yield "NNLS, uniform", shrunk_nnls
    yield "logistic stacking", stacking
    for name, combiner in (
        ("EP votes", EPPruner(pool="votes")),
        ("EP auto", EPPruner()),
        ("EP log, min-loo", EPPruner(pool="log", rule="min-loo")),
        ("ARD auto", ARDPruner()),
        ("EM auto", EMPruner()),
        ("LogPool, no offsets", LogPool(offsets=False)),
        ("LogPool", LogPool()),
        ("LogPool, signed", LogPool(signed=True)),
        # As in the first trials of the method, before its defaults were found from the rows.
        ("LogPool, fixed", LogPool(shrinkage=0.01, floor=1e-3)),
    ):
        yield name, weighed(combiner)
        if name in ("EP votes", "EP auto", "LogPool"):
            yield f"{name}, slope", weighed(combiner, "slope")
        if name in ("EP votes", "LogPool"):
            yield f"{name}, vector", weighed(combiner, "vector")
    yield "simplex, slope", weighed(SimplexWeights(), "slope")
    yield "greedy, slope", weighed(GreedyPruner(scoring="neg_log_loss"), "slope")


def weighed(combiner, calibration=None):
    """As a committee has it: calibrated on rows that did not choose."""

    def fit(F, y):
        combiner.fit(F, y)
        unit = share_unit(combiner.weights_)
        calibrate = None
        if calibration is not None:
            fair = CrossFit(combiner, Votes(F, y, None, None)).own
            sums = None if combiner.floor_ is not None else unit * fair.output
            calibrate = fit_calibration(calibration, fair.p, y, sums=sums)

        def predict(F):
            sums = combiner.combine(F)
            p = combiner.probabilities(sums)
            return p if calibrate is None else calibrate(p, sums)

        return len(combiner.support_), predict

    return fit


def best_single(F, y):
    losses = [log_loss(y, f) for f in np.moveaxis(F, 1, 0)]
    best = int(np.argmin(losses))
    return 1, lambda F: F[:, best]


def shrunk_nnls(F, y):
    """Three parts least squares over w >= 0, scaled to sum one, and one part 1 / M."""
    _, M, K = F.shape
    w, _ = nnls(F.transpose(0, 2, 1).reshape(-1, M), np.eye(K)[y].reshape(-1))
    w = 0.75 * w / w.sum() + 0.25 / M
    return M, lambda F: as_probabilities(np.tensordot(F, w, axes=(1, 0)))


def stacking(F, y):
    """Logistic regression on all log-odds, whose penalty is cross-validated."""

    def log_odds(F):
        z = pooled_terms(F, 1.0 / (len(y) + F.shape[2]))
        z = z[:, :, 1:] - z[:, :, :1] if F.shape[2] == 2 else z - z.mean(2)[:, :, None]
        return z.reshape(len(F), -1)

    grid = {"Cs": np.logspace(-4, 0, 5), "cv": 3, "max_iter": 200}
    model = make_pipeline(
        StandardScaler(), LogisticRegressionCV(scoring="neg_log_loss", **grid)
    ).fit(log_odds(F), y)
    return F.shape[1], lambda F: model.predict_proba(log_odds(F))
