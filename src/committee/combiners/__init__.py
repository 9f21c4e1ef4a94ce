"""Weigh and prune: estimators on F that give every member a weight."""

from committee.combiners.average import Average
from committee.combiners.backfitting import ReduceErrorPruner
from committee.combiners.base import Combiner
from committee.combiners.bayesian import ARDPruner, EPPruner
from committee.combiners.cluster import ClusterPruner
from committee.combiners.em import EMPruner
from committee.combiners.evidence import Inclusion
from committee.combiners.greedy import GreedyPruner
from committee.combiners.hull import KappaErrorHullPruner
from committee.combiners.mcmc import MCMCPruner
from committee.combiners.optimal import LeastSquares, OptimalWeights, SimplexWeights
from committee.combiners.ordering import BestPruner, ContributionPruner, RandomPruner
from committee.combiners.pairwise import DREPPruner, KappaPruner, KLPruner
from committee.combiners.programming import LPBoostWeights
from committee.combiners.search import GeneticPruner, SDPPruner
from committee.combiners.sequential import (
    BoostingOrderPruner,
    ComplementarityPruner,
    ConcurrencyPruner,
)
from committee.combiners.signatures import MarginDistancePruner, OrientationPruner

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
    "MCMCPruner",
    "MarginDistancePruner",
    "OptimalWeights",
    "OrientationPruner",
    "RandomPruner",
    "ReduceErrorPruner",
    "SDPPruner",
    "SimplexWeights",
]
