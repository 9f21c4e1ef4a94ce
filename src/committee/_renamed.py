"""Public names of version 0.1, and what to use instead."""

from __future__ import annotations

#: Former pruners, and the criteria of `OrderPruner` that replace them.
_CRITERIA = {
    "BestPruner": "best",
    "BoostingOrderPruner": "boosting-order",
    "ComplementarityPruner": "complementarity",
    "ConcurrencyPruner": "concurrency",
    "ContributionPruner": "contribution",
    "CorrelationPruner": "correlation",
    "DREPPruner": "drep",
    "KLPruner": "kl",
    "KappaPruner": "kappa",
    "MarginDistancePruner": "margin-distance",
    "OrientationPruner": "orientation",
    "RandomPruner": "random",
    "SpecialtyPruner": "specialty",
}
_GATED = 'MixtureOfExperts{0}(assignment="hard")'
_TREE = "MixtureOfExperts{0}(depth=2)"
_OTHERS = {
    "Ambiguity": "committee.diagnostics.Ambiguity",
    "BiasVariance": "committee.training_sets.BiasVariance",
    "BiasVarianceDisplay": "print(bias_variance(...))",
    "CellGate": 'NeighbourGate("soft") or SoftmaxGate',
    "CouplingDisplay": "sklearn.model_selection.ValidationCurveDisplay",
    "GateUsage": "committee.diagnostics.GateUsage",
    "GatedEnsembleClassifier": _GATED.format("Classifier"),
    "GatedEnsembleRegressor": _GATED.format("Regressor"),
    "HeldOutDisplay": "plt.imshow(committee.held_out_.T)",
    "HierarchicalMixtureClassifier": _TREE.format("Classifier"),
    "HierarchicalMixtureRegressor": _TREE.format("Regressor"),
    "PairedRunsDisplay": "ax.boxplot of the differences",
    "PosteriorDisplay": "WeightsDisplay",
    "PrecisionGate": "BayesianCommitteeRegressor or SoftmaxGate",
    "Predictions": "committee.interop.Predictions",
    "RocCommitteeDisplay": "sklearn.metrics.RocCurveDisplay",
    "shrink": "refine",
}


def instead_of(name: str) -> str | None:
    """Return what replaces a former public name; None for any other name.

    Examples
    --------
    >>> from committee._renamed import instead_of
    >>> instead_of("KappaPruner")
    'OrderPruner("kappa")'
    """
    if name in _CRITERIA:
        return f'OrderPruner("{_CRITERIA[name]}")'
    return _OTHERS.get(name)
