"""The names by which files know the classes of this library.

A file names this module and a name of `types`, never the module in which the class
happens to be defined: code may move, and old files still load. So this module stays
where it is. An estimator is registered by being public; what estimators are made of
has a line below, of which only the right side may ever change.
"""

from __future__ import annotations

import functools
import importlib
import json
from typing import Any

from sklearn.base import BaseEstimator

import committee

#: Parts of fitted models: the name in files, and where the class is today.
_PARTS = {
    "Assessment": "pruning.assessment.Assessment",
    "Calibration": "calibration.Calibration",
    "CatBoostRound": "ensembles.catboost.CatBoostRound",
    "CellModel": "cells.model.CellModel",
    "CellTree": "cells.tree.CellTree",
    "CellVariance": "cells.variance.CellVariance",
    "CommitteeMachine": "cells.bcm.CommitteeMachine",
    "CommitteeVariance": "cells.bcm.CommitteeVariance",
    "GradientRound": "ensembles.gradient_boosting.GradientRound",
    "HeldOutResiduals": "uncertainty.stored_rows.HeldOutResiduals",
    "HeldOutScores": "uncertainty.stored_rows.HeldOutScores",
    "HistGradientRound": "ensembles.hist_boosting.HistGradientRound",
    "Inclusion": "combiners.ep_pruner.Inclusion",
    "KeptPath": "pruning.kept_path.KeptPath",
    "Kernel": "kernels.Kernel",
    "KernelMember": "coupled.expansion.KernelMember",
    "Layout": "coupled.gram.Layout",
    "LightGBMRound": "ensembles.lightgbm.LightGBMRound",
    "OnColumns": "ensembles.member_features.OnColumns",
    "Path": "path.Path",
    "PathStep": "ep.sequence.PathStep",
    "RefinedSize": "pruning.summary.RefinedSize",
    "Refinement": "pruning.summary.Refinement",
    "Roster": "ensembles.roster.Roster",
    "Rotated": "ensembles.member_features.Rotated",
    "SharedRound": "ensembles.rounds.Shared",
    "Summary": "pruning.summary.Summary",
    "Trend": "cells.trend.Trend",
    "XGBoostRound": "ensembles.xgboost.XGBoostRound",
}


@functools.cache
def types() -> dict[str, type]:
    """Return the classes of this library that a file may hold, by their names there."""
    # Displays load on first use, and are in no model.
    kinds = [n for n in committee.__all__ if n[0].isupper() and n[-7:] != "Display"]
    public = {name: getattr(committee, name) for name in kinds}
    registered = {
        name: kind for name, kind in public.items() if issubclass(kind, BaseEstimator)
    }
    for name, path in _PARTS.items():
        module, _, attribute = path.rpartition(".")
        found = importlib.import_module(f"committee.{module}")
        registered[name] = getattr(found, attribute)
    return registered


@functools.cache
def trusted_names() -> frozenset[str]:
    """Return the full names of all registered classes, in our files and in skops'."""
    return frozenset(
        {f"{__name__}.{name}" for name in types()} | _names_of_classes().keys()
    )


def public_name(kind: type) -> str:
    """Return the name of a class that users know: `committee.Average`."""
    name = _names_of_classes().get(_full_name(kind))
    return f"committee.{name}" if name else _full_name(kind)


def with_registered_names(schema: bytes) -> str:
    """Return the description of a model by skops, with the names of this registry."""
    names = _names_of_classes()

    def renamed(node: dict[str, Any]) -> dict[str, Any]:
        name = names.get(f"{node.get('__module__')}.{node.get('__class__')}")
        return node | {"__module__": __name__, "__class__": name} if name else node

    return json.dumps(json.loads(schema, object_hook=renamed))


def __getattr__(name: str) -> type:
    """Find a class for skops, which imports this module and reads an attribute."""
    try:
        return types()[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


@functools.cache
def _names_of_classes() -> dict[str, str]:
    """Return the name in files of every class, by where it is defined."""
    return {_full_name(kind): name for name, kind in types().items()}


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
