"""Combiners in real AutoGluon pools, beside what AutoGluon and TabArena have.

python -m benchmarks arena [SET ...] [--pools FOLDER]

Ten or eleven models of AutoGluon, 5-fold bagged, on at most 1,500 rows; weighed on their
out-of-fold predictions and measured on up to 5,000 fresh rows. Lines are relative to
AutoGluon's greedy selection: the geometric mean over pools with its standard error.
A win or a loss is a difference of log-loss (RMSE) beyond two paired standard errors.
Pools are kept in FOLDER and used again. It needs pip install '.[arena]'.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks._arena_pools import CLASSES, NUMBERS, ArenaPool, arena_pools
from benchmarks._timing import show
from committee import ARDPruner, CommitteeEnsembler, EPPruner, GreedyPruner
from committee.losses import log_losses, paired_difference

GREEDY = "AutoGluon greedy"


class Line(NamedTuple):
    """One method on one pool."""

    losses: np.ndarray  # by row: log-loss, or squared error
    error: float  # share of wrong classes, or RMSE
    area: float  # 1 - AUC
    models: float
    seconds: float


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks arena")
    parser.add_argument("sets", nargs="*", default=[*CLASSES, *NUMBERS])
    parser.add_argument("--pools", default="build/arena-pools")
    asked = parser.parse_args(argv)
    found: dict[str, dict[str, Line]] = {}
    for name, pool in arena_pools(asked.sets, Path(asked.pools)):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            found[name] = {line: _measured(fit, pool) for line, fit in _lines(pool)}
        ratios = _ratios(found[name])
        print(f"{name} {pool.F.shape}:", *(f"{r:.3f}" for r in ratios), flush=True)
    packages = ", ".join(f"{p} {version(p)}" for p in ("autogluon.tabular", "tabarena"))
    for title, sets in (("classes", CLASSES), ("regression", NUMBERS)):
        pools = [found[name] for name in found if name in sets]
        if pools:
            _show(f"arena, {title}: {len(pools)} pools, {packages}", pools)


def _show(title: str, pools: list[dict[str, Line]]) -> None:
    """Print ratios to greedy, and how often each line wins and loses."""
    of_classes = np.isfinite([line.area for line in pools[0].values()]).all()
    first = ["log-loss", "errors", "1 - AUC"] if of_classes else ["RMSE"]
    rows = []
    for method in pools[0]:
        cells = [_mean([_ratio(pool, method) for pool in pools])]
        if of_classes:
            for name in ("error", "area"):
                own = [getattr(pool[method], name) for pool in pools]
                theirs = [getattr(pool[GREEDY], name) for pool in pools]
                # Half an error more: few test rows cannot tell a small error from none.
                half = [0.5 / len(pool[method].losses) for pool in pools]
                cells.append(
                    _mean(
                        [
                            (a + h) / (b + h)
                            for a, b, h in zip(own, theirs, half, strict=True)
                        ]
                    )
                )
        gaps = [
            paired_difference(pool[method].losses, pool[GREEDY].losses)
            for pool in pools
        ]
        wins = sum(gap < -2 * se for gap, se in gaps)
        losses = sum(gap > 2 * se for gap, se in gaps)
        models = np.mean([pool[method].models for pool in pools])
        milli = 1000 * np.median([pool[method].seconds for pool in pools])
        cells += [f"{wins} / {losses}", f"{models:.1f}", f"{milli:.0f}"]
        rows.append([method, *cells])
    show(title, ["line", *first, "wins / losses", "models", "ms"], rows)


def _ratio(pool: dict[str, Line], method: str) -> float:
    own, theirs = pool[method].losses.mean(), pool[GREEDY].losses.mean()
    return float(np.sqrt(own / theirs) if np.isnan(pool[method].area) else own / theirs)


def _ratios(pool: dict[str, Line]) -> list[float]:
    return [_ratio(pool, method) for method in pool]


def _mean(ratios: list[float]) -> str:
    logs = np.log(ratios)
    se = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    return f"{np.exp(logs.mean()):.3f} ± {se:.3f}"


def _measured(fit: Callable[..., Any], pool: ArenaPool) -> Line:
    start = time.perf_counter()
    predict, models = fit(pool)
    seconds = time.perf_counter() - start
    p, y = np.asarray(predict(pool.F_fresh)), pool.y_fresh
    if pool.kind == "regression":
        losses = (p - y) ** 2
        return Line(losses, np.sqrt(losses.mean()), np.nan, models, seconds)
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p / p.sum(axis=1, keepdims=True)
    y = y.astype(int)
    K = p.shape[1]
    area = roc_auc_score(
        y, p[:, 1] if K == 2 else p, multi_class="ovr", labels=np.arange(K)
    )
    wrong = np.mean(p.argmax(axis=1) != y)
    return Line(log_losses(p, y), wrong, 1 - area, models, seconds)


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
        yield "greedy, temperature", _with_temperature
    yield "TabArena hill climbing", _theirs(HillClimbingEnsembler)
    yield "TabArena stacking", _theirs(StackingEnsembler)
    yield "CMA-ES", _by_cma
    yield "auto", _ours("auto")
    yield "EP", _ours(EPPruner())
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
