"""Several boosters or forests of one kind as one native model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from committee._typing import FloatArray
from committee._validation import as_floats, histogram_parts
from committee.ensembles import Roster, Round, known_columns, roster_of, trees_of
from committee.ensembles.adapters import adapter_of
from committee.ensembles.forests import (
    classification_forest,
    forest_roster,
    regression_forest,
)
from committee.ensembles.gradient_boosting import GradientRound, HistGradientRound
from committee.ensembles.tree_sum import Link
from committee.export.native import averaging, link_of
from committee.export.tree_sums import check_on_columns

#: Bound of log-odds that counts as none.
_NO_GAP = 1e-9

_WAY_OUT = (
    "Boosters of different libraries or links cannot be one model of theirs: make a "
    "committee of them, such as prune(models, X, y), and write it by to_onnx."
)

#: XGBoost holds leaf values in single precision.
_LARGEST = 1e30


def merge(models: Sequence[Any], weights: Any = None) -> Any:
    """Return one native model with the weighted sum of the models' raw scores.

        raw(x) = sum_b w_b raw_b(x)

    Use it, for example, on the fold models of a cross-validation. The result contains
    all trees and is an ordinary model of its library.

    Parameters
    ----------
    models : list of fitted models
        Boosters of one library with the same link, columns and classes
        (`GradientBoosting*`, `HistGradientBoosting*`, LightGBM, XGBoost, CatBoost), or
        `RandomForest*` or `ExtraTrees*`, whose scores are numbers or probabilities. If
        a model stopped early, only the rounds up to the best one are used.
    weights : array of shape (n_models,), default=None
        None means the mean. For classification forests they must not be negative.

    Returns
    -------
    model : fitted model
        A model of the same class as the first one.

    Raises
    ------
    ValueError
        If the models are of different kinds, or their library cannot represent the sum.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee import merge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = [GradientBoostingRegressor().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> one = merge(folds)
    >>> mean = sum(fold.predict(X) for fold in folds) / 3
    >>> bool(abs(one.predict(X) - mean).max() < 1e-9), one.n_estimators_
    (True, 300)
    """
    if not isinstance(models, (list, tuple)) or not models:
        raise ValueError(
            f"merge takes a non-empty list of fitted models. Got {type(models).__name__}."
        )
    models = list(models)
    w = np.full(len(models), 1 / len(models)) if weights is None else weights
    return _merged(models, _checked_weights(w, len(models)), 0.0)


def to_native(committee: Any) -> Any:
    """Return a committee of boosters or forests as one model of their library.

        numbers:  raw(x) = b + sum_m w_m raw_m(x)
        classes:  raw(x) = sum_m c w_m raw_m(x) + c b + a,   of p = softmax_k( c s_k + a_k )

    For classes, s are the weighted log-probabilities of a log pool, and c and a its
    scale and calibration. A log pool clips probabilities at its floor, which a booster
    cannot do. If the leaf values of a member allow a probability below the floor, a
    warning states by how much log-odds may differ. Rows on which all members stay above
    the floor have the probabilities of the committee.

    Parameters
    ----------
    committee : CommitteeRegressor or CommitteeClassifier
        Its members must be models that `merge` accepts, or rounds of one booster. A
        classifier must weigh log-probabilities, as `LogPool` does, and its calibration
        must have a single slope. Members of a `Pool` were trained on class codes, which
        the model predicts.

    Returns
    -------
    model : fitted model

    Raises
    ------
    ValueError
        If members are of different kinds, or if their weights do not apply to raw
        scores.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from committee import prune, to_native
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = [GradientBoostingRegressor().fit(X[i:300:3], y[i:300:3]) for i in (0, 1)]
    >>> committee = prune(folds, X[300:], y[300:])
    >>> type(to_native(committee)).__name__
    'GradientBoostingRegressor'
    """
    if not hasattr(committee, "roster_"):
        raise TypeError(
            "to_native takes a fitted committee; merge takes a list of models. Got "
            f"{type(committee).__name__}."
        )
    if isinstance(committee.members_[0], Round):
        return averaging(committee)
    check_on_columns(committee)
    if not is_classifier(committee):
        return _merged(committee.members_, committee.weights_, committee.intercept_)
    if committee.roster_.floor is None:
        raise ValueError(
            "A booster adds up raw scores, which are logarithms, and this committee "
            "averages probabilities: prune with combiner=LogPool(), use merge on its "
            "members, or to_onnx."
        )
    return _merged_pool(committee)


def _merged_pool(committee: Any) -> Any:
    """Return the booster of a log pool, whose raw scores are its weighted logarithms.

    log p_mk is slope raw_mk, up to a number that is the same for all classes.
    """
    K, link = len(committee.classes_), link_of(committee)
    c, a, found = link.scale, np.zeros(K), link.calibration
    if found is not None:
        if np.ptp(found.slope) > 0:
            raise ValueError(
                "A booster has one slope for all classes, but this calibration has "
                'one for each class: prune with calibration="slope", or use to_onnx.'
            )
        t = float(np.mean(found.slope))
        c = t if found.floor is None else t * c
        a = a if found.offset is None else found.offset
    members, w = committee.members_, committee.weights_
    for member in members:
        if not np.array_equal(getattr(member, "classes_", ()), members[0].classes_):
            raise ValueError("Boosters of one model must have the same classes.")
    model = _merged(members, c * w, (c * committee.roster_.offset + a) / K)
    gap = _largest_gap(committee, c, link)
    if gap > _NO_GAP:
        bound = f"{gap:.2g}" if np.isfinite(gap) else "an unknown amount"
        warnings.warn(
            f"The committee clips probabilities at {committee.roster_.floor:.2g}, "
            "which a booster cannot do: on rows where a member falls below it, "
            f"log-odds may differ by {bound}. A LogPool with a smaller floor= avoids "
            "this.",
            stacklevel=3,
        )
    return model


def _largest_gap(committee: Any, c: float, link: Link) -> float:
    """Return a bound on the change of log-odds by the floors of a log pool.

        sum_m c w_m (log eps - log p_m)+  +  t (log eps_0 - log p)+

    p_m and p are lower bounds of the members' probabilities and of the pooled ones.
    """
    roster, w = committee.roster_, np.abs(committee.weights_)
    floor = np.log(roster.floor)
    least = np.array([_least_log(member) for member in committee.members_])
    gap = c * float(w @ np.maximum(floor - least, 0.0))
    found = link.calibration
    if found is not None and found.floor is not None:
        own = link.scale * (w @ np.maximum(least, floor) - np.ptp(roster.offset))
        own -= np.log(len(committee.classes_))
        gap += float(np.mean(found.slope)) * max(np.log(found.floor) - own, 0.0)
    return gap


def _least_log(model: Any) -> float:
    """Return a lower bound of the log-probabilities of a booster, by its least leaves.

    It is minus infinity for splits on categories, which have no table.
    """
    try:
        found = trees_of(model)
    except ValueError:
        found = None
    if found is None:
        return -np.inf
    table, (low, high) = found.trees, np.tile(found.base, (2, 1))
    first = table.leaf_number[table.start[1:] - 1][:-1] + 1  # leaf of each tree but one
    for end, reach in ((low, np.minimum), (high, np.maximum)):
        of_trees = reach.reduceat(table.value[:, 0], np.append(0, first))
        np.add.at(end, table.target, found.unit * of_trees)
    low, high = found.link.scale * low, found.link.scale * high
    if len(low) == 1:
        return -float(np.logaddexp(0.0, max(-low[0], high[0])))
    gaps = high - low[:, None]  # z_j - z_k at most
    np.fill_diagonal(gaps, 0.0)
    return -float(np.logaddexp.reduce(gaps, axis=1).max())


def _merged(models: list[Any], w: FloatArray, offset: Any) -> Any:
    """Return the weighted sum of models, and an offset."""
    try:
        rosters = [roster_of(model) for model in models]
    except TypeError as error:
        raise ValueError(f"{_WAY_OUT} {error}") from error
    _check_columns(models)
    first = rosters[0].members[0]
    if all(isinstance(roster.members[0], Round) for roster in rosters):
        return _merged_rounds(rosters, w, offset)
    if len({type(model) for model in models}) > 1 or any(map(_is_no_forest, models)):
        kinds = ", ".join(sorted({type(model).__name__ for model in models}))
        raise ValueError(f"{_WAY_OUT} Got {kinds}.")
    trees = [tree for roster in rosters for tree in roster.members]
    shares = np.repeat(w / [len(r) for r in rosters], [len(r) for r in rosters])
    if np.ndim(offset) or offset:
        raise ValueError(
            "A forest averages its trees; it cannot represent an intercept or a "
            "logarithmic pool: use to_onnx."
        )
    if rosters[0].classes is None:
        forest = regression_forest(trees, shares, first.n_features_in_)
    else:
        if np.any(w < 0):
            raise ValueError("Weights of probabilities must not be negative.")
        same = {"classes": rosters[0].classes, "output": "soft"}
        codes = rosters[0].member_classes
        forest = classification_forest(
            trees, shares, first.n_features_in_, member_classes=codes, **same
        )
    if hasattr(models[0], "feature_names_in_"):
        forest.feature_names_in_ = models[0].feature_names_in_
    return forest


def _is_no_forest(model: Any) -> bool:
    adapter = adapter_of(model)
    return adapter is None or adapter.roster is not forest_roster


def _merged_rounds(rosters: list[Roster], w: FloatArray, offset: Any) -> Any:
    """Return the booster of the rounds of all; each has the weight of its booster.

    A rebuilt round is M w_m h_m, with the M of the first booster.
    """
    firsts = [roster.members[0] for roster in rosters]
    first = firsts[0]
    if len({type(one) for one in firsts}) > 1:
        raise ValueError(f"{_WAY_OUT} Got rounds of several libraries.")
    kinds = [_kind(one) for one in firsts]
    other = next((b for b, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise ValueError(
            "merge takes boosters with the same columns, categories, classes and link. "
            f"Model {other} differs from model 0. {_WAY_OUT}"
        )
    if any(one.shared.start is None for one in firsts):
        raise ValueError(
            "Boosters on top of an `init` estimator have no common start: train them "
            "without `init`."
        )
    start = sum(
        (
            w_b * np.asarray(one.shared.start)
            for w_b, one in zip(w, firsts, strict=True)
        ),
        start=first.shared.raw_offset(offset),
    )
    rounds, shares = [], []
    for roster, w_b in zip(rosters, w, strict=True):
        scale = _rate(roster.members[0]) / _rate(first)
        rounds += roster.members
        shares += [w_b * scale / first.shared.n_rounds] * len(roster)
    return first.rebuild(rounds, np.array(shares), start)


def _rate(one: Round) -> float:
    """Return what a model multiplies its trees by."""
    return float(one.model.learning_rate) if isinstance(one, GradientRound) else 1.0


def _kind(one: Round) -> tuple[Any, ...]:
    """Return what must be equal: columns, categories, classes, and slope of the link."""
    shared, model = one.shared, one.model
    categories: Any = getattr(model, "pandas_categorical", None)  # LightGBM
    if hasattr(model, "save_raw"):  # XGBoost
        document = json.loads(model.save_raw("json"))
        categories = document["learner"]["gradient_booster"]["model"].get("cats")
    if isinstance(one, HistGradientRound):
        encoder, _, _ = histogram_parts(model)
        categories = None if encoder is None else repr(_encoded(encoder))
    classes = None if shared.classes is None else np.asarray(shared.classes).tolist()
    wrapper = type(shared.wrapper)
    return one.layout(model), classes, shared.slope, categories, wrapper


def _encoded(encoder: Any) -> list[Any]:
    """Return the known categories of each encoded column."""
    parts = encoder.named_transformers_.values()
    return [
        np.asarray(c).tolist() for p in parts for c in getattr(p, "categories_", [])
    ]


def _check_columns(models: list[Any]) -> None:
    """Raise ValueError for models of different columns."""
    known = [known_columns(model) for model in models]
    names = [np.asarray(one.get("feature_names_in_", [])).tolist() for one in known]
    if any(one != names[0] for one in names):
        raise ValueError(
            "merge takes models of the same columns, in the same order. Got "
            f"{names[0][:5]} and others."
        )


def _checked_weights(weights: Any, n: int) -> FloatArray:
    """Return n weights that are not all zero, and leave leaves in single precision."""
    w = as_floats(weights)
    if w is None or w.shape != (n,) or not np.all(abs(w) <= _LARGEST) or not np.any(w):
        raise ValueError(
            f"weights must be {n} numbers between -{_LARGEST:g} and {_LARGEST:g}, one for each "
            f"model, not all zero. Got {weights!r}."
        )
    return w
