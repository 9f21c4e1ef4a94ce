"""Hints in error messages: a name that was meant, what to install, what replaces a name."""

from __future__ import annotations

import sys
from difflib import get_close_matches

#: The packages of each extra of pyproject.toml. pip finds these names whether or not this
#: library was installed from an index; the name of an extra would need an index.
EXTRAS = {
    "autogluon": ("'autogluon.tabular[lightgbm,xgboost,catboost]'",),
    "onnx": ("skl2onnx", "onnxruntime"),
    "plot": ("matplotlib",),
    "sdp": ("scs",),
    "shell": ("pandas", "pyarrow"),
}
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
    "gate_usage": "committee.diagnostics.gate_usage",
    "shrink": "refine",
    "solve_block_indefinite": "solve_blocks_indefinite",
}


def how_to_install(*extras: str) -> str:
    """Return the command that installs the packages of some extras.

    Examples
    --------
    >>> from committee._hints import how_to_install
    >>> how_to_install("shell", "plot")
    'pip install pandas pyarrow matplotlib'
    """
    return " ".join(["pip install", *(p for extra in extras for p in EXTRAS[extra])])


def no_such_name(module: str, name: str) -> AttributeError | ImportError:
    """Return the error of a module's `__getattr__`, with what replaces a former name.

    `from module import name` replaces the text of an AttributeError by its own, so it
    gets an ImportError. `hasattr` and `getattr` get an AttributeError, as they must.

    Examples
    --------
    >>> from committee._hints import no_such_name
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


def close_to(word: str, known: list[str]) -> str:
    """Return a question that suggests a known word, or an empty string.

    Examples
    --------
    >>> from committee._hints import close_to
    >>> close_to("specis", ["petal", "species"])
    " Did you mean 'species'?"
    """
    close = get_close_matches(word, known, n=1) or [
        name for name in known if name.lower() == word.lower()
    ]
    return f" Did you mean {close[0]!r}?" if close else ""
