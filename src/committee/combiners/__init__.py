"""Weigh and prune: estimators on F that give every member a weight."""

from committee.combiners.average import Average
from committee.combiners.base import Combiner
from committee.combiners.bayesian import ARDPruner, EPPruner, Inclusion
from committee.combiners.optimal import LeastSquares, OptimalWeights, SimplexWeights

__all__ = [
    "ARDPruner",
    "Average",
    "Combiner",
    "EPPruner",
    "Inclusion",
    "LeastSquares",
    "OptimalWeights",
    "SimplexWeights",
]
