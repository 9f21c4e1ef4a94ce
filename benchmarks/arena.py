"""Combiners in real AutoGluon pools, beside what AutoGluon and TabArena have.

python -m benchmarks arena [SET ...] [--pools FOLDER]

Nine or ten models of AutoGluon, 5-fold bagged, on at most 1,500 rows; weighed on their
out-of-fold predictions and measured on up to 5,000 fresh rows. Lines are relative to
"greedy", AutoGluon's selection: the geometric mean over pools with its standard error. A
win or a loss (w/t/l) is a difference beyond two standard errors, paired by rows. For AUC
this is the test of DeLong, DeLong and Clarke-Pearson (1988). "scaled" has a temperature of
least log-loss, "hill climbing" and "stacking" are TabArena's. "auto" is the default of
`CommitteeEnsembler`: `LogPool()` for classes, `RidgeWeights()` for numbers. "EP, as many"
has at most as many models as greedy. Pools are kept in FOLDER and used again. It needs
pip install '.[arena]'.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from benchmarks._arena_pools import CLASSES, NUMBERS, ArenaPool, arena_pools
from benchmarks._timing import show
from committee import ARDPruner, CommitteeEnsembler, EPPruner, GreedyPruner
from committee.losses import log_losses, paired_difference, ranking_losses

GREEDY = "greedy"
OURS = ("auto", "EP", "EP, as many", "ARD", "our greedy")
PACKAGES = (
    "autogluon.tabular",
    "tabarena",
    "cma",
    "scikit-learn",
    "lightgbm",
    "catboost",
)


class Line(NamedTuple):
    """One method on one pool."""

    losses: dict[str, np.ndarray]  # by measure and row
    models: float
    seconds: float


Results = dict[str, dict[str, Line]]  # by set and line


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks arena")
    parser.add_argument("sets", nargs="*", default=[*CLASSES, *NUMBERS])
    parser.add_argument("--pools", default="build/arena-pools")
    asked = parser.parse_args(argv)
    try:
        versions = [f"{name} {version(name)}" for name in PACKAGES]
    except PackageNotFoundError as error:
        raise SystemExit(
            f"This benchmark needs {error.name}: pip install '.[arena]'"
        ) from error
    found: Results = {}
    for name, pool in arena_pools(asked.sets, Path(asked.pools)):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found[name] = {line: _measured(fit, pool) for line, fit in _lines(pool)}
        measure = next(iter(found[name][GREEDY].losses))
        ratios = (_ratio(found[name], line, measure) for line in found[name])
        print(f"{name} {pool.F.shape}:", *(f"{r:.3f}" for r in ratios), flush=True)
    print(*versions, sep=", ")
    for title, sets in (("classes", CLASSES), ("numbers", NUMBERS)):
        pools = {name: found[name] for name in found if name in sets}
        if pools:
            _show(f"arena, {title}: {len(pools)} pools", pools)


def _show(title: str, pools: Results) -> None:
    """Print ratios to greedy, and the sets on which our lines lose."""
    lines = next(iter(pools.values()))
    measures = list(lines[GREEDY].losses)
    rows, lost = [], []
    for line in lines:
        cells = []
        for measure in measures:
            ratios = [_ratio(pool, line, measure) for pool in pools.values()]
            signs = {name: _sign(pool, line, measure) for name, pool in pools.items()}
            counts = [list(signs.values()).count(sign) for sign in (-1, 0, 1)]
            cells += [mean_ratio(ratios), "/".join(map(str, counts))]
            losing = [
                f"{name} {_ratio(pools[name], line, measure):.3f}"
                for name, sign in signs.items()
                if sign > 0
            ]
            if losing and line in OURS:
                lost.append(f"{line} loses in {measure}: {', '.join(losing)}")
        models = np.mean([pool[line].models for pool in pools.values()])
        milli = 1000 * np.median([pool[line].seconds for pool in pools.values()])
        rows.append([line, *cells, f"{models:.1f}", f"{milli:.0f}"])
    columns = [column for measure in measures for column in (measure, "w/t/l")]
    show(title, ["line", *columns, "models", "ms"], rows)
    print(*lost, sep="\n")


def _ratio(pool: dict[str, Line], line: str, measure: str) -> float:
    own, theirs = (pool[name].losses[measure].mean() for name in (line, GREEDY))
    if measure == "log-loss":
        return float(own / theirs)
    if measure == "RMSE":
        return float(np.sqrt(own / theirs))
    # Half a row more: few test rows cannot tell a small error from none.
    half = 0.5 / len(pool[line].losses[measure])
    return float((own + half) / (theirs + half))


def _sign(pool: dict[str, Line], line: str, measure: str) -> int:
    """Return -1 for a win against greedy, 1 for a loss, otherwise 0."""
    gap, se = paired_difference(*(pool[m].losses[measure] for m in (line, GREEDY)))
    return int(np.sign(gap)) if abs(gap) > 2 * se else 0


def mean_ratio(ratios: list[float]) -> str:
    """Return the geometric mean and its standard error."""
    logs = np.log(ratios)
    se = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    return f"{np.exp(logs.mean()):.3f} ± {se:.3f}"


def _measured(fit: Callable[..., Any], pool: ArenaPool) -> Line:
    start = time.perf_counter()
    predict, models = fit(pool)
    seconds = time.perf_counter() - start
    return Line(_losses(np.asarray(predict(pool.F_fresh)), pool), models, seconds)


def _losses(p: np.ndarray, pool: ArenaPool) -> dict[str, np.ndarray]:
    """Return the losses of predictions on the fresh rows; squared errors for "RMSE"."""
    if pool.kind == "regression":
        return {"RMSE": (p - pool.y_fresh) ** 2}
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p / p.sum(axis=1, keepdims=True)
    y = pool.y_fresh.astype(int)
    return {
        "log-loss": log_losses(p, y),
        "errors": (p.argmax(axis=1) != y).astype(float),
        "1 - AUC": ranking_losses(p, y, np.ones(len(y))),
    }


# --- the lines ------------------------------------------------------------------------


def _lines(pool: ArenaPool) -> Iterator[tuple[str, Callable[..., Any]]]:
    from tabarena.simulation.ensemble.basic_ensemblers import SingleBestEnsembler
    from tabarena.simulation.ensemble.greedy_ensembler import GreedyEnsembler
    from tabarena.simulation.ensemble.hill_climbing_ensembler import (
        HillClimbingEnsembler,
    )
    from tabarena.simulation.ensemble.stacking_ensembler import StackingEnsembler

    yield GREEDY, _theirs(GreedyEnsembler, ensemble_size=25)
    yield "best single", _theirs(SingleBestEnsembler)
    if pool.kind != "regression":
        yield "greedy, scaled", _with_temperature
    yield "hill climbing", _theirs(HillClimbingEnsembler)
    yield "stacking", _theirs(StackingEnsembler)
    yield "CMA-ES", _by_cma
    yield "auto", _ours("auto")
    yield "EP", _ours(EPPruner())
    yield "EP, as many", _ep_of_as_many
    yield "ARD", _ours(ARDPruner())
    scoring = "neg_mean_squared_error" if pool.kind == "regression" else "neg_log_loss"
    yield "our greedy", _ours(GreedyPruner(scoring=scoring))


def _metric(pool: ArenaPool) -> Any:
    from autogluon.core.metrics import get_metric

    name = "rmse" if pool.kind == "regression" else "log_loss"
    return get_metric(name, pool.kind)


def _as_theirs(F: np.ndarray) -> np.ndarray:
    """Return predictions (M, N) or (M, N, K), as ensemblers take them."""
    P = np.moveaxis(F, 1, 0)
    return P[:, :, 1] if P.ndim == 3 and P.shape[2] == 2 else P


def _theirs(cls: type, **options: Any) -> Callable[..., Any]:
    def fit(pool: ArenaPool) -> Any:
        made = cls(problem_type=pool.kind, metric=_metric(pool), **options)
        made.fit(predictions=_as_theirs(pool.F), labels=pool.y)
        return lambda F: made.predict_proba(_as_theirs(F)), made.models_used().sum()

    return fit


def _ours(combiner: Any) -> Callable[..., Any]:
    return _theirs(CommitteeEnsembler, combiner=combiner)


def _ep_of_as_many(pool: ArenaPool) -> Any:
    """EP with at most as many models as AutoGluon's greedy selection has."""
    _, most = dict(_lines(pool))[GREEDY](pool)
    return _ours(EPPruner(max_members=int(most)))(pool)


