"""Every kind of file that `save` writes: one line each."""

import importlib
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    Bagging,
    BayesianCommitteeRegressor,
    CellKernelClassifier,
    CellKernelRegressor,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    EMPruner,
    EPPruner,
    LogPool,
    LSSVMClassifier,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    NetworkRegressor,
    Networks,
    Pool,
    RandomSubspaces,
    Rotations,
    SimplexWeights,
    SoftmaxGate,
    prune,
    refine,
)
from committee.ensembles.boosted import BoostedClassifier, BoostedRegressor

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(120, 4)), RNG.normal(size=(40, 4))
NUMBERS = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=120)
LABELS = np.array(["no", "yes", "maybe"])[np.digitize(NUMBERS, [-0.3, 0.3])]
PAIR = np.where(NUMBERS > 0, "yes", "no")


class Kind(NamedTuple):
    """How a model is made, the options of `save`, and what `load` must trust."""

    make: Any
    options: Any = MappingProxyType({})
    trusted: tuple[str, ...] = ()


def of(model, y=NUMBERS, **options):
    return Kind(lambda: clone(model).fit(X, y), options)


def pruned(make, ensemble, y, **options):
    return Kind(lambda: make(clone(ensemble).fit(X, y), X, y), options)


_seeded = {"random_state": 0}
_shallow = {"n_estimators": 4, "num_leaves": 4, "min_child_samples": 5}
_few = {"n_estimators": 4, "random_state": 0}
_out_of_bag = partial(prune, oob=True)
_simplex = partial(prune, combiner=SimplexWeights(), oob=False)
_scaled = make_pipeline(StandardScaler(), LogisticRegression())
_tree = DecisionTreeClassifier(max_depth=3, random_state=0)

_perceptron = NetworkRegressor(4, max_epochs=3, random_state=0)


def _rounds(library, prefix, **options):
    quiet = {
        "LGBM": {"verbose": -1, "n_jobs": 1},
        "XGB": {"n_jobs": 1},
        "CatBoost": {"verbose": 0, "thread_count": 1, "allow_writing_files": False},
    }[prefix]
    make = getattr(importlib.import_module(library), f"{prefix}Regressor")
    return make(n_estimators=4, **quiet, **options).fit(X, NUMBERS)


def _refined(forest, X, y):
    made = refine(forest, X, y, max_members=3, oob=True, random_state=0)
    made.summary()  # in the file from now on
    return made


