"""Weigh and prune: estimators on F that give every member a weight."""

from committee.combiners.average import Average
from committee.combiners.backfitting import ReduceErrorPruner
from committee.combiners.base import Combiner
from committee.combiners.clustering import ClusterPruner
from committee.combiners.divergence import KLPruner
from committee.combiners.em_pruner import EMPruner
from committee.combiners.ep_pruner import ARDPruner, EPPruner
from committee.combiners.evidence_pruner import Inclusion
from committee.combiners.greedy import GreedyPruner
from committee.combiners.log_pool import LogPool
from committee.combiners.mcmc_pruner import MCMCPruner
from committee.combiners.optimal import LeastSquares, OptimalWeights, SimplexWeights
from committee.combiners.ordering import BestPruner, ContributionPruner, RandomPruner
from committee.combiners.pairwise import (
    DREPPruner,
    KappaErrorHullPruner,
    KappaPruner,
)
from committee.combiners.programming import LPBoostWeights
from committee.combiners.sequential import (
    BoostingOrderPruner,
    ComplementarityPruner,
    ConcurrencyPruner,
)
from committee.combiners.signatures import MarginDistancePruner, OrientationPruner
from committee.combiners.specialty import CorrelationPruner, SpecialtyPruner
from committee.combiners.subset_search import GeneticPruner, SDPPruner

__all__ = [
    "ARDPruner",
    "Average",
    "BestPruner",
    "BoostingOrderPruner",
    "ClusterPruner",
    "Combiner",
    "ComplementarityPruner",
    "ConcurrencyPruner",
    "ContributionPruner",
    "CorrelationPruner",
    "DREPPruner",
    "EMPruner",
    "EPPruner",
    "GeneticPruner",
    "GreedyPruner",
    "Inclusion",
    "KLPruner",
    "KappaErrorHullPruner",
    "KappaPruner",
    "LPBoostWeights",
    "LeastSquares",
    "LogPool",
    "MCMCPruner",
    "MarginDistancePruner",
    "OptimalWeights",
    "OrientationPruner",
    "RandomPruner",
    "ReduceErrorPruner",
    "SDPPruner",
    "SimplexWeights",
    "SpecialtyPruner",
]
