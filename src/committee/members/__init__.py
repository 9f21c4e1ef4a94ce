"""Generate: ways of making members that differ."""

from committee.members.base import Generation, Generator, TrainingData
from committee.members.boosting import AdaBoost
from committee.members.pool import Pool, RandomInits
from committee.members.resampling import (
    Bagging,
    CrossSplits,
    MiniBatches,
)
from committee.members.training import MemberFitError

__all__ = [
    "AdaBoost",
    "Bagging",
    "CrossSplits",
    "Generation",
    "Generator",
    "MemberFitError",
    "MiniBatches",
    "Pool",
    "RandomInits",
    "TrainingData",
]
