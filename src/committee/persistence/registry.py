"""The types that a model file may contain, and the names of this library's classes in it.

A file names this module and a key of `CLASSES`, never the module that defines the class,
so that code may move. This module stays where it is. Public estimators are registered by
being public; parts of fitted models have a line below, of which only the right side may
change. A class is imported when a file uses its name.

skops calls or fills in every type with a trusted name. A name is trusted only if that is
harmless whatever the file holds: classes that store their arguments, and functions of
arrays. skops itself trusts NumPy's arrays and scikit-learn's public estimators; the list
below adds the parts of these.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from typing import Any

import committee

#: Parts of fitted models: the name in files, and where the class is today.
_PARTS = {
    "Calibration": "calibration.Calibration",
    "BoostedClassifier": "ensembles.boosted.BoostedClassifier",
    "BoostedRegressor": "ensembles.boosted.BoostedRegressor",
    "CatBoostRound": "ensembles.catboost.CatBoostRound",
    "CellModel": "cells.model.CellModel",
    "CellTree": "cells.tree.CellTree",
    "CellVariance": "cells.model.CellVariance",
    "CommitteeMachine": "cells.bcm.CommitteeMachine",
    "CommitteeVariance": "cells.bcm.CommitteeVariance",
    "GateTree": "mixtures.gate_tree.GateTree",
    "GradientRound": "ensembles.gradient_boosting.GradientRound",
    "HeldOutResiduals": "uncertainty.stored_rows.HeldOutResiduals",
    "HeldOutScores": "uncertainty.stored_rows.HeldOutScores",
    "HistGradientRound": "ensembles.gradient_boosting.HistGradientRound",
    "KeptPath": "pruning.kept_path.KeptPath",
    "Kernel": "kernels.Kernel",
    "KernelMember": "coupled.gram.KernelMember",
    "Layout": "coupled.gram.Layout",
    "LightGBMRound": "ensembles.lightgbm.LightGBMRound",
    "OnColumns": "ensembles.member_features.OnColumns",
    "Link": "ensembles.tree_sum.Link",
    "Path": "path.Path",
    "PathStep": "ep.evidence_loop.PathStep",
    "RefinedSize": "pruning.summary.RefinedSize",
    "Refinement": "pruning.summary.Refinement",
    "Rival": "pruning.summary.Rival",
    "Roster": "ensembles.roster.Roster",
    "Rotated": "ensembles.member_features.Rotated",
    "SharedRound": "ensembles.rounds.Shared",
    "Summary": "pruning.summary.Summary",
    "TreeSumClassifier": "ensembles.tree_sum.TreeSumClassifier",
    "TreeSumRegressor": "ensembles.tree_sum.TreeSumRegressor",
    "TreeTable": "ensembles.tree_sum.TreeTable",
    "Trend": "cells.trend.Trend",
    "XGBoostRound": "ensembles.xgboost.XGBoostRound",
}


#: Public classes that are not estimators; displays are none either.
_NO_ESTIMATORS = {"CommitteeEnsembler", "MemberFitError", "ModelFileError"}

#: Registered classes: the name in files, and where `committee` has the class.
CLASSES = _PARTS | {
    name: f"{module}.{name}"
    for name, module in committee._MODULE_OF.items()
    if name[0].isupper() and not name.endswith("Display") and name not in _NO_ESTIMATORS
}
_NAMES = {path.rpartition(".")[2]: name for name, path in CLASSES.items()}


def __getattr__(name: str) -> type:
    """Return a registered class: skops reads it as an attribute of this module."""
    if name not in CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = CLASSES[name].rpartition(".")
    kind: type = getattr(importlib.import_module(f"committee.{module}"), attribute)
    return kind


def _registered(module: str, attribute: str) -> str | None:
    """Return the name in files of a class; None if it is not registered.

    Imports nothing but the registered class of that name, if there is one.
    """
    name = _NAMES.get(attribute)
    if name is None or not module.startswith("committee."):
        return None
    return name if __getattr__(name).__module__ == module else None


def public_name(kind: type) -> str:
    """Return the public name of a class, such as `committee.Average`."""
    name = _registered(kind.__module__, kind.__qualname__)
    return f"committee.{name}" if name else f"{kind.__module__}.{kind.__qualname__}"


def with_registered_names(schema: bytes) -> str:
    """Return the schema of skops with names of this registry."""

    def renamed(node: dict[str, Any]) -> dict[str, Any]:
        module, attribute = node.get("__module__"), node.get("__class__")
        if not (isinstance(module, str) and isinstance(attribute, str)):
            return node
        name = _registered(module, attribute)
        return node | {"__module__": __name__, "__class__": name} if name else node

    return json.dumps(json.loads(schema, object_hook=renamed))


_KERNELS = (
    "CompoundKernel ConstantKernel DotProduct Exponentiation ExpSineSquared Matern "
    "Product RBF RationalQuadratic Sum WhiteKernel"
)
#: Trusted parts of fitted estimators. `soundness` checks the content of those that
#: compiled code reads without bounds checks.
_FOREIGN = frozenset(
    {
        "collections.OrderedDict",
        "numpy.clip",
        "numpy.dtype",
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS.split()),
        "sklearn.metrics._dist_metrics.ChebyshevDistance64",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
    }
)


def is_trusted(name: str) -> bool:
    """Return True if a file may contain this type, by module and name, without `trusted`."""
    module, _, attribute = name.rpartition(".")
    if module == __name__:
        return attribute in CLASSES
    return name in _FOREIGN or _registered(module, attribute) is not None


def type_names(trusted: Iterable[str | type]) -> set[str]:
    """Return the names of trusted types, given as types or as names."""
    if isinstance(trusted, (str, bytes, bool)) or not isinstance(trusted, Iterable):
        raise TypeError(
            "trusted must be a list of types or of their names, such as "
            f"['package.module.Class']. Got {trusted!r}."
        )
    return {
        name if isinstance(name, str) else f"{name.__module__}.{name.__name__}"
        for name in trusted
    }
