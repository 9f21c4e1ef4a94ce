"""The whole life of an ensemble: generate, couple, weigh, prune, look inside, ship.

Names are loaded on first use: `import committee` imports nothing, not even NumPy.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee import compare as compare
    from committee.combiners import (
        ARDPruner,
        Average,
        BestPruner,
        BoostingOrderPruner,
        ClusterPruner,
        ComplementarityPruner,
        ConcurrencyPruner,
        ContributionPruner,
        CorrelationPruner,
        DREPPruner,
        EMPruner,
        EPPruner,
        GeneticPruner,
        GreedyPruner,
        KappaErrorHullPruner,
        KappaPruner,
        KLPruner,
        LeastSquares,
        LogPool,
        LPBoostWeights,
        MarginDistancePruner,
        MCMCPruner,
        OptimalWeights,
        OrientationPruner,
        RandomPruner,
        ReduceErrorPruner,
        SDPPruner,
        SimplexWeights,
        SpecialtyPruner,
    )
    from committee.committee import (
        CommitteeClassifier,
        CommitteeRegressor,
    )
    from committee.coupled import (
        BayesianCommitteeClassifier,
        BayesianCommitteeRegressor,
        CellKernelClassifier,
        CellKernelRegressor,
        CoupledKernelClassifier,
        CoupledKernelRegressor,
        LSSVMClassifier,
        LSSVMRegressor,
    )
    from committee.diagnostics import (
        Ambiguity,
        GateUsage,
        ambiguity,
        disagreement,
        double_fault,
        error_correlation,
        expected_calibration_error,
        gate_usage,
        margins,
        pairwise_kappa,
        q_statistic,
    )
    from committee.displays import (
        AmbiguityDisplay,
        BiasVarianceDisplay,
        CouplingDisplay,
        CriticalDifferenceDisplay,
        GateDisplay,
        HeldOutDisplay,
        IntervalDisplay,
        KappaErrorDisplay,
        PairedRunsDisplay,
        PosteriorDisplay,
        PruningPathDisplay,
        RefinementDisplay,
        ReliabilityDisplay,
        RocCommitteeDisplay,
        WeightsDisplay,
    )
    from committee.export import (
        to_onnx,
        to_sklearn,
    )
    from committee.gates import (
        CellGate,
        NeighbourGate,
        PrecisionGate,
        SoftmaxGate,
    )
    from committee.interop import (
        CommitteeEnsembler,
        Predictions,
        predictor_predictions,
        read_predictions,
    )
    from committee.members import (
        AdaBoost,
        Arcing,
        Bagging,
        CrossSplits,
        LPBoost,
        MemberFitError,
        MiniBatches,
        Pool,
        RandomInits,
        RandomSubspaces,
        Rotations,
    )
    from committee.mixtures import (
        GatedEnsembleClassifier,
        GatedEnsembleRegressor,
        HierarchicalMixtureClassifier,
        HierarchicalMixtureRegressor,
        MixtureOfExpertsClassifier,
        MixtureOfExpertsRegressor,
    )
    from committee.networks import (
        NetworkClassifier,
        NetworkRegressor,
        Networks,
    )
    from committee.persistence import (
        ModelFileError,
        load,
        save,
    )
    from committee.predictions import (
        combine,
        member_predictions,
    )
    from committee.pruning import (
        PrunedClassifier,
        PrunedRegressor,
        prune,
        refine,
        shrink,
    )
    from committee.reporting.report import (
        report,
    )
    from committee.training_sets import (
        BiasVariance,
        bias_variance,
    )

__version__ = "0.1.0"

__all__ = [
    "ARDPruner",
    "AdaBoost",
    "Ambiguity",
    "AmbiguityDisplay",
    "Arcing",
    "Average",
    "Bagging",
    "BayesianCommitteeClassifier",
    "BayesianCommitteeRegressor",
    "BestPruner",
    "BiasVariance",
    "BiasVarianceDisplay",
    "BoostingOrderPruner",
    "CellGate",
    "CellKernelClassifier",
    "CellKernelRegressor",
    "ClusterPruner",
    "CommitteeClassifier",
    "CommitteeEnsembler",
    "CommitteeRegressor",
    "ComplementarityPruner",
    "ConcurrencyPruner",
    "ContributionPruner",
    "CorrelationPruner",
    "CoupledKernelClassifier",
    "CoupledKernelRegressor",
    "CouplingDisplay",
    "CriticalDifferenceDisplay",
    "CrossSplits",
    "DREPPruner",
    "EMPruner",
    "EPPruner",
    "GateDisplay",
    "GateUsage",
    "GatedEnsembleClassifier",
    "GatedEnsembleRegressor",
    "GeneticPruner",
    "GreedyPruner",
    "HeldOutDisplay",
    "HierarchicalMixtureClassifier",
    "HierarchicalMixtureRegressor",
    "IntervalDisplay",
    "KLPruner",
    "KappaErrorDisplay",
    "KappaErrorHullPruner",
    "KappaPruner",
    "LPBoost",
    "LPBoostWeights",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "LeastSquares",
    "LogPool",
    "MCMCPruner",
    "MarginDistancePruner",
    "MemberFitError",
    "MiniBatches",
    "MixtureOfExpertsClassifier",
    "MixtureOfExpertsRegressor",
    "ModelFileError",
    "NeighbourGate",
    "NetworkClassifier",
    "NetworkRegressor",
    "Networks",
    "OptimalWeights",
    "OrientationPruner",
    "PairedRunsDisplay",
    "Pool",
    "PosteriorDisplay",
    "PrecisionGate",
    "Predictions",
    "PrunedClassifier",
    "PrunedRegressor",
    "PruningPathDisplay",
    "RandomInits",
    "RandomPruner",
    "RandomSubspaces",
    "ReduceErrorPruner",
    "RefinementDisplay",
    "ReliabilityDisplay",
    "RocCommitteeDisplay",
    "Rotations",
    "SDPPruner",
    "SimplexWeights",
    "SoftmaxGate",
    "SpecialtyPruner",
    "WeightsDisplay",
    "__version__",
    "ambiguity",
    "bias_variance",
    "combine",
    "disagreement",
    "double_fault",
    "error_correlation",
    "expected_calibration_error",
    "gate_usage",
    "load",
    "margins",
    "member_predictions",
    "pairwise_kappa",
    "predictor_predictions",
    "prune",
    "q_statistic",
    "read_predictions",
    "refine",
    "report",
    "save",
    "shrink",
    "to_onnx",
    "to_sklearn",
]

#: The public names of each module.
_NAMES_OF = {
    "combiners": """
        ARDPruner Average BestPruner BoostingOrderPruner ClusterPruner
        ComplementarityPruner ConcurrencyPruner ContributionPruner CorrelationPruner
        DREPPruner EMPruner EPPruner GeneticPruner GreedyPruner KappaErrorHullPruner
        KappaPruner KLPruner LeastSquares LogPool LPBoostWeights MarginDistancePruner
        MCMCPruner OptimalWeights OrientationPruner RandomPruner ReduceErrorPruner
        SDPPruner SimplexWeights SpecialtyPruner
    """,
    "coupled": """
        BayesianCommitteeClassifier BayesianCommitteeRegressor CellKernelClassifier
        CellKernelRegressor CoupledKernelClassifier CoupledKernelRegressor
        LSSVMClassifier LSSVMRegressor
    """,
    "diagnostics": """
        Ambiguity GateUsage ambiguity disagreement double_fault error_correlation
        expected_calibration_error gate_usage margins pairwise_kappa q_statistic
    """,
    "displays": """
        AmbiguityDisplay BiasVarianceDisplay CouplingDisplay
        CriticalDifferenceDisplay GateDisplay HeldOutDisplay IntervalDisplay
        KappaErrorDisplay PairedRunsDisplay PosteriorDisplay PruningPathDisplay
        RefinementDisplay ReliabilityDisplay RocCommitteeDisplay WeightsDisplay
    """,
    "committee": "CommitteeClassifier CommitteeRegressor",
    "export": "to_onnx to_sklearn",
    "gates": "CellGate NeighbourGate PrecisionGate SoftmaxGate",
    "interop": "CommitteeEnsembler Predictions predictor_predictions read_predictions",
    "members": """
        AdaBoost Arcing Bagging CrossSplits LPBoost MemberFitError MiniBatches Pool
        RandomInits RandomSubspaces Rotations
    """,
    "mixtures": """
        GatedEnsembleClassifier GatedEnsembleRegressor HierarchicalMixtureClassifier
        HierarchicalMixtureRegressor MixtureOfExpertsClassifier
        MixtureOfExpertsRegressor
    """,
    "networks": "NetworkClassifier NetworkRegressor Networks",
    "persistence": "ModelFileError load save",
    "predictions": "combine member_predictions",
    "pruning": "PrunedClassifier PrunedRegressor prune refine shrink",
    "reporting.report": "report",
    "training_sets": "BiasVariance bias_variance",
}
_MODULE_OF = {
    name: module for module, names in _NAMES_OF.items() for name in names.split()
}

if not TYPE_CHECKING:  # a checker sees the imports above, and what is not there

    def __getattr__(name: str) -> Any:
        """Load a public name, or a package such as `committee.compare`."""
        if name in _MODULE_OF:
            value = getattr(import_module(f"committee.{_MODULE_OF[name]}"), name)
        elif not name.startswith("_") and find_spec(f"committee.{name}"):
            value = import_module(f"committee.{name}")
        else:
            raise AttributeError(f"module 'committee' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__, "compare"})
