"""Experts that are trained together with their gate."""

from committee.mixtures.experts import (
    HierarchicalMixtureClassifier,
    HierarchicalMixtureRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)
from committee.mixtures.gated_ensemble import (
    GatedEnsembleClassifier,
    GatedEnsembleRegressor,
)

__all__ = [
    "GatedEnsembleClassifier",
    "GatedEnsembleRegressor",
    "HierarchicalMixtureClassifier",
    "HierarchicalMixtureRegressor",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
]
