"""GENERATE: generators, which train members that differ."""

from committee.members.base import Generation, Generator, TrainingData
from committee.members.boosting import AdaBoost, Arcing, LPBoost
from committee.members.pool import Pool, RandomInits, RandomSubspaces, Rotations
from committee.members.resampling import (
    Bagging,
    CrossSplits,
    MiniBatches,
)
from committee.members.training import MemberFitError

__all__ = [
    "AdaBoost",
    "Arcing",
    "Bagging",
    "CrossSplits",
    "Generation",
    "Generator",
    "LPBoost",
    "MemberFitError",
    "MiniBatches",
    "Pool",
    "RandomInits",
    "RandomSubspaces",
    "Rotations",
    "TrainingData",
]
