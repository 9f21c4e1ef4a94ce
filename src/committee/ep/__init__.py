"""Expectation Propagation for committees: posteriors, evidence, leave-one-out."""

from committee.ep.evidence import (
    PRICE,
    classification_path,
    moments_path,
    regression_path,
)
from committee.ep.loo import LeaveOneOut, Score
from committee.ep.moments import Moments, error_moments, given_moments, row_moments
from committee.ep.path import Path, PathStep
from committee.ep.posterior import (
    Posterior,
    classification_posterior,
    moments_posterior,
    regression_posterior,
)
from committee.ep.sites import Probit, Site, Truncation

__all__ = [
    "PRICE",
    "LeaveOneOut",
    "Moments",
    "Path",
    "PathStep",
    "Posterior",
    "Probit",
    "Score",
    "Site",
    "Truncation",
    "classification_path",
    "classification_posterior",
    "error_moments",
    "given_moments",
    "moments_path",
    "moments_posterior",
    "regression_path",
    "regression_posterior",
    "row_moments",
]
