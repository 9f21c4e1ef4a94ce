"""From a fitted ensemble of any known kind to its roster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray
from committee.ensembles.boosters import booster_roster
from committee.ensembles.columns import OnColumns
from committee.ensembles.roster import Roster, unseen_rows

KNOWN = (
    "RandomForest*, ExtraTrees*, Bagging*, AdaBoost*, Voting*, Stacking*, "
    "GradientBoosting*, HistGradientBoosting*, LightGBM and XGBoost models, a "
    "committee, a Pipeline or a search around one of these, or a list of fitted "
    "estimators"
)


def roster_of(ensemble: Any) -> Roster:
    """Return the members of a fitted ensemble, and how to ask them.

    Parameters
    ----------
    ensemble : fitted ensemble
        Of scikit-learn, LightGBM or XGBoost; a committee; a pipeline or a search
        around one of these; or a list of fitted estimators of one task.

    Returns
    -------
    roster : Roster

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.ensembles import roster_of
    >>> X, y = load_iris(return_X_y=True)
    >>> roster = roster_of(RandomForestClassifier(10, random_state=0).fit(X, y))
    >>> len(roster), roster.votes
    (10, 'soft')
    """
    if isinstance(ensemble, (list, tuple)):
        return _from_list(list(ensemble))
    if hasattr(ensemble, "_as_roster"):
        roster: Roster = ensemble._as_roster()
        return roster
    if hasattr(ensemble, "best_estimator_"):
        return roster_of(ensemble.best_estimator_)
    for kinds, dissect in _DISSECTORS.items():
        if isinstance(ensemble, kinds):
            check_is_fitted(ensemble)
            _refuse_many_outputs(ensemble)
            return dissect(ensemble)
    boosted = booster_roster(ensemble)
    if boosted is not None:
        return boosted
    if hasattr(ensemble, "refit"):
        check_is_fitted(ensemble)
        raise ValueError(
            f"The {type(ensemble).__name__} has no best_estimator_: it was run with "
            "refit=False, or did not finish."
        )
    raise TypeError(
        f"The ensemble must be one of {KNOWN}. Got {type(ensemble).__name__} instead."
    )


def _from_pipeline(pipeline: Pipeline) -> Roster:
    """Return the roster of the last step; the steps before it transform X."""
    roster = roster_of(pipeline.steps[-1][1])
    before = pipeline[:-1]
    if roster.transformer is not None:
        before = Pipeline([("outer", before), ("inner", roster.transformer)])
    return replace(roster, transformer=before if len(before) else None)


def _from_forest(forest: Any) -> Roster:
    """Trees speak codes and were trained on arrays, whatever the labels and X."""
    return Roster(
        list(forest.estimators_),
        _equal(len(forest.estimators_)),
        **_coded(forest),
        arrays=True,
        held_out=_by_samples(forest) if forest.bootstrap else None,
        oob_prediction=_oob_prediction(forest),
        no_oob_reason=(
            "Its trees have seen all rows (bootstrap=False). Give rows that it was "
            "not trained on, without oob, or train with bootstrap=True."
        ),
    )


def _from_bagging(bagging: Any) -> Roster:
    """Members speak codes, each from its own columns."""
    everything = np.arange(bagging.n_features_in_)
    members = [
        member if np.array_equal(columns, everything) else OnColumns(member, columns)
        for member, columns in zip(
            bagging.estimators_, bagging.estimators_features_, strict=True
        )
    ]
    return Roster(
        members,
        _equal(len(members)),
        **_coded(bagging),
        arrays=True,
        held_out=_by_samples(bagging) if _leaves_rows_out(bagging) else None,
        no_oob_reason=(
            "Its members have seen all rows (bootstrap=False, max_samples=1.0). Give "
            "rows that it was not trained on, without oob, or train with "
            "bootstrap=True."
        ),
        oob_prediction=_oob_prediction(bagging),
    )


def _from_adaboost(boosted: Any) -> Roster:
    """Members speak labels; classifiers vote by weight, regressors by a median."""
    members, classes = list(boosted.estimators_), getattr(boosted, "classes_", None)
    own = np.asarray(boosted.estimator_weights_[: len(members)], dtype=np.float64)
    return Roster(
        members,
        own / own.sum() if classes is not None and own.sum() > 0 else None,
        classes,
        classes,
        votes="hard",
        arrays=True,
        no_oob_reason=(
            "Boosted members learn from all rows. Give rows that it was not trained "
            "on, without oob."
        ),
    )


def _from_voting(voting: Any) -> Roster:
    """Members speak codes, by probabilities or by votes."""
    members = list(voting.estimators_)
    weights = _equal(len(members))
    if voting.weights is not None:
        kept = [
            weight
            for (_, estimator), weight in zip(
                voting.estimators, voting.weights, strict=True
            )
            if not isinstance(estimator, str)
        ]
        weights = np.asarray(kept, dtype=np.float64) / np.sum(kept)
    return Roster(
        members,
        weights,
        **_coded(voting),
        votes="soft" if getattr(voting, "voting", "soft") == "soft" else "hard",
        no_oob_reason=_ALL_ROWS,
    )


def _from_stacking(stacking: Any) -> Roster:
    """Return the first layer; estimators that came fitted may speak labels."""
    members = list(stacking.estimators_)
    how = _coded(stacking)
    if stacking.cv == "prefit" and how:
        how["member_classes"] = np.unique(np.concatenate([m.classes_ for m in members]))
    return Roster(members, None, **how, no_oob_reason=_ALL_ROWS)


def _from_list(members: list[Any]) -> Roster:
    """Return fitted estimators of one task as equals that speak labels."""
    if not members:
        raise TypeError(f"The ensemble must be one of {KNOWN}. Got an empty list.")
    for member in members:
        if not hasattr(member, "__sklearn_tags__"):
            raise TypeError(
                "A list must hold fitted scikit-learn estimators. Got "
                f"{type(member).__module__}.{type(member).__name__}."
            )
    kinds = {bool(is_classifier(member)) for member in members}
    if len(kinds) != 1:
        raise ValueError(
            "An ensemble is made of classifiers or of regressors. Got both kinds."
        )
    classes = None
    for member in members:
        check_is_fitted(member, "classes_" if kinds == {True} else None)
    if kinds == {True}:
        classes = np.unique(np.concatenate([member.classes_ for member in members]))
    return Roster(
        members,
        _equal(len(members)),
        classes,
        classes,
        no_oob_reason=(
            "A list does not tell which rows each member was trained on. Give rows "
            "that none of them has seen, without oob."
        ),
    )


_ALL_ROWS = (
    "Its members were trained on all rows. Give rows that it was not trained on, "
    "without oob, or make a committee with Pool, which is weighed on cross-fitted "
    "predictions."
)

_DISSECTORS: dict[Any, Callable[[Any], Roster]] = {
    Pipeline: _from_pipeline,
    (
        RandomForestClassifier,
        RandomForestRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
    ): _from_forest,
    (BaggingClassifier, BaggingRegressor): _from_bagging,
    (AdaBoostClassifier, AdaBoostRegressor): _from_adaboost,
    (VotingClassifier, VotingRegressor): _from_voting,
    (StackingClassifier, StackingRegressor): _from_stacking,
}


def _by_samples(ensemble: Any) -> Callable[[int], Any]:
    """Return a function of N that gives the mask from the drawn rows."""

    def held_out(n_rows: int) -> Any:
        trained_on = getattr(ensemble, "_n_samples", None)
        if trained_on not in (None, n_rows):
            raise ValueError(
                f"oob=True needs the {trained_on} rows that the ensemble was trained "
                f"on, in their order. Got {n_rows} rows."
            )
        return unseen_rows(ensemble.estimators_samples_, n_rows)

    return held_out


def _leaves_rows_out(bagging: Any) -> bool:
    """Whether a member can have missed a row."""
    return bool(bagging.bootstrap) or len(
        set(bagging.estimators_samples_[0])
    ) < getattr(bagging, "_n_samples", np.inf)


def _oob_prediction(ensemble: Any) -> Any:
    """Return the out-of-bag output of an ensemble that was asked for its score."""
    name = "oob_prediction_" if is_regressor(ensemble) else "oob_decision_function_"
    return getattr(ensemble, name, None)


def _coded(ensemble: Any) -> dict[str, Any]:
    """Return the classes of an ensemble whose members speak codes."""
    if is_regressor(ensemble):
        return {}
    classes = ensemble.classes_
    return {"classes": classes, "member_classes": np.arange(len(classes))}


def _refuse_many_outputs(ensemble: Any) -> None:
    """Refuse targets of several columns."""
    if getattr(ensemble, "n_outputs_", 1) != 1 or isinstance(
        getattr(ensemble, "classes_", None), list
    ):
        raise ValueError(
            f"The {type(ensemble).__name__} predicts several targets at once; prune "
            "one that was trained on one of them."
        )


def _equal(n: int) -> FloatArray:
    return np.full(n, 1.0 / n)
