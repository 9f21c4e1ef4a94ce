"""Data sets, and committees of networks beside other ensembles on them."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_hastie_10_2,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks._data import load, raetsch
from committee import (
    EPPruner,
    NetworkClassifier,
    NetworkRegressor,
    Networks,
    combine,
)
from committee.members import TrainingData

#: X, y, X_test, y_test, and which columns are categories or None.
Parts = tuple[Any, Any, Any, Any, Any]
#: Networks of scikit-learn, which take most of the time.
N_RIVALS = 10


def _split(X: Any, y: Any, seed: int, test_size: float = 0.4) -> Parts:
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=test_size, random_state=seed
    )
    return X, y, X_test, y_test, None


def _generated(make: Any, n: int, seed: int, **options: Any) -> Parts:
    X, y = make(n + 5000, random_state=seed, **options)
    if make is make_hastie_10_2:
        y = (y > 0).astype(int)
    return X[:n], y[:n], X[n:], y[n:], None


def _boston(seed: int) -> Parts:
    z = load("boston")
    return _split(z["X"].astype(float), z["y"], seed)


def _australian(seed: int) -> Parts:
    z = load("australian")
    parts = _split(z["X"].astype(float), z["y"].astype(int), seed)
    return *parts[:4], z["categorical"]


def _adult(seed: int) -> Parts:
    z = load("adult")
    rng = np.random.default_rng(seed)
    train = rng.permutation(len(z["y_train"]))[:3000]
    test = rng.permutation(len(z["y_test"]))[:5000]
    X, y = z["X_train"][train], z["y_train"][train].astype(int)
    return X, y, z["X_test"][test], z["y_test"][test].astype(int), z["categorical"]


def _raetsch(name: str) -> Callable[[int], Parts]:
    return lambda seed: (*raetsch(name, seed), None)


SETS: dict[str, Callable[[int], Parts]] = {
    "diabetes": lambda seed: _split(*load_diabetes(return_X_y=True), seed),
    "boston": _boston,
    "friedman1": lambda seed: _generated(make_friedman1, 500, seed, noise=1.0),
    "friedman2": lambda seed: _generated(make_friedman2, 500, seed, noise=100.0),
    "wisconsin": lambda seed: _split(*load_breast_cancer(return_X_y=True), seed),
    "wine": lambda seed: _split(*load_wine(return_X_y=True), seed),
    "digits": lambda seed: _split(*load_digits(return_X_y=True), seed, 0.6),
    "hastie": lambda seed: _generated(make_hastie_10_2, 1000, seed),
    "australian": _australian,
    "adult": _adult,
    **{
        name: _raetsch(name)
        for name in ("banana", "diabetis", "german", "image", "splice", "waveform")
    },
}


def errors(
    X: Any, y: Any, X_test: Any, y_test: Any, categorical: Any, *, seed: int
) -> Iterator[tuple[str, float, float]]:
    """Yield (method, error on fresh rows, number of members)."""
    of_classes = y.dtype.kind == "i"

    def error(f: Any) -> float:
        if of_classes:
            return float(np.mean(f.argmax(axis=1) != y_test))
        return float(np.sqrt(np.mean((f - y_test) ** 2)) / y_test.std())

    yield "HistGradientBoosting", error(_boosted(X, y, X_test, categorical, seed)), 100
    Z, Z_test = _encoded(X, X_test, categorical)
    kind: Any = RandomForestClassifier if of_classes else RandomForestRegressor
    forest = kind(300, random_state=seed).fit(Z, y)
    yield "random forest", error(_output(forest, Z_test)), 300
    f = np.stack([_output(m, Z_test) for m in _rivals(Z, y, of_classes, seed)], axis=1)
    yield "MLP committee", error(f.mean(axis=1)), f.shape[1]
    data = TrainingData(Z, y, int(y.max()) + 1 if of_classes else None)
    member: Any = NetworkClassifier if of_classes else NetworkRegressor
    for name, (settings, generator) in committees().items():
        made = generator.generate(member(**settings), data, random_state=seed)
        F = np.stack([_output(m, Z_test) for m in made.members], axis=1)
        if name == "all":
            alone = [error(F[:, m]) for m in range(F.shape[1])]
            yield "one network", float(np.mean(alone)), 1
            yield "10 networks", error(F[:, :N_RIVALS].mean(axis=1)), N_RIVALS
        yield f"networks, {name}", error(F.mean(axis=1)), F.shape[1]
        if not generator.joint:
            ep = EPPruner().fit(made.F, y, held_out=made.held_out)
            size = np.count_nonzero(ep.weights_)
            yield f"networks, {name}, EP", error(combine(F, ep.weights_)), size


def committees() -> dict[str, tuple[dict[str, Any], Networks]]:
    """Return settings of a member, and how members are made."""
    # Chosen on other sets: shared weights want smaller steps.
    slow = {"learning_rate": 0.003}
    return {
        "all": ({}, Networks(100)),
        "bagging": ({}, Networks(100, data="bagging")),
        "shared": (slow, Networks(32, share="adapters")),
    }


def _output(model: Any, X: Any) -> Any:
    return (model.predict_proba if hasattr(model, "classes_") else model.predict)(X)


def _encoded(X: Any, X_test: Any, categorical: Any) -> tuple[Any, Any]:
    """Return numbers: gaps filled, categories as one-hot columns."""
    if categorical is None:
        return X, X_test
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (one_hot, np.flatnonzero(categorical)), remainder=SimpleImputer()
    ).fit(X)
    return columns.transform(X), columns.transform(X_test)


def _boosted(X: Any, y: Any, X_test: Any, categorical: Any, seed: int) -> Any:
    kind: Any = HistGradientBoostingRegressor
    if y.dtype.kind == "i":
        kind = HistGradientBoostingClassifier
    model = kind(categorical_features=categorical, random_state=seed).fit(X, y)
    return _output(model, X_test)


class _Standardised:
    """An MLP of scikit-learn on standardised rows and targets, with our settings."""

    def __init__(self, X: Any, y: Any, of_classes: bool, seed: int) -> None:
        ours = NetworkRegressor()
        kind: Any = MLPClassifier if of_classes else MLPRegressor
        model = kind(
            hidden_layer_sizes=ours.hidden_layer_sizes,
            batch_size=min(ours.batch_size, len(y)),
            learning_rate_init=ours.learning_rate,
            max_iter=ours.max_epochs,
            early_stopping=True,
            n_iter_no_change=ours.patience,
            tol=0.0,
            random_state=seed,
        )
        self.mean, self.scale = (0.0, 1.0) if of_classes else (y.mean(), y.std())
        self.pipeline = make_pipeline(StandardScaler(), model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.pipeline.fit(X, y if of_classes else (y - self.mean) / self.scale)
        if of_classes:
            self.classes_ = self.pipeline.classes_

    def predict(self, X: Any) -> Any:
        return self.mean + self.scale * self.pipeline.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.pipeline.predict_proba(X)


def _rivals(X: Any, y: Any, of_classes: bool, seed: int) -> list[Any]:
    return [_Standardised(X, y, of_classes, 1000 * seed + m) for m in range(N_RIVALS)]
