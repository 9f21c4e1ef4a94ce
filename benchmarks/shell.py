"""What `committee train` makes by default, beside default HistGradientBoosting.

Each table goes through the shell as a CSV file: train, then predict. The rival reads the
same file by pandas, words as categories, which it takes as they are. Errors are shares of
wrong rows, or RMSE, on rows that neither has seen; ratios below 1 are gains. Seconds are
those of training: the shell's include reading, saving and all its fits.

With --autogluon there is a second table, beside AutoGluon's medium quality on the same
cores, with as much time as the shell took (ten seconds at least, which it needs to
start).

The learners of the presets and their settings were chosen on other tables: banana,
german, image, ringnorm and thyroid of Raetsch's, scikit-learn's breast cancer, wine and
diabetes, and generated ones with other seeds and shapes.

python -m benchmarks shell [--splits 3] [--preset best] [--tables heart adult]
[--autogluon].
"""

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_friedman2, make_hastie_10_2
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from benchmarks._data import load, poker, raetsch
from benchmarks._timing import show
from committee.cli import app


class Scores(NamedTuple):
    """Of one model on one split."""

    error: float
    log_loss: float
    seconds: float


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks shell")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--autogluon", action="store_true")
    asked = parser.parse_args(argv)
    rivals = ["default HistGradientBoosting"]
    if asked.autogluon:
        check_autogluon()
        rivals.append("AutoGluon, medium quality, as many seconds")
    found = {
        name: np.array(
            [
                compare(*TABLES[name](split), asked.preset, asked.autogluon)
                for split in range(n)
            ]
        )
        for name in asked.tables
        for n in [1 if name in ONCE else asked.splits]
    }
    for i, rival in enumerate(rivals, start=1):
        beside = {name: scores[:, [0, i]] for name, scores in found.items()}
        show(
            f"shell: --preset {asked.preset} / {rival}, means of splits",
            ["table", "error or RMSE", "log-loss", "seconds", *HEADER],
            [[name, *cells(scores)] for name, scores in beside.items()],
        )
        print_means(beside)


def check_autogluon() -> None:
    """Say what to install if AutoGluon cannot be imported."""
    try:
        import autogluon.tabular  # noqa: F401
    except ImportError:
        raise SystemExit(
            "--autogluon needs AutoGluon: pip install "
            "'autogluon.tabular[lightgbm,catboost,xgboost]'."
        ) from None


HEADER = ["error ratio", "log-loss ratio", "seconds ratio"]


def cells(scores: np.ndarray) -> list[str]:
    """Return scores (splits, 2 models, 3 scores) as both means, and their ratios."""
    ours, rival = scores.mean(axis=0)
    both = [f"{a:.4g} / {b:.4g}" for a, b in zip(ours, rival, strict=True)]
    ratios = [f"{a / b:.2f}" for a, b in zip(ours, rival, strict=True)]
    if np.isnan(ours[1]):
        both[1] = ratios[1] = "-"
    return [*both, *ratios]


def print_means(found: dict[str, np.ndarray]) -> None:
    """Print geometric means over tables, with their standard errors."""
    ratios = np.array([s.mean(axis=0)[0] / s.mean(axis=0)[1] for s in found.values()])
    for name, column in zip(HEADER, ratios.T, strict=True):
        logs = np.log(column[np.isfinite(column)])
        if not len(logs):
            continue
        mean, se = np.exp(logs.mean()), logs.std() / np.sqrt(len(logs))
        better, worse = (logs < 0).sum(), (logs > 0).sum()
        print(
            f"{name}: {mean:.3f} ± {mean * se:.3f} over {len(logs)} tables, "
            f"below 1 in {better}, above 1 in {worse}"
        )


def compare(
    X: Any, y: Any, X_test: Any, y_test: Any, preset: str, autogluon: bool
) -> list[Scores]:
    """Return the scores of the shell's default and of the rivals."""
    X, X_test = pd.DataFrame(X), pd.DataFrame(X_test)
    X.columns = X_test.columns = [f"x{column}" for column in X.columns]
    regression = np.asarray(y).dtype.kind == "f"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        X.assign(y=y).to_csv("train.csv", index=False)
        X_test.to_csv("test.csv", index=False)
        task = "regression" if regression else "classification"
        ours = by_shell(task, preset)
        made = [ours, by_rival(regression)]
        if autogluon:
            made.append(by_autogluon(regression, ours[2]))
    return [
        Scores(*scored(output, labels, y_test), seconds)
        for output, labels, seconds in made
    ]


def by_shell(task: str, preset: str) -> tuple[np.ndarray, Any, float]:
    """Return predictions or probabilities, the labels, and seconds of training."""
    train = ("train", "train.csv", "--target", "y", "--task", task, "-o", "m.skops")
    report = json.loads(run(*train, "--preset", preset, "--quiet", "--json"))
    proba = ["--proba"] * (task == "classification")
    run("predict", "m.skops", "test.csv", "-o", "out.csv", "--quiet", *proba)
    table = pd.read_csv("out.csv")
    if not proba:
        return table["prediction"].to_numpy(), None, report["seconds"]
    p = table.drop(columns="prediction")
    labels = np.array([int(name.rsplit("_", 1)[-1]) for name in p.columns])
    return p.to_numpy(), labels, report["seconds"]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exit_code:
        raise SystemExit(result.output)
    return result.stdout


