"""Mixtures: experts that are trained together with their gate."""

from committee.mixtures.mixture import (
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
)

__all__ = ["MixtureOfExpertsClassifier", "MixtureOfExpertsRegressor"]
