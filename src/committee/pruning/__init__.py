"""From any fitted ensemble to the few members that matter."""

from committee.pruning.prune import prune
from committee.pruning.pruned import PrunedClassifier, PrunedRegressor
from committee.pruning.refine import refine
from committee.pruning.summary import Refinement, Summary

__all__ = [
    "PrunedClassifier",
    "PrunedRegressor",
    "Refinement",
    "Summary",
    "prune",
    "refine",
]
