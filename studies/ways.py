"""Ways of making members, and what is measured of the members of each."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from committee import PrunedClassifier, PrunedRegressor
from committee._typing import FloatArray, IntArray
from committee.combiners import EPPruner, OptimalWeights, SimplexWeights
from committee.diagnostics import ambiguity
from committee.members import (
    AdaBoost,
    Arcing,
    Bagging,
    CrossSplits,
    Generator,
    LPBoost,
    MiniBatches,
    RandomInits,
    RandomSubspaces,
    Rotations,
    TrainingData,
)
from committee.predictions import combine, predict_all
from studies.study import Job, Numbers

#: Standard deviations of a column; not tuned.
NOISE = 0.2
#: scikit-learn's booster, whose rounds are the members: trees, not networks.
BOOSTER = "GradientBoosting"


def generators(times: int = 30) -> dict[str, Generator]:
    """Return generators whose members see `times` x N rows together.

    A fold of four leaves three quarters to a member of CrossSplits, a fifth is what a
    member of MiniBatches sees.
    """
    return {
        "RandomInits": RandomInits(times),
        "with noise": RandomInits(times, noise=NOISE),
        "Bagging": Bagging(times),
        "CrossSplits": CrossSplits(4, max(1, times // 3)),
        "MiniBatches": MiniBatches(5, times),
        "RandomSubspaces": RandomSubspaces(times),
        "Rotations": Rotations(times),
        "Arcing": Arcing(times),
        "AdaBoost": AdaBoost(times),
        "LPBoost": LPBoost(times),
    }


#: One network that makes no error would be all that these ever train.
FOR_WEAK = ("AdaBoost", "LPBoost")
FOR_CLASSES = ("Arcing", *FOR_WEAK)
#: The columns of all tables.
WAYS = (*generators(), BOOSTER)


def measure(
    generator: Generator,
    member: Any,
    data: TrainingData,
    X_test: FloatArray,
    y_test: FloatArray | IntArray,
    job: Job,
) -> Numbers:
    """Return test errors, the decomposition, size and seconds of one generator."""
    resampled = isinstance(generator, (Bagging, CrossSplits, MiniBatches, Arcing))
    start = time.perf_counter()
    made = generator.generate(member, data, held_out=resampled, random_state=job.seed)
    seconds = time.perf_counter() - start
    F_test = predict_all(
        made.members, X_test, classes=data.classes, output=generator.output
    )
    M = F_test.shape[1]
    w = np.ones(M) if made.weights is None else made.weights
    w = w / w.sum()
    parts = ambiguity(F_test, y_test, w)
    numbers: Numbers = {
        "error": error_of(F_test, w, y_test),
        "member": parts.member_error,
        "diversity": parts.diversity,
        "size": M,
        "seconds": seconds,
    }
    if resampled:
        combiners = {
            "simplex": SimplexWeights(),
            "optimal": OptimalWeights(),
            "pruned": EPPruner(),
        }
        for name, combiner in combiners.items():
            combiner.fit(made.F, data.y, held_out=made.held_out)
            numbers[name] = error_of(F_test, combiner.weights_, y_test)
        numbers["kept"] = int(np.count_nonzero(combiners["pruned"].weights_))
    return numbers


def measure_booster(
    data: TrainingData,
    X_test: FloatArray,
    y_test: FloatArray | IntArray,
    rounds: int,
    job: Job,
) -> Numbers:
    """Return test errors of a booster of all rows, and of one that EP has pruned.

    That one learns from three quarters of the rows, and is pruned on the others.
    """
    regression, seed = data.n_classes is None, job.seed % 2**31
    kind = GradientBoostingRegressor if regression else GradientBoostingClassifier
    pruned = PrunedRegressor if regression else PrunedClassifier
    booster = kind(n_estimators=rounds, random_state=seed)
    start = time.perf_counter()
    booster.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    small = pruned(booster, random_state=seed).fit(data.X, data.y)

    def error(f: FloatArray | IntArray) -> float:
        if regression:
            return float(np.mean((f - y_test) ** 2))
        return 100.0 * float(np.mean(f != y_test))

    return {
        "error": error(booster.predict(X_test)),
        "size": rounds,
        "seconds": seconds,
        "pruned": error(small.predict(X_test)),
        "kept": small.n_members_,
    }


def error_of(F: FloatArray, w: FloatArray, y: FloatArray | IntArray) -> float:
    """Return the mean squared error, or the wrong labels in %."""
    f = combine(F, w)
    if F.ndim == 2:
        return float(np.mean((f - y) ** 2))
    return 100.0 * float(np.mean(f.argmax(axis=1) != y))
