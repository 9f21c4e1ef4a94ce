"""The whole life of an ensemble: generate, couple, weigh, prune, look inside, ship."""

from committee.combiners import (
    ARDPruner,
    Average,
    EPPruner,
    LeastSquares,
    OptimalWeights,
    SimplexWeights,
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
from committee.members import (
    AdaBoost,
    Bagging,
    CrossSplits,
    MemberFitError,
    MiniBatches,
    Pool,
    RandomInits,
)
from committee.predictions import combine, member_predictions

__version__ = "0.1.0.dev0"

__all__ = [
    "ARDPruner",
    "AdaBoost",
    "Ambiguity",
    "Average",
    "Bagging",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "CrossSplits",
    "EPPruner",
    "LeastSquares",
    "MemberFitError",
    "MiniBatches",
    "OptimalWeights",
    "Pool",
    "RandomInits",
    "SimplexWeights",
    "__version__",
    "ambiguity",
    "combine",
    "disagreement",
    "double_fault",
    "error_correlation",
    "margins",
    "member_predictions",
    "pairwise_kappa",
    "q_statistic",
]
