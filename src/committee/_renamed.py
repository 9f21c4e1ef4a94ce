"""Public names of version 0.1, and what to use instead."""

from __future__ import annotations

import sys

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
    "CoupledSolution": "solve_coupled, which returns the coefficients",
    "CouplingDisplay": "sklearn.model_selection.ValidationCurveDisplay",
    "GateUsage": "committee.diagnostics.GateUsage",
    "GatedEnsembleClassifier": _GATED.format("Classifier"),
    "GatedEnsembleRegressor": _GATED.format("Regressor"),
    "HeldOutDisplay": "plt.imshow(committee.held_out_.T)",
    "HierarchicalMixtureClassifier": _TREE.format("Classifier"),
    "HierarchicalMixtureRegressor": _TREE.format("Regressor"),
    "PairedRunsDisplay": "ax.boxplot of the differences",
    "PosteriorDisplay": "WeightsDisplay",
    "Probit": "committee.ep.sites.tilted",
    "PrecisionGate": "BayesianCommitteeRegressor or SoftmaxGate",
    "Predictions": "committee.interop.Predictions",
    "RocCommitteeDisplay": "sklearn.metrics.RocCurveDisplay",
    "Site": "committee.ep.sites.tilted",
    "Truncation": "committee.ep.sites.tilted",
    "shrink": "refine",
    "solve_block_indefinite": "solve_blocks_indefinite",
}


def no_such_name(module: str, name: str) -> AttributeError | ImportError:
    """Return the error of a module's `__getattr__`, with what replaces a former name.

    `from module import name` replaces the text of an AttributeError by its own, so it
    gets an ImportError. `hasattr` and `getattr` get an AttributeError, as they must.

    Examples
    --------
    >>> from committee._renamed import no_such_name
    >>> print(no_such_name("committee", "KappaPruner"))
    module 'committee' has no attribute 'KappaPruner': use OrderPruner("kappa")
    """
    text = f"module {module!r} has no attribute {name!r}"
    if name in _CRITERIA:
        found: str | None = f'OrderPruner("{_CRITERIA[name]}")'
    else:
        found = _OTHERS.get(name)
    if found is None:
        return AttributeError(text)
    importing = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    return (ImportError if importing else AttributeError)(f"{text}: use {found}")
