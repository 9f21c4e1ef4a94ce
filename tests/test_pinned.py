"""Numbers of known ensembles: errors, paths, calibration, intervals, weights.

`tests/pinned.json` holds what each function in `ENSEMBLES` gave when the numbers were
last written. A change of the code that is meant to keep the numbers must keep these;
after one that is meant to change them, write them again and look at the difference:

    python -m tests.test_pinned
    git diff --stat tests/pinned.json

Numbers hold for the versions of the libraries that are stored with them, since another
version may grow other trees. With other versions the test is skipped.
"""

import json
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_wine, make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    EPPruner,
    GreedyPruner,
    LogPool,
    Pool,
    PrunedClassifier,
    PrunedRegressor,
    SimplexWeights,
    SoftmaxGate,
    prune,
    refine,
)

NUMBERS = Path(__file__).with_name("pinned.json")
#: Relative and absolute tolerance. Other processors add in another order; on three
#: the numbers differed by less than 2e-11. On the processor that wrote them they are equal
#: within 1e-12 as long as the code adds in the same order.
RTOL, ATOL = 1e-10, 1e-12
#: Absolute tolerance where rounding decides ties, as in the order of rows in a ROC curve.
TIES = {"forest, area under the curve": 2e-3}
#: Entries of a summary that are measured, not computed.
MEASURED = (
    "refinement",
    "bytes_before",
    "bytes_after",
    "bytes_name",
    "seconds_before",
    "seconds_after",
)
#: Library that each of these ensembles needs, beside scikit-learn.
NEEDS = {
    "xgboost": "xgboost",
    "xgboost of numbers": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "dask": "dask",
    "dask of numbers": "dask",
}
TREES = {"n_estimators": 25, "max_depth": 6, "random_state": 0}
ROUNDS = {"n_estimators": 20, "max_depth": 2, "random_state": 0}
PRUNED = {"random_state": 0}


@cache
def rows(name, n=300):
    """Return X and y of the training rows, and X and y of fresh ones."""
    if name in ("numbers", "two laws"):
        X, y = make_friedman1(2 * n, n_features=6, noise=1.0, random_state=0)
        if name == "two laws":
            y = np.where(X[:, 0] < 0.5, 5.0, 40 * X[:, 1]) + X[:, 5]
    else:
        X, y = {2: load_breast_cancer, 3: load_wine}[name](return_X_y=True)
        X = X[:, :6]
        # Labels of every eighth row move on, so that there are errors to count.
        y = np.where(np.arange(len(y)) % 8 == 0, (y + 1) % name, y)
    order = np.random.default_rng(1).permutation(len(y))
    n = min(n, len(y) // 2)
    train, fresh = order[:n], order[n : 2 * n]
    return X[train], y[train], X[fresh], y[fresh]


@cache
def forest(name):
    X, y, _, _ = rows(name)
    kind = RandomForestRegressor if name == "numbers" else RandomForestClassifier
    return kind(**TREES).fit(X, y)


def weights_with_zeros(n):
    """Return sample weights, a tenth of them zero."""
    s = np.random.default_rng(2).uniform(0.2, 2.0, n)
    s[::10] = 0.0
    return s


def out_of_bag(name, **options):
    X, y, _, _ = rows(name)
    s = weights_with_zeros(len(y)) if options.pop("weighted", False) else None
    return prune(forest(name), X, y, oob=True, sample_weight=s, **PRUNED, **options)


def on_fresh_rows(model, name, n=None, **options):
    """Train the model, unless it is fitted, and prune it on fresh rows."""
    X, y, X_fresh, y_fresh = rows(name)
    if hasattr(model, "fit") and not hasattr(model, "estimators_"):
        model.fit(X, y)
    return prune(model, X_fresh[:n], y_fresh[:n], oob=False, **PRUNED, **options)


def on_dask(name):
    da = import_module("dask.array")
    X, y = (da.from_array(part, chunks=60) for part in rows(name)[2:])
    return prune(forest(name), X, y, oob=False, **PRUNED)


def booster(library, model, name, **options):
    made = getattr(import_module(library), model)(**ROUNDS, **options)
    return on_fresh_rows(made, name)


def models_of_classes():
    X, y, _, _ = rows(2)
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "bayes": GaussianNB().fit(X, y),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y),
    }


def committee(name, estimator=None, **options):
    X, y, _, _ = rows(name)
    s = weights_with_zeros(len(y)) if options.pop("weighted", False) else None
    kind = CommitteeClassifier if name in (2, 3) else CommitteeRegressor
    if estimator is None and "generator" not in options:
        tree = DecisionTreeRegressor if name == "numbers" else DecisionTreeClassifier
        estimator, options["generator"] = tree(max_depth=5), Bagging(20)
    # Weights that depend on x have no intervals and no sets.
    options["uncertainty"] = "gate" not in options
    made = kind(estimator, **options, random_state=0)
    return made.fit(X, y, sample_weight=s)