KINDS = {
    "tree": of(_tree, LABELS),
    "tree of two numbers": Kind(
        lambda: DecisionTreeRegressor(max_depth=3).fit(X, np.c_[NUMBERS, X[:, 1]])
    ),
    "forest": of(RandomForestClassifier(**_few), LABELS),
    "boosting": of(GradientBoostingClassifier(**_few), LABELS),
    "histograms": of(HistGradientBoostingClassifier(max_iter=3), LABELS),
    "isolation": of(IsolationForest(max_features=2, **_few)),
    "neighbours": of(KNeighborsClassifier(algorithm="kd_tree"), LABELS),
    "balls": of(KNeighborsRegressor(algorithm="ball_tree", weights="distance")),
    "vectors": of(SVC(**_seeded), LABELS),
    "vectors of numbers": of(SVR()),
    "process": of(GaussianProcessRegressor()),
    "bayes": of(GaussianNB(), LABELS),
    "linear": of(_scaled, LABELS),
    "network": of(MLPClassifier(4, max_iter=20, **_seeded), LABELS),
    "stacking": of(StackingRegressor([("a", Ridge()), ("b", SVR())], cv=2)),
    "calibrated": of(CalibratedClassifierCV(GaussianNB(), cv=2), PAIR),
    "committee": of(
        CommitteeClassifier(
            _tree, generator=Bagging(8), combiner=EPPruner(), **_seeded
        ),
        LABELS,
    ),
    "committee of numbers": of(
        CommitteeRegressor(
            generator=Bagging(8), combiner="ep", uncertainty=True, **_seeded
        )
    ),
    "logarithms": of(
        CommitteeClassifier(
            generator=Pool([GaussianNB(), _scaled], n_splits=2),
            combiner=LogPool(),
            calibration="vector",
            **_seeded,
        ),
        LABELS,
    ),
    "votes": of(
        CommitteeClassifier(
            _tree, generator=Bagging(6), combiner=EMPruner(), **_seeded
        ),
        PAIR,
    ),
    "adaboost": of(
        CommitteeClassifier(
            generator=AdaBoost(4), random_state=np.random.RandomState(0)
        ),
        LABELS,
    ),
    "losses": of(SGDClassifier(**_seeded), LABELS),
    "categories": Kind(
        lambda: HistGradientBoostingClassifier(
            max_iter=3, categorical_features=[3]
        ).fit(np.c_[X[:, :3], np.arange(120) % 5], LABELS),
        trusted=("functools.partial", "sklearn.utils.validation.check_array"),
    ),
    "gate": of(
        CommitteeRegressor(
            LinearRegression(),
            generator=RandomSubspaces(3),
            gate=SoftmaxGate(),
            **_seeded,
        )
    ),
    "neighbour gate": of(
        CommitteeClassifier(
            _tree, generator=Bagging(4), gate=NeighbourGate("ola"), **_seeded
        ),
        LABELS,
    ),
    "rotations": of(CommitteeRegressor(generator=Rotations(3), **_seeded)),
    "networks": of(CommitteeRegressor(_perceptron, generator=Networks(2), **_seeded)),
    "network of ours": of(clone(_perceptron)),
    "pruned": pruned(_out_of_bag, RandomForestClassifier(30, **_seeded), LABELS),
    "whole path": pruned(
        _out_of_bag, RandomForestRegressor(20, **_seeded), NUMBERS, whole_path=True
    ),
    "refined": pruned(_refined, RandomForestRegressor(15, **_seeded), NUMBERS),
    "rounds": pruned(_simplex, GradientBoostingRegressor(**_few), NUMBERS),
    "histogram rounds": pruned(
        _simplex, HistGradientBoostingRegressor(max_iter=4), NUMBERS
    ),
    "coupled": of(CoupledKernelRegressor(n_members=3, combiner="ep")),
    "coupled classes": of(CoupledKernelClassifier(n_members=3), LABELS),
    "vectors of squares": of(LSSVMClassifier(), LABELS),
    "cells": of(CellKernelRegressor(max_cell=30, trend=True)),
    "cells of classes": of(CellKernelClassifier(max_cell=30), LABELS),
    "bayesian": of(BayesianCommitteeRegressor(max_rows=40, **_seeded)),
    "experts": of(MixtureOfExpertsRegressor(n_experts=4, depth=2, **_seeded)),
    "hard experts": of(
        MixtureOfExpertsClassifier(
            n_experts=3, assignment="hard", gate=_tree, max_iter=2, **_seeded
        ),
        LABELS,
    ),
    "compact": pruned(
        _out_of_bag, RandomForestClassifier(30, **_seeded), LABELS, compact=True
    ),
    "compact numbers": pruned(
        _simplex, GradientBoostingRegressor(**_few), NUMBERS, compact=True
    ),
    "compact classes": pruned(
        _simplex, GradientBoostingClassifier(**_few), LABELS, compact=True
    ),
    "compact pair": of(GradientBoostingClassifier(**_few), PAIR, compact=True),
    "compact logarithms": of(
        CommitteeClassifier(
            _tree,
            generator=Bagging(6),
            combiner=LogPool(),
            calibration="vector",
            **_seeded,
        ),
        LABELS,
        compact=True,
    ),
    "compact, exact": pruned(
        _out_of_bag,
        RandomForestClassifier(30, **_seeded),
        LABELS,
        compact=True,
        tolerance=0,
    ),
    "boosted": of(BoostedRegressor("lightgbm", _shallow, **_seeded)),
    "boosted classes": of(BoostedClassifier("lightgbm", _shallow, **_seeded), LABELS),
    "LightGBM": Kind(
        lambda: _simplex(_rounds("lightgbm", "LGBM", min_child_samples=5), X, NUMBERS),
        trusted=("lightgbm.basic.Booster", "lightgbm.sklearn.LGBMRegressor"),
    ),
    "XGBoost": Kind(
        lambda: _simplex(_rounds("xgboost", "XGB"), X, NUMBERS),
        trusted=("xgboost.core.Booster", "xgboost.sklearn.XGBRegressor"),
    ),
    "CatBoost": Kind(
        lambda: _simplex(_rounds("catboost", "CatBoost", depth=2), X, NUMBERS),
        trusted=("catboost.core.CatBoostRegressor",),
    ),
}
