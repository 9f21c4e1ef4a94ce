"""The whole life of an ensemble: generate, couple, weigh, prune, look inside, ship."""

import importlib
import typing

from committee.combiners import (
    ARDPruner,
    Average,
    BestPruner,
    BoostingOrderPruner,
    ClusterPruner,
    ComplementarityPruner,
    ConcurrencyPruner,
    ContributionPruner,
    DREPPruner,
    EMPruner,
    EPPruner,
    GeneticPruner,
    GreedyPruner,
    KappaErrorHullPruner,
    KappaPruner,
    KLPruner,
    LeastSquares,
    LPBoostWeights,
    MarginDistancePruner,
    MCMCPruner,
    OptimalWeights,
    OrientationPruner,
    RandomPruner,
    ReduceErrorPruner,
    SDPPruner,
    SimplexWeights,
)
from committee.coupled import (
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    LSSVMClassifier,
    LSSVMRegressor,
)
from committee.diagnostics import (
    Ambiguity,
    ambiguity,
    disagreement,
    double_fault,
    error_correlation,
    margins,
    pairwise_kappa,
    q_statistic,
)
from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.export import to_onnx, to_sklearn
from committee.members import (
    AdaBoost,
    Bagging,
    CrossSplits,
    MemberFitError,
    MiniBatches,
    Pool,
    RandomInits,
)
from committee.persistence import ModelFileError, load, save
from committee.predictions import combine, member_predictions
from committee.pruning import prune

if typing.TYPE_CHECKING:
    from committee.displays import (
        AmbiguityDisplay,
        CouplingDisplay,
        CriticalDifferenceDisplay,
        KappaErrorDisplay,
        PairedRunsDisplay,
        PosteriorDisplay,
        PruningPathDisplay,
        RocCommitteeDisplay,
        WeightsDisplay,
    )
    from committee.reporting import report

__version__ = "0.1.0.dev0"

__all__ = [
    "ARDPruner",
    "AdaBoost",
    "Ambiguity",
    "AmbiguityDisplay",
    "Average",
    "Bagging",
    "BestPruner",
    "BoostingOrderPruner",
    "ClusterPruner",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "ComplementarityPruner",
    "ConcurrencyPruner",
    "ContributionPruner",
    "CoupledKernelClassifier",
    "CoupledKernelRegressor",
    "CouplingDisplay",
    "CriticalDifferenceDisplay",
    "CrossSplits",
    "DREPPruner",
    "EMPruner",
    "EPPruner",
    "GeneticPruner",
    "GreedyPruner",
    "KLPruner",
    "KappaErrorDisplay",
    "KappaErrorHullPruner",
    "KappaPruner",
    "LPBoostWeights",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "LeastSquares",
    "MCMCPruner",
    "MarginDistancePruner",
    "MemberFitError",
    "MiniBatches",
    "ModelFileError",
    "OptimalWeights",
    "OrientationPruner",
    "PairedRunsDisplay",
    "Pool",
    "PosteriorDisplay",
    "PruningPathDisplay",
    "RandomInits",
    "RandomPruner",
    "ReduceErrorPruner",
    "RocCommitteeDisplay",
    "SDPPruner",
    "SimplexWeights",
    "WeightsDisplay",
    "__version__",
    "ambiguity",
    "combine",
    "disagreement",
    "double_fault",
    "error_correlation",
    "load",
    "margins",
    "member_predictions",
    "pairwise_kappa",
    "prune",
    "q_statistic",
    "report",
    "save",
    "to_onnx",
    "to_sklearn",
]


def __getattr__(name: str) -> typing.Any:
    """Load on first use what a fitted committee does not need."""
    if name == "compare":
        return importlib.import_module("committee.compare")
    if name in __all__ and name.endswith("Display"):
        return getattr(importlib.import_module("committee.displays"), name)
    if name == "report":
        return importlib.import_module("committee.reporting").report
    raise AttributeError(f"module 'committee' has no attribute {name!r}")
