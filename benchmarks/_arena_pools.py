"""Real AutoGluon pools: bagged models, their out-of-fold predictions, and fresh rows."""

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split

from benchmarks._data import load
from benchmarks._pools import rows_of

CLASSES = (
    *("adult", "german", "image", "splice", "diabetis", "waveform", "banana", "heart"),
    *("ringnorm", "australian", "wisconsin", "tic-tac-toe"),
    *("digits", "waveform-3", "poker-5"),
)
NUMBERS = ("boston", "diabetes", "friedman1", "adult-age")
TRAIN, TEST = 1500, 5000
#: Eleven models of AutoGluon's that need no torch.
LEARNERS = {
    "GBM": [{}, {"extra_trees": True, "ag_args": {"name_suffix": "XT"}}],
    "CAT": {},
    "XGB": {},
    "RF": [
        {"criterion": "gini", "ag_args": {"name_suffix": "Gini"}},
        {"criterion": "entropy", "ag_args": {"name_suffix": "Entr"}},
    ],
    "XT": [{"criterion": "gini", "ag_args": {"name_suffix": "Gini"}}],
    "KNN": [
        {"weights": "uniform", "ag_args": {"name_suffix": "Unif"}},
        {"weights": "distance", "ag_args": {"name_suffix": "Dist"}},
    ],
    "LR": [{}],
}


class ArenaPool(NamedTuple):
    """F and y out of fold, and of fresh rows; seconds of each model for one row."""

    F: np.ndarray
    y: np.ndarray
    F_fresh: np.ndarray
    y_fresh: np.ndarray
    seconds: np.ndarray

    @property
    def kind(self) -> str:
        """AutoGluon's problem type."""
        if self.F.ndim == 2:
            return "regression"
        return "binary" if self.F.shape[2] == 2 else "multiclass"


def arena_pools(names: list[str], folder: Path) -> Iterator[tuple[str, ArenaPool]]:
    """Yield pools by name; those in the folder are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.npz"
        if not path.exists():
            np.savez_compressed(path, **_made(name)._asdict())
        with np.load(path) as arrays:
            yield name, ArenaPool(**arrays)


def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows of a set."""
    if name == "wisconsin":
        return load_breast_cancer(return_X_y=True)
    if name in ("australian", "tic-tac-toe"):
        z = load(name)
        return np.asarray(z["X"], dtype=float), (np.asarray(z["y"]) > 0).astype(int)
    if name == "boston":
        z = load(name)
        return z["X"].astype(float), z["y"].astype(float)
    if name == "diabetes":
        return load_diabetes(return_X_y=True)
    if name == "friedman1":
        return make_friedman1(TRAIN + TEST, noise=1.0, random_state=0)
    if name == "adult-age":
        X, _ = rows_of("adult")
        return X[:, 1:], X[:, 0]
    return rows_of(name)


def _made(name: str) -> ArenaPool:
    """Train the models of a pool on some of the rows."""
    try:
        import pandas as pd
        from autogluon.tabular import TabularPredictor
    except ImportError as error:
        raise SystemExit(
            "This benchmark trains models of AutoGluon: pip install '.[arena]'"
        ) from error

    from committee import predictor_predictions

    X, y = _table(name)
    kind = (
        "regression" if name in NUMBERS else "multiclass" if y.max() > 1 else "binary"
    )
    n = min(TRAIN, len(y) // 2)
    train, fresh = train_test_split(
        np.arange(len(y)),
        train_size=n,
        random_state=0,
        stratify=None if kind == "regression" else y,
    )
    fresh = fresh[:TEST]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(t=y)
    learners = dict(LEARNERS)
    if kind == "regression":
        learners |= {"RF": {}, "XT": {}}
    with tempfile.TemporaryDirectory() as path, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictor = TabularPredictor(
            "t", problem_type=kind, path=path, verbosity=0
        ).fit(
            frame.iloc[train],
            hyperparameters=learners,
            num_bag_folds=5,
            num_stack_levels=0,
            fit_weighted_ensemble=False,
            num_cpus=1,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        known = predictor_predictions(predictor)
        new = predictor_predictions(predictor, frame.iloc[fresh])
        some = predictor.load_data_internal("train", return_y=False)[0][:1000]
        seconds = []
        for model in known.names:
            start = time.perf_counter()
            predictor.predict(some, model=model, transform_features=False)
            seconds.append((time.perf_counter() - start) / len(some))
        y_fresh = np.asarray(predictor.transform_labels(frame["t"].iloc[fresh]))
    return ArenaPool(known.F, known.y, new.F, y_fresh, np.array(seconds))
