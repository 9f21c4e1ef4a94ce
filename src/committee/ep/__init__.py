"""Expectation Propagation for committees: posteriors, evidence, leave-one-out."""

from typing import TYPE_CHECKING, Any

from committee._hints import no_such_name
from committee.ep.chunked_rows import ChunkedProbitRows, ChunkedTargets, TargetRows
from committee.ep.evidence import (
    classification_path,
    moments_path,
    regression_path,
    votes_path,
)
from committee.ep.evidence_loop import PRICE, PathStep, preferred
from committee.ep.gaussian_rows import (
    Moments,
    Targets,
    error_moments,
    given_moments,
    row_moments,
)
from committee.ep.loo import LeaveOneOut, LooScore
from committee.ep.posterior import (
    Posterior,
    classification_posterior,
    regression_posterior,
)
from committee.ep.probit_rows import ProbitRows
from committee.ep.recorded_rows import RecordedRows, SweptRows

__all__ = [
    "PRICE",
    "ChunkedProbitRows",
    "ChunkedTargets",
    "LeaveOneOut",
    "LooScore",
    "Moments",
    "PathStep",
    "Posterior",
    "ProbitRows",
    "RecordedRows",
    "SweptRows",
    "TargetRows",
    "Targets",
    "classification_path",
    "classification_posterior",
    "error_moments",
    "given_moments",
    "moments_path",
    "preferred",
    "regression_path",
    "regression_posterior",
    "row_moments",
    "votes_path",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_such_name(__name__, name)