def by_rival(regression: bool) -> tuple[np.ndarray, Any, float]:
    """Return the same of default HistGradientBoosting, words as categories."""
    start = time.perf_counter()
    table, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    y = table.pop("y")
    for name in table.columns[table.dtypes.map(pd.api.types.is_string_dtype)]:
        kinds = pd.CategoricalDtype(sorted(table[name].dropna().unique()))
        table[name], test[name] = table[name].astype(kinds), test[name].astype(kinds)
    if regression:
        rival = HistGradientBoostingRegressor(random_state=0).fit(table, y)
        return rival.predict(test), None, time.perf_counter() - start
    rival = HistGradientBoostingClassifier(random_state=0).fit(table, y)
    seconds = time.perf_counter() - start
    return rival.predict_proba(test), rival.classes_, seconds


def by_autogluon(regression: bool, limit: float) -> tuple[np.ndarray, Any, float]:
    """Return the same of AutoGluon's medium quality, in as many seconds."""
    from autogluon.tabular import TabularPredictor

    start = time.perf_counter()
    table, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    classes = table["y"].nunique()
    predictor = TabularPredictor(
        "y",
        problem_type="regression"
        if regression
        else ("binary" if classes == 2 else "multiclass"),
        eval_metric="root_mean_squared_error" if regression else "log_loss",
        path="autogluon",
        verbosity=0,
    ).fit(table, presets="medium_quality", time_limit=max(limit, 10.0))
    seconds = time.perf_counter() - start
    if regression:
        return predictor.predict(test).to_numpy(), None, seconds
    p = predictor.predict_proba(test)
    return p.to_numpy(), p.columns.to_numpy(), seconds


def scored(output: np.ndarray, labels: Any, y_test: Any) -> tuple[float, float]:
    """Return the error and the log-loss, RMSE and NaN for regression."""
    if labels is None:
        return float(np.sqrt(np.mean((output - y_test) ** 2))), np.nan
    error = np.mean(labels[output.argmax(axis=1)] != y_test)
    return float(error), float(log_loss(y_test, output, labels=labels))


def divided(X: Any, y: Any, split: int, n: int) -> tuple[Any, ...]:
    """Return n rows to train on, and the others."""
    stratify = None if np.asarray(y).dtype.kind == "f" else y
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n, random_state=split, stratify=stratify
    )
    return X, y, X_test, y_test


def words(z: dict[str, np.ndarray], X: np.ndarray) -> pd.DataFrame:
    """Return a table whose categories are words."""
    frame = pd.DataFrame(X)
    names = json.loads(str(z["categories_json"])) if "categories_json" in z else {}
    for column in np.flatnonzero(z["categorical"]):
        levels = names.get(str(z["feature_names"][column]))
        frame[column] = frame[column].map(
            lambda code, levels=levels: (
                code
                if pd.isna(code)
                else (levels[int(code)] if levels else f"level {code:g}")
            )
        )
    return frame


def adult(split: int) -> tuple[Any, ...]:
    z = load("adult")
    X, X_test = words(z, z["X_train"]), words(z, z["X_test"])
    return X, z["y_train"].astype(int), X_test, z["y_test"].astype(int)


def with_words(name: str, n: int, split: int) -> tuple[Any, ...]:
    z = load(name)
    return divided(words(z, z["X"].astype(float)), z["y"].astype(int), split, n)


def hands(split: int) -> tuple[Any, ...]:
    """Return 5,000 poker hands of ranks that are frequent, and the test part."""
    X, y, X_test, y_test = poker()
    some = np.random.default_rng(split).permutation(np.flatnonzero(y < 4))[:5000]
    return X[some], y[some], X_test[y_test < 4], y_test[y_test < 4]


def boston(split: int) -> tuple[Any, ...]:
    z = load("boston")
    return divided(z["X"], z["y"].astype(float), split, 350)


def hastie(split: int) -> tuple[Any, ...]:
    X, y = make_hastie_10_2(24000, random_state=100 + split)
    return divided(X, (y > 0).astype(int), split, 12000)


def friedman2(split: int) -> tuple[Any, ...]:
    X, y = make_friedman2(6000, noise=100.0, random_state=100 + split)
    return divided(X, y, split, 1000)


_SPLIT_SETS = (
    *("breast-cancer", "diabetis", "flare-solar", "heart"),
    *("splice", "titanic", "twonorm", "waveform"),
)
TABLES: dict[str, Callable[[int], tuple[Any, ...]]] = {
    **{name: partial(raetsch, name) for name in _SPLIT_SETS},
    "australian": partial(with_words, "australian", 480),
    "tic-tac-toe": partial(with_words, "tic-tac-toe", 640),
    "digits (10)": lambda split: divided(*load_digits(return_X_y=True), split, 1000),
    "poker (4)": hands,
    "hastie (12,000)": hastie,
    "adult (32,561)": adult,
    "boston (numbers)": boston,
    "friedman2 (numbers)": friedman2,
}
#: Tables with a split of their own, or long ones.
ONCE = ("adult (32,561)",)
