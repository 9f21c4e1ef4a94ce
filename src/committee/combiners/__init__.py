"""Weigh and prune: estimators on F that give every member a weight."""

from committee.combiners.base import Combiner
from committee.combiners.budget import BudgetPruner
from committee.combiners.em_pruner import EMPruner
from committee.combiners.ep_pruner import ARDPruner, EPPruner, Inclusion
from committee.combiners.greedy import GreedyPruner
from committee.combiners.log_pool import LogPool
from committee.combiners.mcmc_pruner import MCMCPruner
from committee.combiners.order_pruner import OrderPruner, ReduceErrorPruner
from committee.combiners.pairwise import KappaErrorHullPruner
from committee.combiners.ridge_weights import RidgeWeights
from committee.combiners.subset_search import ClusterPruner, GeneticPruner, SDPPruner
from committee.combiners.weights import (
    Average,
    LeastSquares,
    LPBoostWeights,
    OptimalWeights,
    SimplexWeights,
)

__all__ = [
    "ARDPruner",
    "Average",
    "BudgetPruner",
    "ClusterPruner",
    "Combiner",
    "EMPruner",
    "EPPruner",
    "GeneticPruner",
    "GreedyPruner",
    "Inclusion",
    "KappaErrorHullPruner",
    "LPBoostWeights",
    "LeastSquares",
    "LogPool",
    "MCMCPruner",
    "OptimalWeights",
    "OrderPruner",
    "ReduceErrorPruner",
    "RidgeWeights",
    "SDPPruner",
    "SimplexWeights",
]