def pool(name):
    linear = Ridge() if name == "numbers" else GaussianNB()
    other = (
        KNeighborsRegressor()
        if name == "numbers"
        else DecisionTreeClassifier(max_depth=3, random_state=0)
    )
    return Pool([linear, other, forest(name)], 3)


def refined(name, **options):
    X, y, _, _ = rows(name)
    return refine(forest(name), X, y, oob=True, **PRUNED, **options)


def pruned(kind, model, name):
    X, y, _, _ = rows(name)
    return kind(model, random_state=0).fit(X, y)


ENSEMBLES = {
    "forest, 2 classes": lambda: out_of_bag(2),
    "forest, 3 classes": lambda: out_of_bag(3),
    "forest of numbers": lambda: out_of_bag("numbers"),
    "forest on fresh rows": lambda: on_fresh_rows(forest(3), 3),
    "forest of numbers on fresh rows": lambda: on_fresh_rows(
        forest("numbers"), "numbers"
    ),
    "forest, sample weights": lambda: out_of_bag(2, weighted=True),
    "forest of numbers, sample weights": lambda: out_of_bag("numbers", weighted=True),
    "forest, log-loss": lambda: out_of_bag(3, scoring="neg_log_loss"),
    "forest, area under the curve": lambda: out_of_bag(2, scoring="roc_auc"),
    "forest, absolute error": lambda: out_of_bag(
        "numbers", scoring="neg_mean_absolute_error"
    ),
    "forest, vector": lambda: out_of_bag(3, calibration="vector"),
    "forest, not calibrated": lambda: out_of_bag(3, calibration=None),
    "forest, average": lambda: out_of_bag(2, combiner=Average()),
    "forest, greedy": lambda: out_of_bag(3, combiner=GreedyPruner(10)),
    "forest, few rows": lambda: on_fresh_rows(forest(2), 2, n=4),
    "forest of numbers, few rows": lambda: on_fresh_rows(
        forest("numbers"), "numbers", n=4, combiner=SimplexWeights()
    ),
    "forest, five members": lambda: out_of_bag(2).path_.choose(max_members=5),
    "forest, within a standard error": lambda: out_of_bag(3).path_.choose(
        within_se=1, scoring="neg_log_loss"
    ),
    "forest of numbers, five members": lambda: out_of_bag("numbers").path_.choose(
        max_members=5
    ),
    "extra trees": lambda: on_fresh_rows(ExtraTreesClassifier(**TREES), 3),
    "bagging": lambda: on_fresh_rows(
        BaggingRegressor(n_estimators=20, random_state=0), "numbers"
    ),
    "adaboost": lambda: on_fresh_rows(
        AdaBoostClassifier(n_estimators=20, random_state=0), 2
    ),
    "gradient boosting": lambda: on_fresh_rows(GradientBoostingClassifier(**ROUNDS), 3),
    "gradient boosting of numbers": lambda: on_fresh_rows(
        GradientBoostingRegressor(**ROUNDS), "numbers"
    ),
    "histograms": lambda: on_fresh_rows(
        HistGradientBoostingClassifier(max_iter=20, max_depth=2, random_state=0), 2
    ),
    "histograms of numbers": lambda: on_fresh_rows(
        HistGradientBoostingRegressor(max_iter=20, max_depth=2, random_state=0),
        "numbers",
    ),
    "xgboost": lambda: booster("xgboost", "XGBClassifier", 2, n_jobs=1),
    "xgboost of numbers": lambda: booster(
        "xgboost", "XGBRegressor", "numbers", n_jobs=1
    ),
    "lightgbm": lambda: booster("lightgbm", "LGBMClassifier", 3, n_jobs=1, verbose=-1),
    "catboost": lambda: booster(
        "catboost",
        "CatBoostClassifier",
        2,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    ),
    "voting": lambda: on_fresh_rows(
        VotingClassifier(list(models_of_classes().items()), voting="soft"), 2
    ),
    "models of different kinds": lambda: on_fresh_rows(models_of_classes(), 2),
    "models, log pool": lambda: on_fresh_rows(
        models_of_classes(), 2, combiner=LogPool()
    ),
    "pruned classifier": lambda: pruned(
        PrunedClassifier, RandomForestClassifier(**TREES), 3
    ),
    "pruned classifier of a booster": lambda: pruned(
        PrunedClassifier, GradientBoostingClassifier(**ROUNDS), 2
    ),
    "pruned regressor": lambda: pruned(
        PrunedRegressor, RandomForestRegressor(**TREES), "numbers"
    ),
    "bag, EP, slope": lambda: committee(2, combiner=EPPruner(), calibration="slope"),
    "bag, simplex, vector": lambda: committee(
        3, combiner=SimplexWeights(), calibration="vector"
    ),
    "bag, sample weights": lambda: committee(
        2, combiner=EPPruner(), calibration="slope", weighted=True
    ),
    "bag of numbers, EP": lambda: committee("numbers", combiner=EPPruner()),
    "bag of numbers, sample weights": lambda: committee(
        "numbers", combiner=SimplexWeights(), weighted=True
    ),
    "pool, log pool, slope": lambda: committee(
        3, generator=pool(3), combiner=LogPool(), calibration="slope"
    ),
    "pool of numbers, greedy": lambda: committee(
        "numbers", generator=pool("numbers"), combiner=GreedyPruner(10)
    ),
    "bag, pruned out of bag": lambda: prune(
        committee(2), *rows(2)[:2], oob=True, **PRUNED
    ),
    "bag, a part of the rows": lambda: committee(
        2, combiner=EPPruner(), calibration="slope", weigh_on=0.3
    ),
    "splits, average": lambda: committee(
        2, GaussianNB(), generator=CrossSplits(5, 2), combiner=Average()
    ),
    "splits of numbers, simplex": lambda: committee(
        "numbers",
        DecisionTreeRegressor(max_depth=5),
        generator=CrossSplits(5, 2),
        combiner=SimplexWeights(),
    ),
    "gate": lambda: committee(3, generator=pool(3), gate=SoftmaxGate()),
    "gate of numbers": lambda: committee(
        "two laws",
        generator=Pool([Ridge(), DummyRegressor(strategy="constant", constant=5.5)]),
        gate=SoftmaxGate(),
    ),
    "refined forest": lambda: refined(2, max_members=8),
    "refined forest, 3 classes": lambda: refined(3, max_members=8, max_leaves=60),
    "refined forest of numbers": lambda: refined("numbers", max_members=8),
    "pruned and refined": lambda: out_of_bag("numbers", refine=True, max_members=8),
    "dask": lambda: on_dask(3),
    "dask of numbers": lambda: on_dask("numbers"),
}


