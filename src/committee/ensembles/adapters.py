"""The table of supported ensembles: one adapter for each kind.

An adapter has functions for the roster of an ensemble, used by `prune` and
`member_predictions`, and for its trees, used by `to_onnx`. `to_sklearn` and `save` use the
Round classes of boosters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from committee.ensembles.catboost import (
    catboost_columns,
    catboost_roster,
    catboost_trees,
)
from committee.ensembles.forests import (
    adaboost_roster,
    bagging_roster,
    forest_roster,
    forest_trees,
)
from committee.ensembles.gradient_boosting import (
    gradient_roster,
    gradient_trees,
    hist_roster,
    hist_trees,
)
from committee.ensembles.lightgbm import lightgbm_roster, lightgbm_trees
from committee.ensembles.roster import Roster, with_names
from committee.ensembles.training_rows import Recognised, rows_of_trees
from committee.ensembles.tree_sum import TreeSum
from committee.ensembles.voting import list_roster, stacking_roster, voting_roster
from committee.ensembles.xgboost import xgboost_roster, xgboost_trees

#: Results of `recognise` for training rows.
_TRAINED = ("same", "another order")
#: Maximum number of members that are compared with the rows.
_ASKED = 20


class Adapter(NamedTuple):
    """Functions for some classes of a library.

    Classes are recognised by the names of an ensemble's base classes, so that no library
    is imported. In a name, * stands for Classifier and for Regressor.
    """

    library: str
    names: str
    roster: Callable[[Any], Roster] | None
    trees: Callable[[Any], TreeSum] | None = None
    #: For models without scikit-learn's attributes: see `known_columns`.
    columns: Callable[[Any], dict[str, Any]] | None = None


ADAPTERS = (
    Adapter("sklearn", "DecisionTree*", None, forest_trees),
    Adapter("sklearn", "RandomForest* ExtraTrees*", forest_roster, forest_trees),
    Adapter("sklearn", "Bagging*", bagging_roster),
    Adapter("sklearn", "AdaBoost*", adaboost_roster),
    Adapter("sklearn", "Voting*", voting_roster),
    Adapter("sklearn", "Stacking*", stacking_roster),
    Adapter("sklearn", "GradientBoosting*", gradient_roster, gradient_trees),
    Adapter("sklearn", "HistGradientBoosting*", hist_roster, hist_trees),
    Adapter("lightgbm", "LGBMModel Booster", lightgbm_roster, lightgbm_trees),
    Adapter("xgboost", "XGBModel Booster", xgboost_roster, xgboost_trees),
    Adapter("catboost", "CatBoost*", catboost_roster, catboost_trees, catboost_columns),
    Adapter("committee", "Boosted*", None, attrgetter("trees_")),
)

#: Ensembles of models that are trained independently, each on all rows.
_OF_MODELS = (voting_roster, stacking_roster)

KNOWN = (
    "RandomForest*, ExtraTrees*, Bagging*, AdaBoost*, Voting*, Stacking*, "
    "GradientBoosting*, HistGradientBoosting*, LightGBM, XGBoost and CatBoost models, "
    "a committee, a Pipeline or a search around one of these, or a list of fitted "
    "estimators, (name, estimator) pairs or a dict of them"
)


def roster_of(ensemble: Any) -> Roster:
    """Return the roster of a fitted ensemble: its members and how they predict.

    The ensemble may be one of the ADAPTERS, a committee, a pipeline or a search around
    one of these, or fitted estimators of one task: a list, (name, estimator) pairs or
    a dict.
    """
    if isinstance(ensemble, (list, tuple, Mapping)) and ensemble:
        return _of_models(list_roster(*with_names(ensemble)))
    if hasattr(ensemble, "_as_roster"):
        roster: Roster = ensemble._as_roster()
        return roster
    if hasattr(ensemble, "best_estimator_"):
        return roster_of(ensemble.best_estimator_)
    kind = type(ensemble).__name__
    if isinstance(ensemble, Pipeline):
        check_is_fitted(ensemble)
        return _pipeline_roster(ensemble)
    adapter = adapter_of(ensemble)
    if adapter is not None and adapter.roster is not None:
        if hasattr(ensemble, "fit"):  # Booster objects of libraries have no fit
            check_is_fitted(ensemble)
        classes = getattr(ensemble, "classes_", None)
        if adapter.library == "sklearn" and (
            getattr(ensemble, "n_outputs_", 1) != 1 or isinstance(classes, list)
        ):
            raise ValueError(
                f"The {kind} predicts several targets; prune one that was trained on "
                "a single target."
            )
        roster = adapter.roster(ensemble)
        return roster if adapter.roster not in _OF_MODELS else _of_models(roster)
    if hasattr(ensemble, "refit"):
        check_is_fitted(ensemble)
        raise ValueError(
            f"The {kind} has no best_estimator_: it was fitted with refit=False, or did "
            "not finish."
        )
    came = f"an empty {kind}" if isinstance(ensemble, (list, tuple, Mapping)) else kind
    hint = ""
    if kind == "TabularPredictor":
        hint = " For AutoGluon, call committee.interop.shrink_predictor."
    raise TypeError(f"The ensemble must be one of {KNOWN}. Got {came} instead.{hint}")


def _of_models(roster: Roster) -> Roster:
    """Return the roster with a `recognise` that compares rows model by model."""
    return replace(roster, recognise=partial(_rows_of_models, roster.members))


def _rows_of_models(models: list[Any], X: Any) -> Recognised | None:
    """Compare X with the training rows of some models."""
    trees = [model for model in models if isinstance(model, BaseDecisionTree)]
    answers = chain(
        [rows_of_trees(trees, X)], (_rows_of_model(m, X) for m in models[:_ASKED])
    )
    return next((found for found in answers if found in _TRAINED), None)


def _rows_of_model(model: Any, X: Any) -> Recognised | None:
    if isinstance(model, Pipeline):
        return _rows_of_model(model.steps[-1][1], model[:-1].transform(X))
    if isinstance(model, BaseDecisionTree):
        return rows_of_trees([model], X)
    try:
        roster = roster_of(model)
    except (
        TypeError,
        ValueError,
    ):  # a plain estimator, or rounds that cannot be weighed
        return None
    return None if roster.recognise is None else roster.recognise(roster.prepared(X))


def leaves_rows_out(ensemble: Any) -> bool:
    """Return True if an unfitted ensemble will record the rows that each member left out."""
    if isinstance(ensemble, Pipeline):
        return leaves_rows_out(ensemble.steps[-1][1])
    if hasattr(ensemble, "_leaves_rows_out"):
        return bool(ensemble._leaves_rows_out())
    if hasattr(ensemble, "refit"):
        return leaves_rows_out(ensemble.estimator)
    adapter = adapter_of(ensemble)
    if adapter is None or adapter.roster not in (forest_roster, bagging_roster):
        return False
    size = ensemble.max_samples
    return ensemble.bootstrap or (
        adapter.roster is bagging_roster and isinstance(size, float) and size < 1
    )


def trees_of(model: Any) -> TreeSum | None:
    """Return the trees of a fitted model; None if it does not consist of trees."""
    adapter = adapter_of(model)
    if adapter is None or adapter.trees is None:
        return None
    if not hasattr(model, "fit"):
        raise ValueError(
            "ONNX needs a booster inside a classifier or regressor of its library, which "
            f"has classes. Got a bare {type(model).__name__}."
        )
    return adapter.trees(model)


def known_columns(ensemble: Any) -> dict[str, Any]:
    """Return n_features_in_ and feature_names_in_, if the ensemble has them."""
    model = getattr(ensemble, "best_estimator_", ensemble)
    adapter = adapter_of(model)
    if adapter is not None and adapter.columns is not None:
        return adapter.columns(model)
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def adapter_of(ensemble: Any) -> Adapter | None:
    """Return the adapter for this ensemble, or None."""
    bases = {
        (base.__module__.partition(".")[0], base.__name__)
        for base in type(ensemble).__mro__
    }
    for adapter in ADAPTERS:
        for name in adapter.names.split():
            for end in ("Classifier", "Regressor"):
                if (adapter.library, name.replace("*", end)) in bases:
                    return adapter
    return None


def _pipeline_roster(pipeline: Pipeline) -> Roster:
    """Return the roster of the last step; the steps before it transform X."""
    roster = roster_of(pipeline.steps[-1][1])
    before = pipeline[:-1]
    if roster.transformer is not None:
        before = Pipeline([("outer", before), ("inner", roster.transformer)])
    return replace(roster, transformer=before if len(before) else None)
