"""From any fitted ensemble to the few members that matter."""

from committee.pruning.prune import prune
from committee.pruning.pruned import PrunedClassifier, PrunedRegressor
from committee.pruning.refine import refine, shrink
from committee.pruning.refinement import Refinement
from committee.pruning.summary import Summary

__all__ = [
    "PrunedClassifier",
    "PrunedRegressor",
    "Refinement",
    "Summary",
    "prune",
    "refine",
    "shrink",
]
