"""Expectation Propagation for committees: posteriors, evidence, leave-one-out."""

from committee.ep.checkpoint import RecordedVotes
from committee.ep.chunked_votes import ChunkedTargets, ChunkedVotes
from committee.ep.evidence import (
    PRICE,
    classification_path,
    moments_path,
    regression_path,
    votes_path,
)
from committee.ep.loo import LeaveOneOut, Score
from committee.ep.posterior import (
    Posterior,
    classification_posterior,
    regression_posterior,
)
from committee.ep.sites import Probit, Site, Truncation
from committee.ep.steps import PathStep, preferred
from committee.ep.targets import (
    Moments,
    TargetRows,
    Targets,
    error_moments,
    given_moments,
    row_moments,
)
from committee.ep.votes import VoteRows, Votes

__all__ = [
    "PRICE",
    "ChunkedTargets",
    "ChunkedVotes",
    "LeaveOneOut",
    "Moments",
    "PathStep",
    "Posterior",
    "Probit",
    "RecordedVotes",
    "Score",
    "Site",
    "TargetRows",
    "Targets",
    "Truncation",
    "VoteRows",
    "Votes",
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