def _with_temperature(pool: ArenaPool) -> Any:
    """AutoGluon's greedy selection, and p ~ p^(1/T) with the T of least log-loss."""
    predict, models = dict(_lines(pool))[GREEDY](pool)

    def full(F: np.ndarray) -> np.ndarray:
        p = predict(F)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def at(T: float, p: np.ndarray) -> np.ndarray:
        q = np.maximum(p, 1e-15) ** (1 / T)
        return np.asarray(q / q.sum(axis=1, keepdims=True))

    p, y = full(pool.F), pool.y.astype(int)
    T = np.exp(
        minimize_scalar(
            lambda t: log_losses(at(np.exp(t), p), y).mean(), bounds=(-2, 2)
        ).x
    )
    return lambda F: at(T, full(F)), models


def _by_cma(pool: ArenaPool) -> Any:
    """Weights on the simplex by CMA-ES (Purucker and Beel 2023), started at greedy's."""
    import cma

    P, y, metric = _as_theirs(pool.F), pool.y, _metric(pool)

    def shares(w: np.ndarray) -> np.ndarray:
        w = np.maximum(w, 0.0)
        return np.asarray(w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w)))

    def loss(w: np.ndarray) -> float:
        return float(metric.error(y, np.tensordot(shares(w), P, axes=1)))

    start = np.full(len(P), 1 / len(P))
    options = {"verbose": -9, "seed": 1, "maxfevals": 50 * len(P)}
    w = shares(cma.fmin2(loss, start, 0.2, options)[0])
    w = shares(np.where(w > 0.01, w, 0.0))
    return lambda F: np.tensordot(w, _as_theirs(F), axes=1), np.count_nonzero(w)
