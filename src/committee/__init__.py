"""Combine, prune and ship ensembles of models.

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
        BudgetPruner,
        ClusterPruner,
        EMPruner,
        EPPruner,
        GeneticPruner,
        GreedyPruner,
        KappaErrorHullPruner,
        LeastSquares,
        LogPool,
        LPBoostWeights,
        MCMCPruner,
        OptimalWeights,
        OrderPruner,
        ReduceErrorPruner,
        RidgeWeights,
        SDPPruner,
        SimplexWeights,
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
        ambiguity,
        disagreement,
        double_fault,
        error_correlation,
        expected_calibration_error,
        margins,
        pairwise_kappa,
        q_statistic,
    )
    from committee.displays import (
        AmbiguityDisplay,
        CriticalDifferenceDisplay,
        GateDisplay,
        IntervalDisplay,
        KappaErrorDisplay,
        PruningPathDisplay,
        RefinementDisplay,
        ReliabilityDisplay,
        WeightsDisplay,
    )
    from committee.export import (
        compiled,
        merge,
        to_c,
        to_native,
        to_onnx,
        to_sklearn,
    )
    from committee.gates import (
        NeighbourGate,
        SoftmaxGate,
    )
    from committee.interop import (
        CommitteeEnsembler,
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
    )
    from committee.reporting.report import (
        report,
    )
    from committee.training_sets import (
        bias_variance,
    )

__version__ = "0.2.0"

__all__ = [
    "ARDPruner",
    "AdaBoost",
    "AmbiguityDisplay",
    "Arcing",
    "Average",
    "Bagging",
    "BayesianCommitteeClassifier",
    "BayesianCommitteeRegressor",
    "BudgetPruner",
    "CellKernelClassifier",
    "CellKernelRegressor",
    "ClusterPruner",
    "CommitteeClassifier",
    "CommitteeEnsembler",
    "CommitteeRegressor",
    "CoupledKernelClassifier",
    "CoupledKernelRegressor",
    "CriticalDifferenceDisplay",
    "CrossSplits",
    "EMPruner",
    "EPPruner",
    "GateDisplay",
    "GeneticPruner",
    "GreedyPruner",
    "IntervalDisplay",
    "KappaErrorDisplay",
    "KappaErrorHullPruner",
    "LPBoost",
    "LPBoostWeights",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "LeastSquares",
    "LogPool",
    "MCMCPruner",
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
    "OrderPruner",
    "Pool",
    "PrunedClassifier",
    "PrunedRegressor",
    "PruningPathDisplay",
    "RandomInits",
    "RandomSubspaces",
    "ReduceErrorPruner",
    "RefinementDisplay",
    "ReliabilityDisplay",
    "RidgeWeights",
    "Rotations",
    "SDPPruner",
    "SimplexWeights",
    "SoftmaxGate",
    "WeightsDisplay",
    "__version__",
    "ambiguity",
    "bias_variance",
    "combine",
    "compiled",
    "disagreement",
    "double_fault",
    "error_correlation",
    "expected_calibration_error",
    "load",
    "margins",
    "member_predictions",
    "merge",
    "pairwise_kappa",
    "predictor_predictions",
    "prune",
    "q_statistic",
    "read_predictions",
    "refine",
    "report",
    "save",
    "to_c",
    "to_native",
    "to_onnx",
    "to_sklearn",
]

#: The public names of each module.
_NAMES_OF = {
    "combiners": """
        ARDPruner Average BudgetPruner ClusterPruner EMPruner EPPruner GeneticPruner GreedyPruner
        KappaErrorHullPruner LeastSquares LogPool LPBoostWeights MCMCPruner
        OptimalWeights OrderPruner ReduceErrorPruner RidgeWeights SDPPruner
        SimplexWeights
    """,
    "committee": "CommitteeClassifier CommitteeRegressor",
    "coupled": """
        BayesianCommitteeClassifier BayesianCommitteeRegressor CellKernelClassifier
        CellKernelRegressor CoupledKernelClassifier CoupledKernelRegressor
        LSSVMClassifier LSSVMRegressor
    """,
    "diagnostics": """
        ambiguity disagreement double_fault error_correlation
        expected_calibration_error margins pairwise_kappa q_statistic
    """,
    "displays": """
        AmbiguityDisplay CriticalDifferenceDisplay GateDisplay IntervalDisplay
        KappaErrorDisplay PruningPathDisplay RefinementDisplay ReliabilityDisplay
        WeightsDisplay
    """,
    "export": "compiled merge to_c to_native to_onnx to_sklearn",
    "gates": "NeighbourGate SoftmaxGate",
    "interop": "CommitteeEnsembler predictor_predictions read_predictions",
    "members": """
        AdaBoost Arcing Bagging CrossSplits LPBoost MemberFitError MiniBatches Pool
        RandomInits RandomSubspaces Rotations
    """,
    "mixtures": "MixtureOfExpertsClassifier MixtureOfExpertsRegressor",
    "networks": "NetworkClassifier NetworkRegressor Networks",
    "persistence": "load ModelFileError save",
    "predictions": "combine member_predictions",
    "pruning": "prune PrunedClassifier PrunedRegressor refine",
    "reporting.report": "report",
    "training_sets": "bias_variance",
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
            from committee._hints import no_such_name

            raise no_such_name(__name__, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__, "compare"})