def numbers_of(made):
    """Return the numbers of a committee, by name, as JSON holds them."""
    kind = "numbers" if not is_classifier(made) else len(made.classes_)
    X = rows(kind)[2][:5]
    found = {"support": made.support_}
    if kind == "numbers":
        found["predictions"] = made.predict(X)
    else:
        found["probabilities"] = made.predict_proba(X)
        found["classes"], found["slope"] = made.predict(X), made.slope_
    if getattr(made, "gate", None) is not None:
        found["gate weights"] = made.gate_weights(X)
    else:
        found["weights"] = made.weights_
        found["intervals or sets"] = _held_out(made, X)
    if hasattr(made, "path_"):
        path = made.path_
        found["path sizes"], found["path measure"] = path.size, path.measure
        found["path errors"], found["path standard errors"] = path.error, path.error_se
    if hasattr(made, "summary"):
        known = made.summary().to_dict()
        found["summary"] = {k: v for k, v in known.items() if k not in MEASURED}
    return {name: _plain(value) for name, value in found.items() if value is not None}


def _held_out(made, X):
    """Return intervals or sets of the rows, or that there were too few rows for them."""
    try:
        if is_classifier(made):
            return made.predict_set(X, 0.8).astype(int)
        return made.predict_interval(X, 0.8)
    except ValueError:
        return "too few rows"


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def version(library):
    return import_module(library).__version__


def write():
    """Write the numbers of the present code."""
    libraries = sorted({"sklearn", *NEEDS.values()})
    written = {"versions": {name: version(name) for name in libraries}}
    for name, make in ENSEMBLES.items():
        print(name)
        written[name] = numbers_of(make())
    lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in written.items())
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _check(found, expected, atol, where):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for name, value in expected.items():
            _check(found[name], value, atol, f"{where}: {name}")
    elif np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, RTOL, atol, err_msg=where)
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", ENSEMBLES)
def test_numbers_are_those_that_were_written(name):
    written = json.loads(NUMBERS.read_text())
    for library in ("sklearn", *filter(None, [NEEDS.get(name)])):
        pytest.importorskip(library)
        if version(library) != written["versions"][library]:
            pytest.skip(f"written with {library} {written['versions'][library]}")
    found = numbers_of(ENSEMBLES[name]())
    _check(found, written[name], TIES.get(name, ATOL), name)


if __name__ == "__main__":
    write()
