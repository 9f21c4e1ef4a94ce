"""Experts that are trained together with their gate."""

from committee.mixtures.experts import (
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from committee.mixtures.gated_ensemble import (
    GatedEnsembleClassifier,
    GatedEnsembleRegressor,
)
from committee.mixtures.hierarchical import (
    HierarchicalMixtureClassifier,
    HierarchicalMixtureRegressor,
)

__all__ = [
    "GatedEnsembleClassifier",
    "GatedEnsembleRegressor",
    "HierarchicalMixtureClassifier",
    "HierarchicalMixtureRegressor",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
]
