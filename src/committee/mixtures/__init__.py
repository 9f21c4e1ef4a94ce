"""Experts that are trained together with their gate, by EM."""

from committee.mixtures.experts import (
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from committee.mixtures.hierarchical import (
    HierarchicalMixtureClassifier,
    HierarchicalMixtureRegressor,
)

__all__ = [
    "HierarchicalMixtureClassifier",
    "HierarchicalMixtureRegressor",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
]
