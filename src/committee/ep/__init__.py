"""Expectation Propagation for committees: posteriors, evidence, leave-one-out."""

from typing import TYPE_CHECKING, Any

from committee._hints import no_such_name
from committee.ep.evidence import classification_path, moments_path, regression_path
from committee.ep.evidence_loop import PRICE, PathStep, preferred
from committee.ep.gaussian_rows import given_moments
from committee.ep.loo import LeaveOneOut, LooScore
from committee.ep.posterior import (
    Posterior,
    classification_posterior,
    regression_posterior,
)

__all__ = [
    "PRICE",
    "LeaveOneOut",
    "LooScore",
    "PathStep",
    "Posterior",
    "classification_path",
    "classification_posterior",
    "given_moments",
    "moments_path",
    "preferred",
    "regression_path",
    "regression_posterior",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_such_name(__name__, name)
