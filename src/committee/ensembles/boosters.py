"""From a fitted booster to a roster of its rounds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray
from committee._validation import histogram_rounds, with_histogram_rounds
from committee.ensembles.libraries import lightgbm_rounds, xgboost_rounds
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import (
    GradientRound,
    HistGradientRound,
    Round,
    Shared,
    Stages,
    checked_classes,
    raw_predictions,
)


def booster_roster(ensemble: Any) -> Roster | None:
    """Return the rounds of a fitted booster as members, None for anything else.

    A booster is raw(x) = start(x) + sum_m h_m(x). Member m is its round m, raised to
    speak for the whole, f_m = start + M h_m, so that equal weights give back the
    booster.

    Parameters
    ----------
    ensemble : fitted booster
        GradientBoosting*, HistGradientBoosting*, LGBM*, XGB*, lightgbm.Booster or
        xgboost.Booster; LightGBM and XGBoost are not imported to find out.

    Returns
    -------
    roster : Roster or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from committee.ensembles.boosters import booster_roster
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> roster = booster_roster(model)
    >>> len(roster), roster.votes
    (20, 'scores')
    """
    dissect = _dissector(ensemble)
    if dissect is None:
        return None
    if hasattr(ensemble, "fit"):
        check_is_fitted(ensemble)
    members, stages = dissect(ensemble)
    shared = members[0].shared
    return Roster(
        members,
        np.full(len(members), 1.0 / len(members)),
        shared.classes,
        shared.classes,
        votes="soft" if shared.classes is None else "scores",
        no_oob_reason=(
            "Boosted rounds learn from all rows. Give rows that the booster was not "
            "trained on, without oob."
        ),
        staged_predictions=partial(_spoken, shared, stages),
    )


def _dissector(
    ensemble: Any,
) -> Callable[[Any], tuple[list[Round], Stages]] | None:
    """Return who takes this booster apart."""
    if isinstance(ensemble, (GradientBoostingClassifier, GradientBoostingRegressor)):
        return _gradient
    if isinstance(
        ensemble, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    ):
        return _histogram
    for kind in type(ensemble).__mro__:
        library = kind.__module__.partition(".")[0]
        if library == "lightgbm" and kind.__name__ in ("LGBMModel", "Booster"):
            return lightgbm_rounds
        if library == "xgboost" and kind.__name__ in ("XGBModel", "Booster"):
            return xgboost_rounds
    return None


def _gradient(model: Any) -> tuple[list[Round], Stages]:
    """GradientBoosting*: copies that keep `init_` and one row of trees."""
    classes = checked_classes(model, "loss", model.loss)
    constant = isinstance(model.init_, (str, DummyClassifier, DummyRegressor))
    first = _cut_gradient(model, 0)
    shared = Shared(
        len(model.estimators_),
        _constant_start(first) if constant else None,
        classes,
        # The exponential loss has p = 1 / (1 + exp(-2 raw)).
        slope=2.0 if model.loss == "exponential" else 1.0,
    )
    members: list[Round] = [
        GradientRound(_cut_gradient(model, m), shared) for m in range(shared.n_rounds)
    ]
    start = partial(_gradient_start, first)
    return members, partial(_staged, model, shared.n_rounds, start)


def _cut_gradient(model: Any, m: int) -> Any:
    """Return a copy that has round m only; a view would keep all rounds alive."""
    one = copy.copy(model)
    one.estimators_ = model.estimators_[m : m + 1].copy()
    one.n_estimators_ = 1
    return one


def _gradient_start(first: Any, X: Any) -> FloatArray:
    """Return start(x), of shape (N, T): a model that learned nothing from its trees."""
    unlearned = copy.copy(first)
    unlearned.learning_rate = 0.0
    return raw_predictions(unlearned, X)


def _constant_start(first: Any) -> FloatArray:
    """Return the start that is the same for all x, of shape (T,)."""
    nameless = copy.copy(first)
    vars(nameless).pop("feature_names_in_", None)
    start: FloatArray = _gradient_start(nameless, np.zeros((1, first.n_features_in_)))[
        0
    ]
    return start


def _histogram(model: Any) -> tuple[list[Round], Stages]:
    """HistGradientBoosting*: copies with the predictors of one round."""
    classes = checked_classes(model, "loss", model.loss)
    rounds, start = histogram_rounds(model)
    shared = Shared(len(rounds), start, classes)
    zero = np.zeros_like(start)
    members: list[Round] = [
        HistGradientRound(with_histogram_rounds(model, [one], zero), shared)
        for one in rounds
    ]
    return members, partial(_staged, model, len(rounds), lambda X: start)


def _staged(
    model: Any, M: int, start: Callable[[Any], FloatArray], X: Any
) -> Iterator[FloatArray]:
    """Turn the sums of scikit-learn's stages back into rounds."""
    speak = getattr(model, "staged_decision_function", None) or model.staged_predict
    first = before = start(X)
    for raw in speak(X):
        after = raw.reshape(len(raw), -1)
        yield first + M * (after - before)
        before = after


def _spoken(shared: Shared, stages: Stages, X: Any) -> Iterator[FloatArray]:
    """Yield each member's predictions, as `predict` or `scores` gives them."""
    return map(shared.spoken, stages(X))
