"""The names of the combiners, for Python and the shell: help imports no combiner."""

from __future__ import annotations

#: The name of each combiner, and its class in `committee.combiners`.
COMBINERS = {
    "ep": "EPPruner",
    "ard": "ARDPruner",
    "em": "EMPruner",
    "mcmc": "MCMCPruner",
    "average": "Average",
    "optimal": "OptimalWeights",
    "simplex": "SimplexWeights",
    "least-squares": "LeastSquares",
    "log-pool": "LogPool",
    "lpboost": "LPBoostWeights",
    "greedy": "GreedyPruner",
    "reduce-error": "ReduceErrorPruner",
    "best": "BestPruner",
    "random": "RandomPruner",
    "kappa": "KappaPruner",
    "kappa-error-hull": "KappaErrorHullPruner",
    "kl": "KLPruner",
    "concurrency": "ConcurrencyPruner",
    "orientation": "OrientationPruner",
    "margin-distance": "MarginDistancePruner",
    "complementarity": "ComplementarityPruner",
    "boosting-order": "BoostingOrderPruner",
    "drep": "DREPPruner",
    "contribution": "ContributionPruner",
    "specialty": "SpecialtyPruner",
    "correlation": "CorrelationPruner",
    "cluster": "ClusterPruner",
    "genetic": "GeneticPruner",
    "sdp": "SDPPruner",
}
